// Which product wrote a file, by its content and not by its place.
import { type FileHandle, open, stat } from "node:fs/promises";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { jsonOf } from "./kit/values.ts";
import { filesBelow } from "./kit/walk.ts";
import type { Sample, TranscriptReader } from "./reader.ts";

const HEAD_BYTES = 64 * 1024;
/** The first line of a Codex file holds all instructions of the agent. */
const FIRST_LINE_BYTES = 4 * 1024 ** 2;
const NEWLINE = 0x0a;
/** Of a folder. */
const SAMPLED_FILES = 200;

/** Undefined when no reader knows it. For a folder: the product of the first file that one knows. */
export async function readerOf(
  path: string,
  readers: readonly TranscriptReader[],
  signal: AbortSignal,
): Promise<TranscriptReader | undefined> {
  if (!(await stat(path)).isDirectory()) return readerOfFile(path, readers);
  let sampled = 0;
  for await (const file of filesBelow(path, { file: () => true }, { signal, unreadable: () => {} })) {
    const found = await readerOfFile(file, readers).catch(() => undefined);
    if (found !== undefined) return found;
    sampled += 1;
    if (sampled >= SAMPLED_FILES) return undefined;
  }
  return undefined;
}

async function readerOfFile(
  path: string,
  readers: readonly TranscriptReader[],
): Promise<TranscriptReader | undefined> {
  const sample = await sampleOf(path);
  return readers.find((reader) => reader.recognises(sample));
}

export async function sampleOf(path: string): Promise<Sample> {
  await using file = await open(path, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  const head = buffer.subarray(0, bytesRead);
  const text = new TextDecoder().decode(head);
  const lines = bytesRead < HEAD_BYTES ? [text, ...text.split("\n")] : text.split("\n").slice(0, -1);
  for (const line of lines) {
    const value = jsonOf(line);
    if (isRecord(value) || Array.isArray(value)) return { path, head, first: value };
  }
  const isOneLine = bytesRead === HEAD_BYTES && !head.includes(NEWLINE);
  return { path, head, first: isOneLine ? await longFirstLine(file) : undefined };
}

async function longFirstLine(file: FileHandle): Promise<unknown> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_LINE_BYTES), 0, FIRST_LINE_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE);
  const value = end < 0 ? undefined : jsonOf(new TextDecoder().decode(buffer.subarray(0, end)));
  return isRecord(value) ? value : undefined;
}
