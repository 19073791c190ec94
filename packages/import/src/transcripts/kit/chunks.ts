// The bytes of a file in chunks, up to the size it has when it is opened. Compressed files are unpacked on the way.
import { open } from "node:fs/promises";
import type { Reading } from "../reader.ts";
import { unpackedFrames } from "./zstd-frames.ts";

const CHUNK_BYTES = 256 * 1024;
/** More than any real transcript; a file that unpacks to more was made to do harm. */
export const MAX_UNPACKED_BYTES = 20 * 1024 ** 3;

type Told = Pick<Reading, "signal" | "advanced">;

/** A file that grows meanwhile is read up to its size at the start. Files ending in `.zst` are unpacked. */
export function fileChunks(path: string, told: Told): AsyncIterable<Uint8Array> {
  return /\.zst$/.test(path) ? zstdChunks(path, told) : plainChunks(path, told);
}

async function* plainChunks(path: string, told: Told): AsyncGenerator<Uint8Array> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  let at = 0;
  while (at < size) {
    told.signal.throwIfAborted();
    // A new buffer each time: what the caller has not finished with still points into the one before.
    const { bytesRead, buffer } = await file.read(
      Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at)),
      0,
      null,
      at,
    );
    if (bytesRead === 0) return; // the file became shorter meanwhile
    at += bytesRead;
    told.advanced(bytesRead);
    yield buffer.subarray(0, bytesRead);
  }
}

async function* zstdChunks(path: string, told: Told): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of unpackedFrames(plainChunks(path, told))) {
    total += chunk.length;
    if (total > MAX_UNPACKED_BYTES) throw new Error("unpacks to more than 20 GiB");
    yield chunk;
  }
}
