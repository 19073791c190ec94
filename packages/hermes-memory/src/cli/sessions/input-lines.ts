// Lines of a byte stream, one at a time, however its chunks are split.

export type Line = { readonly number: number; readonly bytes: Uint8Array };

export class LineTooLong extends Error {
  readonly line: number;

  constructor(line: number) {
    super(`line ${line} is longer than ${MAX_LINE_BYTES / 1024 ** 2} MB`);
    this.name = "LineTooLong";
    this.line = line;
  }
}

const MAX_LINE_BYTES = 500 * 1024 ** 2; // a JavaScript string cannot hold more
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Lines without their line breaks. The last line may lack one; nothing after the last line break is no line. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<Line> {
  let number = 1;
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield { number, bytes: joined([...pieces, chunk.subarray(start, end)]) };
      pieces = [];
      length = 0;
      start = end + 1;
      number += 1;
    }
    if (start < chunk.length) {
      pieces.push(chunk.subarray(start));
      length += chunk.length - start;
      if (length > maxBytes) throw new LineTooLong(number);
    }
  }
  const rest = joined(pieces);
  if (rest.length > 0) yield { number, bytes: rest };
}

/** Undefined when the bytes are not UTF-8. Drops a byte order mark. */
export function lineText({ bytes }: Line): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  return whole.at(-1) === RETURN ? whole.subarray(0, -1) : whole;
}
