// The bytes of a file in chunks, up to the size it has when it is opened. Compressed files are unpacked on the way.
import { open, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import type { Reading } from "../reader.ts";

const CHUNK_BYTES = 256 * 1024;
/** More than any real transcript; a file that unpacks to more was made to do harm. */
export const MAX_UNPACKED_BYTES = 20 * 1024 ** 3;

type Told = Pick<Reading, "signal" | "advanced">;

/** A file that grows meanwhile is read up to its size at the start. Files ending in `.zst` are unpacked. */
export function fileChunks(path: string, told: Told): AsyncIterable<Uint8Array> {
  return /\.zst$/.test(path) ? zstdChunks(path, told) : plainChunks(path, told);
}

async function* plainChunks(path: string, told: Told, from = 0): AsyncGenerator<Uint8Array> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  for (let at = from; at < size; ) {
    told.signal.throwIfAborted();
    // A new buffer each time: what the caller has not finished with still points into the one before.
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
    const { bytesRead } = await file.read(chunk, 0, null, at);
    if (bytesRead === 0) return; // the file became shorter meanwhile
    at += bytesRead;
    told.advanced(bytesRead);
    yield chunk.subarray(0, bytesRead);
  }
}

/** Node's decoder stops after the first frame without an error, so each frame has a decoder of its own. */
async function* zstdChunks(path: string, told: Told): AsyncGenerator<Uint8Array> {
  const { size } = await stat(path);
  let total = 0;
  for (let from = 0; from < size; ) {
    const frame = createZstdDecompress();
    // An error of the file arrives through the decoder, which is read here; the promise only repeats it.
    pipeline(Readable.from(plainChunks(path, told, from), { objectMode: false }), frame).catch(() => {});
    for await (const chunk of frame) {
      total += chunk.length;
      if (total > MAX_UNPACKED_BYTES) throw new Error("unpacks to more than 20 GiB");
      yield chunk;
    }
    from += frame.bytesWritten;
  }
}
