// Watches one answer of a server while it arrives: enforces the limits on its size, and notes whether it ended with `[DONE]`.
import { groupThousands } from "@hermes-memory/core/internal/lib";

/** Bytes that are read of an error's body: far more than a message needs, and a limit for a body without an end. */
const ERROR_BYTES = 256 * 1024;
/** For the whole answer, per character of the reply: a server may wrap every token in an event of a few hundred bytes. */
const STREAM_BYTES_PER_CHAR = 64;
/** For the whole answer, in addition: keep-alive events while the model thinks. */
const STREAM_BYTES = 8 * 1024 * 1024;
/** Tool calls in one reply. */
const MOST_CALLS = 1_000;
/** In a piece of the stream that begins with the end of the piece before. */
const DONE = /\ndata: ?\[DONE\]\r?(?:\n|$)/;
const DONE_CHARS = 20;

/** The number of characters that a part of a stream adds to the reply. */
export type Weight = { readonly chars: number; readonly calls: number };

export class ReplyWatch {
  /** For the reply: text, reasoning, names, ids and arguments of calls together, in UTF-16 units. */
  readonly maxChars: number;
  #chars = 0;
  #calls = 0;
  #passed: string | undefined;
  #hasDone = false;

  constructor(maxChars: number) {
    this.maxChars = maxChars;
  }

  /** The limit that was exceeded, as part of a sentence: `50,000 characters`. */
  get passed(): string | undefined {
    return this.#passed;
  }

  /** The server closed the stream with `[DONE]`, as chat servers do at the end of a reply. */
  get hasDone(): boolean {
    return this.#hasDone;
  }

  /** Adds to the size; false when a limit is exceeded. */
  take({ chars, calls }: Weight): boolean {
    this.#chars += chars;
    this.#calls += calls;
    if (this.#calls > MOST_CALLS) this.#passed ??= `${groupThousands(MOST_CALLS)} tool calls`;
    if (this.#chars > this.maxChars) this.#passed ??= `${groupThousands(this.maxChars)} characters`;
    return this.#passed === undefined;
  }

  /** The same response, watched while it is read. */
  over(response: Response): Response {
    if (response.body === null) return response;
    const { ok, status, statusText, headers } = response;
    const body = response.body.pipeThrough(ok ? this.#events() : firstBytes(ERROR_BYTES));
    return new Response(body, { status, statusText, headers });
  }

  /** Measures the stream and looks for the line `data: [DONE]`. */
  #events(): TransformStream<Uint8Array, Uint8Array> {
    const maxBytes = STREAM_BYTES + this.maxChars * STREAM_BYTES_PER_CHAR;
    let bytes = 0;
    let tail = "\n";
    return new TransformStream({
      transform: (chunk, controller) => {
        bytes += chunk.length;
        if (bytes > maxBytes) this.#passed ??= `${groupThousands(maxBytes)} bytes`;
        if (this.#passed !== undefined) throw new Error("The reply is longer than the limit.");
        controller.enqueue(chunk);
        tail += Buffer.from(chunk).toString("latin1");
        this.#hasDone ||= DONE.test(tail);
        tail = tail.slice(-DONE_CHARS);
        if (this.#hasDone) controller.terminate(); // some servers keep the connection open after it
      },
    });
  }
}

/** Ends the stream after this many bytes, without an error, so that the bytes can be read. */
function firstBytes(most: number): TransformStream<Uint8Array, Uint8Array> {
  let left = most;
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) controller.terminate();
    },
  });
}
