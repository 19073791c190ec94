// Keeps an eye on one answer of a server while it arrives: how much it has said, and whether it has said that this was all.

/** Bytes of an error's body that are read: far more than the sentence in it, far less than an endless one. */
const ERROR_BYTES = 256 * 1024;
/** Beside the text of an event: names, ids, usage. */
const EVENT_BYTES = 1024 * 1024;
/** A character in JSON can be six bytes (`\\u00e9`), and the last event of some wires says everything once more. */
const BYTES_PER_CHAR = 8;
const DONE = /^data: ?\[DONE\]$/;
const DONE_CHARS = 12;
const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export class ReplyWatch {
  /** Of the reply: text, reasoning and arguments of calls together, in UTF-16 units. */
  readonly maxChars: number;
  #chars = 0;
  #isOver = false;
  #hasDone = false;

  constructor(maxChars: number) {
    this.maxChars = maxChars;
  }

  /** The limit was passed. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The server closed the stream with `[DONE]`, as chat servers do at the end of a reply. */
  get hasDone(): boolean {
    return this.#hasDone;
  }

  /** False when the limit is passed with these. */
  take(chars: number): boolean {
    this.#chars += chars;
    this.#isOver ||= this.#chars > this.maxChars;
    return !this.#isOver;
  }

  /** The same answer, watched while it is read. */
  over(response: Response): Response {
    if (response.body === null) return response;
    const { ok, status, statusText, headers } = response;
    const body = response.body.pipeThrough(ok ? this.#events() : firstBytes(ERROR_BYTES));
    return new Response(body, { status, statusText, headers });
  }

  /** Looks at each byte once: how long the event is that it belongs to, and for the line that ends the stream. */
  #events(): TransformStream<Uint8Array, Uint8Array> {
    const maxBytes = EVENT_BYTES + this.maxChars * BYTES_PER_CHAR;
    let eventBytes = 0;
    let lineBytes = 0;
    let line = "";
    const endLine = (): void => {
      if (lineBytes === 0) eventBytes = 0;
      else if (lineBytes <= DONE_CHARS && DONE.test(line)) this.#hasDone = true;
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
        if (eventBytes > maxBytes) {
          this.#isOver = true;
          throw new Error("The reply is longer than is taken.");
        }
        controller.enqueue(chunk);
      },
      flush: endLine,
    });
  }
}

/** Ends politely behind them, so that what is there can be read. */
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
