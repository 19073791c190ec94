import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { fileChunks } from "../../../src/transcripts/kit/chunks.ts";
import { temporaryFolder } from "../import-suite.ts";

const PARTS = [Buffer.from("one\n"), Buffer.from("b".repeat(300_000)), Buffer.alloc(0), Buffer.from("end\n")];

async function unpacked(bytes: Buffer): Promise<string> {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "a.zst");
  await writeFile(path, bytes);
  const told = { signal: new AbortController().signal, advanced: () => {} };
  let text = "";
  for await (const chunk of fileChunks(path, told)) text += Buffer.from(chunk).toString();
  return text;
}

it("unpacks every frame of a compressed file", async () => {
  expect(await unpacked(Buffer.concat(PARTS.map((part) => zstdCompressSync(part))))).toBe(PARTS.join(""));
  expect(await unpacked(Buffer.alloc(0))).toBe("");
});

it("refuses a file that is cut short, and other data", async () => {
  await expect(unpacked(zstdCompressSync(Buffer.from("cut short")).subarray(0, -2))).rejects.toThrow();
  await expect(unpacked(Buffer.from("plain text"))).rejects.toThrow();
});
