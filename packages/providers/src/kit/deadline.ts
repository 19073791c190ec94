// The end of one call: its own time limit and the signals of those who may end it.
import { setTimeout as sleep } from "node:timers/promises";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export type Deadline = {
  readonly signal: AbortSignal;
  /** Why the call has to end; undefined while it may go on. */
  ending(): "timeout" | "aborted" | undefined;
  leftMs(): number;
  /** The time that was given, if it has passed. */
  passedMs(): number | undefined;
  stop(): void;
};

/** One for a call. The listeners are removed at its end, because `closing` lives as long as the provider. */
export function startDeadline(timeoutMs: number, others: readonly (AbortSignal | undefined)[]): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const startedAt = performance.now();
  const sources = others.filter((source) => source !== undefined);
  const onAbort = (): void => controller.abort(sources.find(({ aborted }) => aborted)?.reason);
  const timer = setTimeout(
    () => controller.abort(new DOMException("The time of this call is over.", "TimeoutError")),
    Math.min(Math.max(0, timeoutMs), LONGEST_TIMER_MS),
  );
  for (const source of sources) source.addEventListener("abort", onAbort, { once: true });
  if (sources.some(({ aborted }) => aborted)) onAbort();
  return {
    signal,
    ending: () => {
      if (!signal.aborted) return undefined;
      return signal.reason instanceof Error && signal.reason.name === "TimeoutError" ? "timeout" : "aborted";
    },
    leftMs: () => timeoutMs - (performance.now() - startedAt),
    passedMs: () => (performance.now() - startedAt < timeoutMs - 1 ? undefined : timeoutMs),
    stop() {
      clearTimeout(timer);
      for (const source of sources) source.removeEventListener("abort", onAbort);
    },
  };
}

/** Ends early when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}
