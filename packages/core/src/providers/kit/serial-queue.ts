// Background jobs of one provider, one after the other: what came first is stored first. A job that hangs costs its
// deadline, a service that is down costs a bounded queue, and neither keeps the process alive.

/** The signal is aborted at the deadline and when the queue closes. */
export type Job = (signal: AbortSignal) => Promise<void>;

export type JobOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "failed"; readonly cause: unknown }
  | { readonly kind: "timed-out"; readonly afterMs: number }
  | { readonly kind: "dropped"; readonly reason: "full" | "closed" };

export type SerialQueueOptions = {
  /** Jobs at most, the running one included. */
  readonly maxLength: number;
  /** For each job, from its start. */
  readonly deadlineMs: number;
};

type Entry = { readonly job: Job; readonly settle: (outcome: JobOutcome) => void };

export class SerialQueue {
  readonly #options: SerialQueueOptions;
  readonly #waiting: Entry[] = [];
  #running: AbortController | undefined;
  #isClosed = false;
  #dropped = 0;
  /** Called whenever nothing is left to do. */
  readonly #onIdle = new Set<() => void>();

  constructor(options: SerialQueueOptions) {
    this.#options = options;
  }

  /** Jobs that wait or run. */
  get length(): number {
    return this.#waiting.length + (this.#running === undefined ? 0 : 1);
  }

  /** Jobs that never ran, or were stopped by `close`. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Tells how the job ended; never rejects, so nobody has to wait for it. */
  push(job: Job): Promise<JobOutcome> {
    const reason = this.#isClosed ? "closed" : this.length >= this.#options.maxLength ? "full" : undefined;
    if (reason !== undefined) {
      this.#dropped += 1;
      return Promise.resolve({ kind: "dropped", reason });
    }
    return new Promise((settle) => {
      this.#waiting.push({ job, settle });
      if (this.#running === undefined) this.#runNext();
    });
  }

  /** Waits for all jobs, at most `ms` or until the signal is aborted. The number of jobs that are left. */
  async drain(ms: number, signal?: AbortSignal): Promise<number> {
    if (this.length === 0 || signal?.aborted === true) return this.length;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(finish, ms); // counts for the process: somebody is waiting here
      const onIdle = this.#onIdle;
      onIdle.add(finish);
      signal?.addEventListener("abort", finish, { once: true });
      function finish(): void {
        clearTimeout(timer);
        onIdle.delete(finish);
        signal?.removeEventListener("abort", finish);
        resolve();
      }
    });
    return this.length;
  }

  /** Drops what waits, stops what runs, refuses what comes. */
  close(): void {
    this.#isClosed = true;
    for (const { settle } of this.#waiting.splice(0)) {
      this.#dropped += 1;
      settle({ kind: "dropped", reason: "closed" });
    }
    this.#running?.abort(new DOMException("The queue is closed.", "AbortError"));
  }

  #runNext(): void {
    const entry = this.#waiting.shift();
    if (entry === undefined) {
      this.#running = undefined;
      for (const resume of [...this.#onIdle]) resume();
      return;
    }
    const controller = new AbortController();
    this.#running = controller;
    void this.#run(entry.job, controller).then((outcome) => {
      if (outcome.kind === "dropped") this.#dropped += 1;
      entry.settle(outcome);
      this.#runNext();
    });
  }

  async #run(job: Job, controller: AbortController): Promise<JobOutcome> {
    const { deadlineMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    // The queue goes on at the deadline, whether or not the job heeds its signal.
    const stopped = new Promise<JobOutcome>((resolve) => {
      timer = setTimeout(() => {
        resolve({ kind: "timed-out", afterMs: deadlineMs });
        controller.abort(new DOMException("The deadline of this job has passed.", "TimeoutError"));
      }, deadlineMs);
      timer.unref();
      controller.signal.addEventListener("abort", () => resolve({ kind: "dropped", reason: "closed" }));
    });
    try {
      return await Promise.race([attempt(job, controller.signal), stopped]);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function attempt(job: Job, signal: AbortSignal): Promise<JobOutcome> {
  try {
    await job(signal);
    return { kind: "done" };
  } catch (cause) {
    return { kind: "failed", cause };
  }
}
