// `hermes memory test` for a networked memory: one request with the key, then a memory is stored, found and removed again.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { HermesError } from "../../../lib/index.ts";
import type { SelfTestReport } from "../../contract.ts";
import { describeForeign } from "../foreign-code.ts";
import type { Connection, Probe } from "./service.ts";

/** Servers index in the background; the test asks again until then. */
const FIND_MS = 15_000;
const PAUSE_MS = 250;
/** Removing must also work after the user stopped the test. */
const REMOVE_MS = 10_000;

type Step = SelfTestReport["steps"][number];

export async function testConnection(
  connection: Pick<Connection, "check" | "probe">,
  signal: AbortSignal,
): Promise<SelfTestReport> {
  const { probe } = connection;
  const steps: Step[] = [];
  const step = async (name: string, work: () => Promise<string | undefined>): Promise<void> => {
    const startedAt = performance.now();
    const detail = await work().catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new HermesError("self-test-failed", `The step '${name}' failed: ${describeForeign(cause)}.`);
    });
    const ms = performance.now() - startedAt;
    steps.push(detail === undefined ? { name, ms } : { name, ms, detail });
  };
  signal.throwIfAborted();
  await step("connect", () => connection.check(signal));
  const text = `Self-test of hermes-memory ${randomUUID()}: the lighthouse keeper paints the railing green.`;
  let id: string | undefined;
  try {
    await step("write", async () => {
      id = await probe.write(text, signal);
      return undefined;
    });
    await step("recall", () => find(probe, text, signal));
  } finally {
    if (id !== undefined) {
      const written = id;
      await step("clean up", async () => {
        await probe.remove(written, AbortSignal.timeout(REMOVE_MS));
        return undefined;
      });
    }
  }
  return { steps };
}

async function find(probe: Probe, text: string, signal: AbortSignal): Promise<string | undefined> {
  const until = performance.now() + FIND_MS;
  for (;;) {
    if (await probe.finds(text, signal)) return undefined;
    if (performance.now() > until) break;
    await sleep(PAUSE_MS, undefined, { signal });
  }
  if (probe.indexesLater !== undefined) return `not found yet: ${probe.indexesLater}`;
  throw new HermesError(
    "self-test-failed",
    `The memory was stored and not found again within ${FIND_MS / 1000} s.`,
  );
}
