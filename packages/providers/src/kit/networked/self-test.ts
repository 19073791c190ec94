// `hermes memory test` for a networked memory: one request with the key, then a memory is stored, found and removed again.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describeCause, err, HermesError, ok, type Result } from "@hermes-memory/core/internal/lib";
import type { SelfTestReport } from "@hermes-memory/core/internal/providers";
import { describeForeign } from "@hermes-memory/core/internal/providers";
import type { Connection, Probe } from "./service.ts";

/** Servers index in the background; the test asks again until then. */
const FIND_MS = 15_000;
const PAUSE_MS = 250;
/** Removing must also work after the user stopped the test. */
const REMOVE_MS = 10_000;

/** The check of a connection, which ends within `ms` whatever the server does. */
export async function checkWithin(
  connection: Pick<Connection, "check">,
  label: string,
  signal: AbortSignal,
  ms: number,
): Promise<string> {
  const limit = AbortSignal.timeout(ms);
  const late = Promise.withResolvers<never>();
  const end = () =>
    late.reject(
      new HermesError("check-timeout", `${label} did not answer within ${ms / 1000} s.`, {
        hint: "Check its address, the server and the network.",
      }),
    );
  limit.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([connection.check(AbortSignal.any([signal, limit])), late.promise]);
  } catch (cause) {
    if (limit.aborted && !signal.aborted) return await late.promise;
    throw cause;
  } finally {
    limit.removeEventListener("abort", end);
  }
}

type Step = SelfTestReport["steps"][number];

export async function testConnection(
  connection: Pick<Connection, "check" | "probe">,
  label: string,
  signal: AbortSignal,
  checkMs: number,
): Promise<SelfTestReport> {
  const { probe } = connection;
  const steps: Step[] = [];
  const step = async <T>(
    name: string,
    work: () => Promise<T>,
    detailOf?: (value: T) => string | undefined,
  ) => {
    const startedAt = performance.now();
    const value = await work().catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new HermesError("self-test-failed", `The step '${name}' failed: ${describeForeign(cause)}.`);
    });
    const ms = performance.now() - startedAt;
    const detail = detailOf?.(value);
    steps.push(detail === undefined ? { name, ms } : { name, ms, detail });
    return value;
  };
  signal.throwIfAborted();
  await step("connect", () => checkWithin(connection, label, signal, checkMs), String);
  const mark = `Self-test of hermes-memory ${randomUUID()}`;
  const text = `${mark}: the lighthouse keeper paints the railing green.`;
  const id = await step("write", () => probe.write(text, signal));
  const found = await attempt(() =>
    step(
      "recall",
      () => find(probe, text, signal),
      (detail) => detail,
    ),
  );
  const removed = await attempt(() =>
    step("clean up", () => probe.remove(id, AbortSignal.timeout(REMOVE_MS))),
  );
  if (!found.ok) throw found.error;
  if (!removed.ok)
    throw new HermesError(
      "self-test-failed",
      `The memory of the test could not be removed and stays at the server (${describeCause(removed.error).replace(/\.$/, "")}). It begins with '${mark}'.`,
    );
  return { steps };
}

async function attempt<T>(work: () => Promise<T>): Promise<Result<T, unknown>> {
  try {
    return ok(await work());
  } catch (cause) {
    return err(cause);
  }
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
