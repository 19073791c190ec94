// Stops work in good order on Ctrl-C, SIGTERM and SIGHUP. A second signal ends the process at once.
import type { Terminal } from "./command.ts";

const EXIT_TERMINATED = 143;

export async function untilStopped<T>(
  io: Pick<Terminal, "untilInterrupted">,
  /** `interrupted` is aborted only by Ctrl-C, `signal` by all three. */
  work: (signal: AbortSignal, interrupted: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const end = (): void => {
    if (ended.signal.aborted) process.exit(EXIT_TERMINATED);
    ended.abort();
  };
  process.on("SIGTERM", end).on("SIGHUP", end);
  try {
    return await io.untilInterrupted((interrupted) =>
      work(AbortSignal.any([interrupted, ended.signal]), interrupted),
    );
  } finally {
    process.off("SIGTERM", end).off("SIGHUP", end);
  }
}
