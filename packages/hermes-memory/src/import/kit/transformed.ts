// Runs chunks through a transform stream of Node.
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

/** The chunks after a transform. Leaving the loop early closes both streams. */
export async function* transformed(
  chunks: AsyncIterable<Uint8Array>,
  transform: Transform,
): AsyncGenerator<Uint8Array> {
  // An error of the source arrives through the transform, which the loop below reads; the promise only repeats it.
  pipeline(Readable.from(chunks, { objectMode: false }), transform).catch(() => {});
  for await (const chunk of transform) yield chunk;
}
