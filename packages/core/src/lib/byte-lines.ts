// Splits a stream of bytes into lines. Each byte is examined once, however lines are split over chunks, and of a line that is
// too long only the two ends are kept in memory.

export type ByteLine =
  | { readonly kind: "line"; readonly bytes: Buffer }
  /** `head` and `tail` are its first and last 256 bytes, so that the caller can find the request it answers. */
  | { readonly kind: "too_long"; readonly length: number; readonly head: Buffer; readonly tail: Buffer };

const NEWLINE = 0x0a;
const END_BYTES = 256;

export class ByteLines {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #length = 0;
  /** Set while the current line is too long. */
  #ends: { readonly head: Buffer; tail: Buffer } | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True when the current line has passed the limit. */
  get isTooLong(): boolean {
    return this.#ends !== undefined;
  }

  /** The lines that end in this chunk. */
  *push(chunk: Uint8Array): Iterable<ByteLine> {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      yield this.#take();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** The last line, when the stream ends without a newline. */
  end(): ByteLine | undefined {
    return this.#length === 0 ? undefined : this.#take();
  }

  #keep(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#ends === undefined) {
      if (piece.length > 0) this.#pieces.push(piece);
      if (this.#length <= this.#maxBytes) return;
      const whole = Buffer.concat(this.#pieces);
      this.#ends = { head: copied(whole.subarray(0, END_BYTES)), tail: copied(whole.subarray(-END_BYTES)) };
      this.#pieces = [];
    } else
      this.#ends.tail = Buffer.concat([this.#ends.tail, piece.subarray(-END_BYTES)]).subarray(-END_BYTES);
  }

  #take(): ByteLine {
    const line: ByteLine =
      this.#ends === undefined
        ? { kind: "line", bytes: Buffer.concat(this.#pieces) }
        : { kind: "too_long", length: this.#length, ...this.#ends };
    this.#pieces = [];
    this.#length = 0;
    this.#ends = undefined;
    return line;
  }
}

/** A subarray would keep the whole buffer in memory. */
function copied(part: Buffer): Buffer {
  return Buffer.from(part);
}
