// Unpacks files of several zstd frames in a row. Node's decoder stops after the first frame and leaves out the rest without an error.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";

const FRAME = 0xfd2fb528;
/** Frames whose content decoders must ignore have sixteen magic numbers, from this one on. */
const SKIPPABLE = 0x184d2a50;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;
const RLE_BLOCK = 1;

/** A first frame that is cut short is an error; a later one is still being written and ends the data. */
export async function* unpackedFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  // A caller that leaves early must not leave the file open.
  await using _closing = { [Symbol.asyncDispose]: async () => void (await source.return?.()) };
  const pieces = framePieces(source);
  let isFirst = true;
  let hasEnded = false;
  while (!hasEnded) {
    let isWhole = false;
    let isEmpty = true;
    async function* frame(): AsyncGenerator<Uint8Array> {
      for (;;) {
        const next = await pieces.next();
        hasEnded = next.done === true;
        if (next.done === true) return;
        isEmpty = false;
        isWhole = next.value.isLast;
        yield next.value.bytes;
        if (isWhole) return;
      }
    }
    try {
      yield* unpackedFrame(frame());
    } catch (cause) {
      if (isFirst || isWhole || !hasEnded) {
        if (isFirst && hasEnded && isEmpty) return; // a file without bytes
        throw cause;
      }
    }
    isFirst = false;
  }
}

/** Leaving the loop early closes both streams. */
async function* unpackedFrame(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unpacking = createZstdDecompress();
  // An error of the source arrives through the decoder, which is read here; the promise only repeats it.
  pipeline(Readable.from(chunks, { objectMode: false }), unpacking).catch(() => {});
  yield* unpacking;
}

type Piece = { readonly bytes: Uint8Array; readonly isLast: boolean };

/** Headers and blocks as they are in the file, with the last piece of every frame marked. */
async function* framePieces(source: AsyncIterator<Uint8Array>): AsyncGenerator<Piece> {
  const take = taker(source);
  for (let magic = await take(4); magic.length === 4; magic = await take(4)) {
    const number = magic.readUInt32LE();
    if ((number & 0xfffffff0) >>> 0 === SKIPPABLE) {
      const size = await take(4);
      let left = size.length === 4 ? size.readUInt32LE() : 0;
      while (left > 0) {
        const skipped = await take(Math.min(left, 1024 ** 2));
        if (skipped.length === 0) return;
        left -= skipped.length;
      }
      continue;
    }
    if (number !== FRAME) throw new Error("not a zstd file");
    const start = await take(1);
    const flags = start[0] ?? 0;
    const header = await take(headerBytes(flags));
    yield { bytes: Buffer.concat([magic, start, header]), isLast: false };
    const hasChecksum = (flags & 0b100) !== 0;
    for (let isLastBlock = false; !isLastBlock; ) {
      const head = await take(3);
      if (head.length < 3) return;
      const word = head.readUIntLE(0, 3);
      isLastBlock = (word & 1) === 1;
      const size = ((word >> 1) & 0b11) === RLE_BLOCK ? 1 : word >> 3;
      const wanted = size + (isLastBlock && hasChecksum ? 4 : 0);
      const body = await take(wanted);
      const isWhole = body.length === wanted;
      yield { bytes: Buffer.concat([head, body]), isLast: isLastBlock && isWhole };
      if (!isWhole) return;
    }
  }
}

/** Bytes of the frame header after its first one. */
function headerBytes(flags: number): number {
  const isSingleSegment = (flags & 0b100000) !== 0;
  const sizeFlag = flags >> 6;
  const contentSize = sizeFlag === 0 ? (isSingleSegment ? 1 : 0) : 2 ** sizeFlag;
  return (isSingleSegment ? 0 : 1) + (DICTIONARY_ID_BYTES[flags & 0b11] ?? 0) + contentSize;
}

/** Gives the next bytes in the wanted number, or fewer at the end of the data. */
function taker(source: AsyncIterator<Uint8Array>): (count: number) => Promise<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  return async (count) => {
    while (rest.length < count) {
      const next = await source.next();
      if (next.done === true) break;
      const { buffer, byteOffset, length } = next.value;
      const chunk = Buffer.from(buffer, byteOffset, length);
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    }
    const taken = rest.subarray(0, count);
    rest = rest.subarray(taken.length);
    return taken;
  };
}
