import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { unpackedFrames } from "../../../src/transcripts/kit/zstd-frames.ts";

const PARTS = [Buffer.from("one\n"), Buffer.from("b".repeat(300_000)), Buffer.alloc(0), Buffer.from("end\n")];
const PACKED = PARTS.map((part) => zstdCompressSync(part));
const SKIPPABLE = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

async function unpacked(bytes: Buffer, step: number): Promise<string> {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step);
  }
  const found: Uint8Array[] = [];
  for await (const chunk of unpackedFrames(chunks())) found.push(chunk);
  return Buffer.concat(found).toString();
}

describe("zstd frames", () => {
  it.each([1, 7, 1_000_000])("reads every frame in chunks of %i bytes", async (step) => {
    const whole = Buffer.concat([...PACKED.slice(0, 2), SKIPPABLE, ...PACKED.slice(2)]);
    expect(await unpacked(whole, step)).toBe(Buffer.concat(PARTS).toString());
  });

  it("ends before a later frame that is still being written", async () => {
    const last = zstdCompressSync(Buffer.from("not yet complete"));
    const whole = Buffer.concat([PACKED[0] ?? last, last.subarray(0, -3)]);
    expect(await unpacked(whole, 100)).toBe("one\n");
  });

  it("refuses a first frame that is cut short, and other data", async () => {
    await expect(unpacked(zstdCompressSync(Buffer.from("cut short")).subarray(0, -2), 100)).rejects.toThrow();
    await expect(unpacked(Buffer.from("plain text"), 100)).rejects.toThrow("not a zstd file");
    expect(await unpacked(Buffer.alloc(0), 100)).toBe("");
  });
});
