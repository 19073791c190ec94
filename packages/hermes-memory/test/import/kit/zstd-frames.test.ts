// Files of several zstd frames are unpacked whole.
import { constants, createZstdDecompress, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import { transformed } from "../../../src/import/kit/chunks.ts";
import { cutAtFrames } from "../../../src/import/kit/zstd-frames.ts";

async function* split(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}
async function whole(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const chunk of chunks) found.push(chunk);
  return Buffer.concat(found);
}
const SKIPPABLE = Buffer.from([0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7]);

it("gives every frame, however the bytes are split", async () => {
  const text = fc.oneof(fc.string(), fc.constant("x".repeat(300_000)), fc.constant(""));
  const frame = fc.tuple(text, fc.boolean()).map(([value, hasChecksum]) => ({
    value,
    bytes: zstdCompressSync(value, { params: { [constants.ZSTD_c_checksumFlag]: hasChecksum ? 1 : 0 } }),
  }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(frame, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 60 }),
      fc.boolean(),
      async (frames, size, hasSkippable) => {
        const bytes = Buffer.concat(
          frames.flatMap((one) => (hasSkippable ? [SKIPPABLE, one.bytes] : [one.bytes])),
        );
        const unpacked = await whole(transformed(cutAtFrames(split(bytes, size)), createZstdDecompress()));
        expect(unpacked.toString()).toBe(frames.map(({ value }) => value).join(""));
      },
    ),
    { numRuns: 60 },
  );
});

it("passes other bytes on", async () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(bytes, fc.integer({ min: 1, max: 60 }), async (value, size) => {
      expect(await whole(cutAtFrames(split(value, size)))).toEqual(Buffer.from(value));
    }),
    { numRuns: 60 },
  );
});
