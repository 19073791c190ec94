// The events of one turn as an async iterable. They are kept until they are read, so a slow reader misses none.
import type { AgentEvent } from "../events.ts";
import type { RunOptions } from "../surface.ts";
import type { TurnResult } from "../turn-result.ts";

/** To be iterated once. */
export type AgentStream = AsyncIterable<AgentEvent> & {
  /** Rejects when the turn was refused, as `run` does. */
  readonly result: Promise<TurnResult>;
};

/** `events`: the same as a stream. Cancelling it interrupts the turn, and waits for its end, so that the agent is free for the next one. */
export function startStream(
  run: (options: RunOptions) => Promise<TurnResult>,
  { signal, onEvent, ...options }: RunOptions,
): AgentStream & { readonly events: ReadableStream<AgentEvent> } {
  const stop = new AbortController();
  let queue: ReadableStreamDefaultController<AgentEvent> | undefined;
  const events = new ReadableStream<AgentEvent>({
    start: (controller) => {
      queue = controller;
    },
    cancel: async () => {
      queue = undefined;
      stop.abort();
      await result.catch(() => undefined);
    },
  });
  const result = run({
    ...options,
    signal: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
    onEvent: (event) => {
      queue?.enqueue(event);
      onEvent?.(event);
    },
  });
  // Also keeps a rejection from being unhandled when the caller reads only the events.
  result.then(
    () => queue?.close(),
    (cause: unknown) => queue?.error(cause),
  );
  return { result, events, [Symbol.asyncIterator]: () => events[Symbol.asyncIterator]() };
}
