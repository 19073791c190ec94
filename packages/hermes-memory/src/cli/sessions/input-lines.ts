// Lines of a byte stream, one at a time, however its chunks are split.
import { addAbortSignal, Readable } from "node:stream";
import { type ByteLine, ByteLines } from "@hermes-memory/core/internal/lib";

/** Without its line break. `bytes` is undefined for a line that is too long, which is the last one. */
export type Line = { readonly number: number; readonly bytes: Uint8Array | undefined };

export const MAX_LINE_BYTES = 500 * 1024 ** 2; // a JavaScript string cannot hold more
const RETURN = 0x0d;

/** The last line may lack its line break. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<Line> {
  const lines = new ByteLines(maxBytes);
  let number = 0;
  const next = (line: ByteLine): Line => {
    number += 1;
    if (line.kind === "too_long") return { number, bytes: undefined };
    return { number, bytes: line.bytes.at(-1) === RETURN ? line.bytes.subarray(0, -1) : line.bytes };
  };
  for await (const chunk of chunks) {
    for (const line of lines.push(chunk)) yield next(line);
    if (lines.isTooLong) {
      yield next({ kind: "too_long" });
      return;
    }
  }
  const last = lines.end();
  if (last !== undefined) yield next(last);
}

/** Undefined when the bytes are not UTF-8, or too many. Drops a byte order mark. */
export function lineText({ bytes }: Line): string | undefined {
  try {
    return bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Ends at once when the signal aborts, even while the input is idle. An open stream would keep the process alive. */
export async function* untilAborted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const stream = chunks instanceof Readable ? chunks : Readable.from(chunks);
  try {
    yield* addAbortSignal(signal, stream);
  } catch (cause) {
    if (!signal.aborted) throw cause;
  }
}
