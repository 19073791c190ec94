// What has to be closed again, newest first. The `AsyncDisposableStack` of Node 24, of which Node 22 has none.

export class Cleanup implements AsyncDisposable {
  #steps: (() => unknown)[] = [];

  use(resource: AsyncDisposable): void {
    this.defer(() => resource[Symbol.asyncDispose]());
  }

  defer(step: () => unknown): void {
    this.#steps.push(step);
  }

  /** What was collected, for another owner; this one has nothing left to close. */
  move(): Cleanup {
    const moved = new Cleanup();
    moved.#steps = this.#steps;
    this.#steps = [];
    return moved;
  }

  /** A step that fails keeps none of the others from being done. The first failure is thrown at the end. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (cause) {
        failures.push(cause);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
