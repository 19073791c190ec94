// The locks of one target: the one beside its file and, where the file is a link, the one beside what it leads to.
import {
  err,
  type LockBusy,
  type LockedWork,
  type LockGap,
  type LockOptions,
  ok,
  type Result,
  tryWithFileLocks,
  withFileLocks,
} from "../lib/index.ts";
import { ioError, lockedError } from "./file-errors.ts";
import { canRefuseLinks, FileIsLink } from "./memory-file.ts";
import { lockedFile } from "./paths.ts";
import type { MemoryError } from "./types.ts";

const told = new Set<LockGap["missing"]>();

/** Who may write at the same time as we do, why, and what to do. */
export function explainGap({ missing, reason }: LockGap): {
  readonly message: string;
  readonly remedy: string;
} {
  switch (missing) {
    case "kernel":
      return {
        message: `File locks do not exclude the Python version of Hermes here (${reason}).`,
        remedy: "Install koffi or flock(1), or let only one of the two programs write.",
      };
    case "mutex":
      return {
        message: `File locks do not exclude processes here that have neither koffi nor flock(1) (${reason}).`,
        remedy: "Check that your user can create and write that file.",
      };
    case "both":
      return {
        message: `File locks do not work here; other programs can write at the same time (${reason}).`,
        remedy: "Let one process at a time write, or move the home to a local file system.",
      };
    default:
      return missing satisfies never;
  }
}

export function describeGap(gap: LockGap): string {
  const { message, remedy } = explainGap(gap);
  return `${message} ${remedy}`;
}

export class TargetLock {
  readonly #file: string;
  readonly #warn: (line: string) => void;
  #real: string;

  constructor(file: string, warn: (line: string) => void) {
    this.#file = file;
    this.#real = file;
    this.#warn = warn;
  }

  /** The end of the link chain, as found when the lock was last taken. */
  get real(): string {
    return this.#real;
  }

  /** Runs synchronous work under the lock, waiting for it if need be. System errors become `io`. */
  async hold<T>(
    work: LockedWork<Result<T, MemoryError>>,
    timeoutMs: number,
    describeFailure = (cause: unknown): MemoryError => ioError(this.#file, cause),
  ): Promise<Result<T, MemoryError>> {
    try {
      const telling = this.#telling(work);
      const atOnce = tryWithFileLocks(this.#paths(), telling);
      const outcome = atOnce.ok ? atOnce : await this.#whenFree({ timeoutMs }, telling);
      return outcome.ok ? outcome.value : err(lockedError(this.#file, outcome.error));
    } catch (cause) {
      return err(describeFailure(cause));
    }
  }

  /**
   * The common case, with the fewest looks at the disk: the lock is free, and the file is no link (`work` throws
   * `FileIsLink` when it is). Undefined when it is not so.
   */
  tryPlain<T>(work: LockedWork<Result<T, MemoryError>>): Result<T, MemoryError> | undefined {
    if (!canRefuseLinks) return undefined;
    this.#real = this.#file;
    try {
      const outcome = tryWithFileLocks([`${this.#file}.lock`], this.#telling(work));
      return outcome.ok ? outcome.value : undefined;
    } catch (cause) {
      return cause instanceof FileIsLink ? undefined : err(ioError(this.#file, cause));
    }
  }

  /** Only when the lock is free at once; nobody is told otherwise. */
  tryHold(work: () => void): void {
    tryWithFileLocks(this.#paths(), work);
  }

  /** Starts over when the file, a link, was turned elsewhere during the wait: other locks guard it then. */
  async #whenFree<T>(options: LockOptions, work: LockedWork<T>): Promise<Result<T, LockBusy>> {
    for (;;) {
      const paths = this.#paths();
      const real = this.#real;
      const outcome = await withFileLocks(paths, options, (gap) => {
        this.#paths();
        return this.#real === real ? { done: work(gap) } : undefined;
      });
      if (!outcome.ok) return outcome;
      if (outcome.value) return ok(outcome.value.done);
    }
  }

  /** A gap is told once per process here, for the log; the result of every write tells it too. */
  #telling<T>(work: LockedWork<T>): LockedWork<T> {
    return (gap) => {
      if (gap && !told.has(gap.missing)) {
        told.add(gap.missing);
        this.#warn(describeGap(gap));
      }
      return work(gap);
    };
  }

  #paths(): readonly string[] {
    const { real, locks } = lockedFile(this.#file);
    this.#real = real;
    return locks;
  }
}
