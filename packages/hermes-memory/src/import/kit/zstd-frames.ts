// Where the frames of a zstd file end. Node.js drops what follows a frame in the same chunk, so chunks are cut at these places.

const MAGIC = 0xfd2fb528;
/** The last four bits can be anything. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const RUN_LENGTH_BLOCK = 1;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];

type Step = "magic" | "skippable size" | "descriptor" | "block";

/** The same bytes; no chunk holds bytes of two frames. What is not zstd is passed on for the decoder to refuse. */
export async function* cutAtFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let step: Step | undefined = "magic";
  let header: number[] = [];
  let hasChecksum = false;
  /** Bytes to pass over before the next header. */
  let skip = 0;
  for await (const chunk of chunks) {
    let from = 0;
    let at = 0;
    while (at < chunk.length && step !== undefined) {
      const skipped = Math.min(skip, chunk.length - at);
      skip -= skipped;
      at += skipped;
      if (skip > 0) break;
      if (step === "magic" && at > from && header.length === 0) {
        yield chunk.subarray(from, at);
        from = at;
      }
      if (at === chunk.length) break;
      header.push(chunk[at] ?? 0);
      at += 1;
      if (header.length === bytesOf(step)) {
        advance(step, numberIn(header));
        header = [];
      }
    }
    if (from < chunk.length) yield chunk.subarray(from);
  }

  function advance(done: Step, value: number): void {
    if (done === "magic" && value === MAGIC) step = "descriptor";
    else if (done === "magic") step = (value & ~0xf) === SKIPPABLE_MAGIC ? "skippable size" : undefined;
    else if (done === "skippable size") {
      skip = value;
      step = "magic";
    } else if (done === "descriptor") {
      const isSingleSegment = (value & 0x20) !== 0;
      hasChecksum = (value & 0x4) !== 0;
      const sizeBytes = CONTENT_SIZE_BYTES[value >> 6] || (isSingleSegment ? 1 : 0);
      skip = (isSingleSegment ? 0 : 1) + (DICTIONARY_ID_BYTES[value & 0x3] ?? 0) + sizeBytes;
      step = "block";
    } else {
      const isLast = (value & 1) !== 0;
      skip = ((value >> 1) & 0x3) === RUN_LENGTH_BLOCK ? 1 : value >> 3;
      if (isLast && hasChecksum) skip += CHECKSUM_BYTES;
      if (isLast) step = "magic";
    }
  }
}

function bytesOf(step: Step): number {
  if (step === "descriptor") return 1;
  return step === "block" ? BLOCK_HEADER_BYTES : 4;
}

function numberIn(littleEndian: readonly number[]): number {
  return littleEndian.reduceRight((number, byte) => number * 256 + byte, 0);
}
