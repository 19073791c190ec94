// The end of one call: its own time limit and the signals of those who may end it.

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export type Deadline = {
  readonly signal: AbortSignal;
  /** Why the call has to end; undefined while it may go on. */
  ending(): "timeout" | "aborted" | undefined;
  leftMs(): number;
  /** The time that was given, unless the caller's own signal ended it. */
  ownMs(): number | undefined;
  stop(): void;
};

/** One for a call. The listeners are removed at its end, because `closing` lives as long as the provider. */
export function startDeadline(timeoutMs: number, others: readonly (AbortSignal | undefined)[]): Deadline {
  const controller = new AbortController();
  const startedAt = performance.now();
  let reason: "timeout" | "aborted" | undefined;
  let isOwn = false;
  const sources = others.filter((signal) => signal !== undefined);
  const end = (why: "timeout" | "aborted"): void => {
    reason ??= why;
    controller.abort();
  };
  const onTimer = (): void => {
    isOwn = reason === undefined;
    end("timeout");
  };
  const onAbort = (): void => {
    const cause: unknown = sources.find(({ aborted }) => aborted)?.reason;
    end(cause instanceof Error && cause.name === "TimeoutError" ? "timeout" : "aborted");
  };
  const timer = setTimeout(onTimer, Math.min(Math.max(0, timeoutMs), LONGEST_TIMER_MS));
  for (const signal of sources) {
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  }
  return {
    signal: controller.signal,
    ending: () => reason,
    leftMs: () => timeoutMs - (performance.now() - startedAt),
    ownMs: () => (isOwn ? timeoutMs : undefined),
    stop() {
      clearTimeout(timer);
      for (const signal of sources) signal.removeEventListener("abort", onAbort);
    },
  };
}

/** Ends early when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish, { once: true });
    function finish(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    }
  });
}
