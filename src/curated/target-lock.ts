// The locks of one target: the one beside its file and, where the file is a link, the one beside what it leads to.
import {
  err,
  type LockBusy,
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

  readonly warnUnlocked = (reason: string): void => {
    this.#warn(`File locks do not work here (${reason}); writing without them.`);
  };

  /** Runs synchronous work under the lock, waiting for it if need be. System errors become `io`. */
  async hold<T>(
    work: () => Result<T, MemoryError>,
    timeoutMs: number,
    describeFailure = (cause: unknown): MemoryError => ioError(this.#file, cause),
  ): Promise<Result<T, MemoryError>> {
    try {
      const options = { timeoutMs, onUnsupported: this.warnUnlocked };
      const atOnce = tryWithFileLocks(this.#paths(), options, work);
      const outcome = atOnce.ok ? atOnce : await this.#whenFree(options, work);
      return outcome.ok ? outcome.value : err(lockedError(this.#file, outcome.error));
    } catch (cause) {
      return err(describeFailure(cause));
    }
  }

  /**
   * The common case, with the fewest looks at the disk: the lock is free, and the file is no link (`work` throws
   * `FileIsLink` when it is). Undefined when it is not so.
   */
  tryPlain<T>(work: () => Result<T, MemoryError>): Result<T, MemoryError> | undefined {
    if (!canRefuseLinks) return undefined;
    this.#real = this.#file;
    try {
      const outcome = tryWithFileLocks([`${this.#file}.lock`], { onUnsupported: this.warnUnlocked }, work);
      return outcome.ok ? outcome.value : undefined;
    } catch (cause) {
      return cause instanceof FileIsLink ? undefined : err(ioError(this.#file, cause));
    }
  }

  /** Only when the lock is free at once; nobody is told otherwise. */
  tryHold(work: () => void): void {
    tryWithFileLocks(this.#paths(), {}, work);
  }

  /** Starts over when the file, a link, was turned elsewhere during the wait: other locks guard it then. */
  async #whenFree<T>(options: LockOptions, work: () => T): Promise<Result<T, LockBusy>> {
    for (;;) {
      const paths = this.#paths();
      const real = this.#real;
      const outcome = await withFileLocks(paths, options, () => {
        this.#paths();
        return this.#real === real ? { done: work() } : undefined;
      });
      if (!outcome.ok) return outcome;
      if (outcome.value) return ok(outcome.value.done);
    }
  }

  #paths(): readonly string[] {
    const { real, locks } = lockedFile(this.#file);
    this.#real = real;
    return locks;
  }
}
