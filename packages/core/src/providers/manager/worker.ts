// One task after the other, in the order they were handed in, while the conversation goes on.

export type Task = () => Promise<void>;

export class BackgroundWorker {
  readonly #limit: number;
  readonly #waiting: Task[] = [];
  readonly #barriers = new Set<() => void>();
  #isRunning = false;
  #isClosed = false;
  #handedIn = 0;
  #finished = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** A task must not reject. It does not start before this returns. */
  push(task: Task): "queued" | "full" | "closed" {
    if (this.#isClosed) return "closed";
    if (this.#waiting.length >= this.#limit) return "full";
    this.#waiting.push(task);
    this.#handedIn += 1;
    if (!this.#isRunning) void this.#run();
    return "queued";
  }

  /** True when everything handed in before has run, false when it has not after `ms`, or when no task ended for `stillMs`. */
  async drain(ms: number, stillMs: number = ms): Promise<boolean> {
    const upTo = this.#handedIn;
    const isDone = (): boolean => this.#finished >= upTo || this.#isClosed;
    if (isDone()) return true;
    return new Promise<boolean>((resolve) => {
      const leave = (outcome: boolean): void => {
        clearTimeout(timer);
        clearTimeout(stillTimer);
        this.#barriers.delete(look);
        resolve(outcome);
      };
      const look = (): void => {
        if (isDone()) leave(true);
        else stillTimer?.refresh();
      };
      const timer = setTimeout(() => leave(false), ms);
      const stillTimer = stillMs < ms ? setTimeout(() => leave(false), stillMs) : undefined;
      this.#barriers.add(look);
    });
  }

  /** Takes no more tasks and forgets those that have not started. Returns how many that were, the running one included. */
  close(): number {
    if (this.#isClosed) return 0;
    const lost = this.#handedIn - this.#finished;
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#wake();
    return lost;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await Promise.resolve(); // the caller goes first
    for (let task = this.#waiting.shift(); task; task = this.#waiting.shift()) {
      await task();
      this.#finished += 1;
      this.#wake();
    }
    this.#isRunning = false;
  }

  #wake(): void {
    for (const look of [...this.#barriers]) look();
  }
}
