// Lets the calls of a person run side by side, and an erasure alone: it waits for those that run, and new ones wait for it. Within this
// process only.

/** Runs `work` outside: an erasure does not wait for it. What follows waits for an erasure that has begun meanwhile. */
export type StepOutside = <T>(work: () => Promise<T>) => Promise<T>;

export class Gate {
  readonly #inside = new Set<Promise<void>>();
  /** Resolves when no erasure is waiting or running. */
  #free: Promise<void> | undefined;

  /** Together with others. `work` must not call `pass` or `passAlone` and wait for it, except in a step outside. */
  async pass<T>(work: (step: StepOutside) => Promise<T>): Promise<T> {
    let leave = await this.#enter();
    let outside = 0;
    let isOver = false;
    const step: StepOutside = async (other) => {
      outside += 1;
      if (outside === 1) leave();
      try {
        return await other();
      } finally {
        outside -= 1;
        if (outside === 0 && !isOver) leave = await this.#enter();
        if (isOver) leave(); // `work` did not wait for this step
      }
    };
    try {
      return await work(step);
    } finally {
      isOver = true;
      leave();
    }
  }

  /** Alone; in the order of the calls. */
  async passAlone<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#free;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#free = promise;
    try {
      await before;
      await Promise.all(this.#inside);
      return await work();
    } finally {
      if (this.#free === promise) this.#free = undefined;
      resolve();
    }
  }

  /** Resolves when the calls that are inside now have left. */
  async settled(): Promise<void> {
    await Promise.all(this.#inside);
  }

  async #enter(): Promise<() => void> {
    while (this.#free !== undefined) await this.#free;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#inside.add(promise);
    return () => {
      this.#inside.delete(promise);
      resolve();
    };
  }
}
