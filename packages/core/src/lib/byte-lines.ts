// Splits a stream of bytes into lines. Each byte is examined once, however lines are split over chunks, and a line that is too long is
// not kept in memory.

export type ByteLine = { readonly kind: "line"; readonly bytes: Buffer } | { readonly kind: "too_long" };

const NEWLINE = 0x0a;

export class ByteLines {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True when the current line has passed the limit. */
  get isTooLong(): boolean {
    return this.#length > this.#maxBytes;
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
    if (this.isTooLong) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #take(): ByteLine {
    const line: ByteLine = this.isTooLong
      ? { kind: "too_long" }
      : { kind: "line", bytes: Buffer.concat(this.#pieces) };
    this.#pieces = [];
    this.#length = 0;
    return line;
  }
}
