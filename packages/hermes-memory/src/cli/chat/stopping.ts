// Work that Ctrl-C, a hang-up and a plain `kill` stop in good order. Whoever asks twice gets the end at once.
import type { Terminal } from "../command.ts";

const EXIT_TERMINATED = 143;

export async function untilStopped<T>(
  io: Pick<Terminal, "untilInterrupted">,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const end = (): void => {
    if (ended.signal.aborted) process.exit(EXIT_TERMINATED);
    ended.abort();
  };
  process.on("SIGTERM", end).on("SIGHUP", end);
  try {
    return await io.untilInterrupted((interrupted) => work(AbortSignal.any([interrupted, ended.signal])));
  } finally {
    process.off("SIGTERM", end).off("SIGHUP", end);
  }
}
