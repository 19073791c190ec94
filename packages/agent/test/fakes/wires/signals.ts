// Things that happen once each, by number, and those who wait for them.

type Waiting = { readonly resolve: () => void; readonly reject: (cause: Error) => void };

export class Signals {
  readonly #reached = new Set<number>();
  readonly #waiting = new Map<number, Waiting[]>();
  #isOver = false;

  reach(n: number): void {
    this.#reached.add(n);
    for (const { resolve } of this.#waiting.get(n) ?? []) resolve();
    this.#waiting.delete(n);
  }

  async wait(n: number): Promise<void> {
    if (!Number.isInteger(n) || n < 0) throw new Error(`Waiting is for requests from 0 on, not for ${n}.`);
    if (this.#reached.has(n)) return;
    if (this.#isOver) throw closedBefore(n);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(n, [...(this.#waiting.get(n) ?? []), { resolve, reject }]);
    await promise;
  }

  end(): void {
    this.#isOver = true;
    for (const [n, waiting] of this.#waiting) for (const { reject } of waiting) reject(closedBefore(n));
    this.#waiting.clear();
  }
}

function closedBefore(n: number): Error {
  return new Error(`The server was closed before that happened to request ${n}.`);
}
