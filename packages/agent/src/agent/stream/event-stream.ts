// The events of one turn as an async iterable. They are kept until they are read, so a slow reader misses none.
import type { AgentEvent } from "../events.ts";
import type { RunOptions } from "../surface.ts";
import type { TurnResult } from "../turn-result.ts";

/** To be iterated once. */
export type AgentStream = AsyncIterable<AgentEvent> & {
  /** Rejects when the turn was refused, as `run` does. */
  readonly result: Promise<TurnResult>;
};

export function startStream(
  run: (options: RunOptions) => Promise<TurnResult>,
  { signal, onEvent, ...options }: RunOptions,
): AgentStream {
  const stop = new AbortController();
  const events = new EventQueue(stop);
  const result = run({
    ...options,
    signal: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
    onEvent: (event) => {
      events.push(event);
      onEvent?.(event);
    },
  });
  // Also keeps a rejection from being unhandled when the caller reads only the events.
  result.then(
    () => events.end(),
    (cause: unknown) => events.fail(cause),
  );
  return { result, [Symbol.asyncIterator]: () => events };
}

class EventQueue implements AsyncIterableIterator<AgentEvent> {
  readonly #stop: AbortController;
  readonly #events: AgentEvent[] = [];
  readonly #ended = Promise.withResolvers<void>();
  #state: { readonly kind: "running" | "ended" } | { readonly kind: "failed"; readonly cause: unknown } = {
    kind: "running",
  };
  #isLeft = false;
  /** Wakes the readers that wait for the next event. */
  #news = Promise.withResolvers<void>();

  constructor(stop: AbortController) {
    this.#stop = stop;
  }

  push(event: AgentEvent): void {
    if (!this.#isLeft) this.#events.push(event);
    this.#wake();
  }

  end(): void {
    this.#state = { kind: "ended" };
    this.#ended.resolve();
    this.#wake();
  }

  fail(cause: unknown): void {
    this.#state = { kind: "failed", cause };
    this.#ended.resolve();
    this.#wake();
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    for (;;) {
      const value = this.#events.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#isLeft || this.#state.kind === "ended") return { done: true, value: undefined };
      if (this.#state.kind === "failed") {
        const { cause } = this.#state;
        this.#isLeft = true;
        throw cause;
      }
      await this.#news.promise;
    }
  }

  /** The reader left: interrupts the turn, and waits for its end, so that the agent is free for the next one. */
  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#isLeft = true;
    this.#events.length = 0;
    this.#stop.abort();
    this.#wake();
    await this.#ended.promise;
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #wake(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers<void>();
  }
}
