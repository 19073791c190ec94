// Background jobs, one after the other in the order they were pushed. A service that is down costs a bounded queue and does not keep the
// process alive. The manager has one for its hooks, a provider may have one for its requests.
import { withDeadline } from "./foreign-code.ts";

/** The signal is aborted when the queue closes. */
export type Job = (signal: AbortSignal) => Promise<void>;

export type JobOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly cause: unknown }
  | { readonly kind: "dropped"; readonly reason: "full" | "closed" };

export type SerialQueueOptions = {
  /** Jobs that may wait beside the running one. */
  readonly maxWaiting: number;
};

export type DrainOptions = {
  /** Stop waiting when no job has ended for this long. */
  readonly idleMs?: number;
  readonly signal?: AbortSignal;
};

type Entry = { readonly job: Job; readonly settle: (outcome: JobOutcome) => void };

export class SerialQueue {
  readonly #maxWaiting: number;
  readonly #waiting: Entry[] = [];
  readonly #closing = new AbortController();
  /** Called after each job and by `close`. */
  readonly #onProgress = new Set<() => void>();
  #isRunning = false;
  #pushed = 0;
  #finished = 0;

  constructor({ maxWaiting }: SerialQueueOptions) {
    this.#maxWaiting = maxWaiting;
  }

  /** Jobs that wait or run. */
  get length(): number {
    return this.#pushed - this.#finished;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Resolves to the job's outcome and never rejects, so it need not be awaited. The job starts after `push` has returned. */
  push(job: Job): Promise<JobOutcome> {
    const reason = this.isClosed ? "closed" : this.isFull ? "full" : undefined;
    if (reason !== undefined) return Promise.resolve({ kind: "dropped", reason });
    this.#pushed += 1;
    return new Promise((settle) => {
      this.#waiting.push({ job, settle });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Waits at most `ms` for the jobs pushed so far. Resolves to how many of them are left. */
  async drain(ms: number, { idleMs = ms, signal }: DrainOptions = {}): Promise<number> {
    const upTo = this.#pushed;
    const left = (): number => Math.max(0, upTo - this.#finished);
    if (left() === 0 || signal?.aborted === true) return left();
    await new Promise<void>((resolve) => {
      const leave = (): void => {
        clearTimeout(timer);
        clearTimeout(idleTimer);
        this.#onProgress.delete(look);
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const look = (): void => {
        if (left() === 0) leave();
        else idleTimer?.refresh();
      };
      const timer = setTimeout(leave, ms); // keeps the process alive: the caller waits for it
      const idleTimer = idleMs < ms ? setTimeout(leave, idleMs) : undefined;
      this.#onProgress.add(look);
      signal?.addEventListener("abort", leave, { once: true });
    });
    return left();
  }

  /** Drops the waiting jobs, aborts the running one and refuses further ones. Returns how many did not finish, the running one included. */
  close(): number {
    const lost = this.length;
    this.#finished = this.#pushed;
    this.#closing.abort();
    for (const { settle } of this.#waiting.splice(0)) settle({ kind: "dropped", reason: "closed" });
    this.#report();
    return lost;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await Promise.resolve(); // the caller of `push` goes on first
    for (let entry = this.#waiting.shift(); entry; entry = this.#waiting.shift()) {
      entry.settle(await this.#outcomeOf(entry.job));
      if (!this.isClosed) this.#finished += 1;
      this.#report();
    }
    this.#isRunning = false;
  }

  async #outcomeOf(job: Job): Promise<JobOutcome> {
    const rules = { ms: Number.POSITIVE_INFINITY, stop: this.#closing.signal };
    try {
      const timed = await withDeadline(rules, job);
      return timed.kind === "done" ? { kind: "done" } : { kind: "dropped", reason: "closed" };
    } catch (cause) {
      return { kind: "failed", cause };
    }
  }

  #report(): void {
    for (const look of [...this.#onProgress]) look();
  }
}
