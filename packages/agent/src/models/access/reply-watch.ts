// Watches one answer of a server while it arrives: enforces the limits on its size, and notes whether it ended with `[DONE]`.
import { groupThousands } from "@hermes-memory/core/internal/lib";

/** Bytes that are read of an error's body: far more than a message needs, and a limit for a body without an end. */
const ERROR_BYTES = 256 * 1024;
/** For one event, besides its text: names, ids, usage. */
const EVENT_BYTES = 1024 * 1024;
/** For the whole answer, per character of the reply: a server may wrap every token in an event of a few hundred bytes. */
const STREAM_BYTES_PER_CHAR = 64;
/** For the whole answer, in addition: keep-alive events while the model thinks. */
const STREAM_BYTES = 8 * 1024 * 1024;
/** Tool calls in one reply. */
const MOST_CALLS = 1_000;
/** A character in JSON may take six bytes (`\\u00e9`), and the last event of some wires repeats everything. */
const BYTES_PER_CHAR = 8;
const DONE = /^data: ?\[DONE\]$/;
const DONE_CHARS = 12;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

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
    if (this.#chars > this.maxChars) this.#passed ??= this.#charLimit();
    return this.#passed === undefined;
  }

  #charLimit(): string {
    return `${groupThousands(this.maxChars)} characters`;
  }

  /** The same response, watched while it is read. */
  over(response: Response): Response {
    if (response.body === null) return response;
    const { ok, status, statusText, headers } = response;
    const body = response.body.pipeThrough(ok ? this.#events() : firstBytes(ERROR_BYTES));
    return new Response(body, { status, statusText, headers });
  }

  /** Measures the current event and looks for the line `data: [DONE]`. */
  #events(): TransformStream<Uint8Array, Uint8Array> {
    const maxEventBytes = EVENT_BYTES + this.maxChars * BYTES_PER_CHAR;
    const maxBytes = STREAM_BYTES + this.maxChars * STREAM_BYTES_PER_CHAR;
    let bytes = 0;
    let eventBytes = 0;
    let lineBytes = 0;
    let line = "";
    const isDone = (): boolean => lineBytes <= DONE_CHARS && DONE.test(line);
    const endLine = (): void => {
      if (lineBytes === 0) eventBytes = 0;
      else this.#hasDone ||= isDone();
      lineBytes = 0;
      line = "";
    };
    return new TransformStream({
      transform: (chunk, controller) => {
        for (const byte of chunk) {
          eventBytes += 1;
          if (byte === NEWLINE) endLine();
          else if (byte !== CARRIAGE_RETURN) {
            lineBytes += 1;
            if (lineBytes <= DONE_CHARS) line += String.fromCharCode(byte);
          }
        }
        bytes += chunk.length;
        if (eventBytes > maxEventBytes) this.#passed ??= this.#charLimit();
        else if (bytes > maxBytes) this.#passed ??= `${groupThousands(maxBytes)} bytes, most of them no text`;
        if (this.#passed !== undefined) throw new Error("The reply is longer than the limit.");
        controller.enqueue(chunk);
        // Some servers keep the connection open after it.
        this.#hasDone ||= isDone();
        if (this.#hasDone) controller.terminate();
      },
      flush: endLine,
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
