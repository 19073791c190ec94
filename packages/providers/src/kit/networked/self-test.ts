// `hermes memory test` for a networked memory: one request with the key, then an entry is stored, found and removed again.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describeCause, HermesError } from "@hermes-memory/core/internal/lib";
import { describeForeign, type SelfTestReport } from "@hermes-memory/core/internal/providers";
import { ServiceError } from "../http.ts";
import { removeById, testEntry } from "./entries.ts";
import type { Connection, Entries } from "./service.ts";

/** Servers index in the background; the test asks again until then. */
const FIND_MS = 15_000;
const PAUSE_MS = 250;
/** Removing must also work after the user stopped the test. */
const REMOVE_MS = 10_000;

export type Tested = {
  readonly connection: Pick<Connection, "check" | "entries">;
  readonly label: string;
  readonly signal: AbortSignal;
  readonly checkMs: number;
};

/** The check of a connection, which ends within `checkMs` whatever the server does. */
export async function checkWithin({ connection, label, signal, checkMs }: Tested): Promise<string> {
  const limit = AbortSignal.timeout(checkMs);
  const message = `${label} did not answer within ${checkMs / 1000} s.`;
  const late = new HermesError("check-timeout", message, {
    hint: "Check its address, the server and the network.",
  });
  const timer = Promise.withResolvers<never>();
  limit.addEventListener("abort", () => timer.reject(late), { once: true });
  try {
    return await Promise.race([connection.check(AbortSignal.any([signal, limit])), timer.promise]);
  } catch (cause) {
    throw limit.aborted && !signal.aborted ? late : cause;
  }
}

export async function testConnection(tested: Tested): Promise<SelfTestReport> {
  const { connection, signal } = tested;
  const { entries } = connection;
  const steps: SelfTestReport["steps"][number][] = [];
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now();
    const value = await work().catch((cause: unknown) => {
      if (signal.aborted) throw cause;
      throw new HermesError("self-test-failed", `The step '${name}' failed: ${describeForeign(cause)}.`);
    });
    const ms = performance.now() - startedAt;
    steps.push(typeof value === "string" && value !== "" ? { name, ms, detail: value } : { name, ms });
    return value;
  };
  signal.throwIfAborted();
  await step("connect", () => checkWithin(tested));
  const mark = `Self-test of hermes-memory ${randomUUID()}`;
  const text = `${mark}: the lighthouse keeper paints the railing green.`;
  const entry = testEntry(entries, randomUUID(), { target: "memory", text });
  let id = "";
  await step("write", async () => {
    id = await entries.add(entry, signal);
  });
  const remove = () => step("clean up", () => whenFree((limit) => removeById(entries, id, entry, limit)));
  try {
    await step("recall", () => find(entries, text, signal));
  } catch (cause) {
    await remove().catch(() => {}); // what failed first is reported
    throw cause;
  }
  await remove().catch((cause: unknown) => {
    throw new HermesError(
      "self-test-failed",
      `The memory of the test could not be removed and stays at the server (${describeCause(cause).replace(/\.$/, "")}). It begins with '${mark}'.`,
    );
  });
  return { steps };
}

/** Again while the server still works on it. */
async function whenFree(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const signal = AbortSignal.timeout(REMOVE_MS);
  for (;;) {
    try {
      return await work(signal);
    } catch (cause) {
      if (!(cause instanceof ServiceError) || cause.failure.kind !== "conflict") throw cause;
    }
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

/** "" when it was found. */
async function find({ recalls, appearsLater }: Entries, text: string, signal: AbortSignal): Promise<string> {
  const until = performance.now() + FIND_MS;
  while (performance.now() <= until) {
    if (await recalls(text, signal)) return "";
    await sleep(PAUSE_MS, undefined, { signal });
  }
  if (appearsLater !== undefined) return `not found yet: ${appearsLater}`;
  throw new HermesError(
    "self-test-failed",
    `The memory was stored and not found again within ${FIND_MS / 1000} s.`,
  );
}
