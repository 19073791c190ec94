// Which product wrote a file, by its content and not by its place.
import { type FileHandle, open, stat } from "node:fs/promises";
import { isRecord } from "@hermes-memory/core/internal/lib";
import { jsonOf } from "./kit/values.ts";
import { filesBelow } from "./kit/walk.ts";
import type { Sample, TranscriptReader } from "./reader.ts";

const HEAD_BYTES = 64 * 1024;
/** A file whose first line is longer, or that is one JSON value over many lines, is read up to here. */
const MAX_FIRST_BYTES = 16 * 1024 ** 2;
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
  const first = lines.map(jsonOf).find(isObject) ?? (isJson(text) ? await longFirst(file) : undefined);
  return { path, head, first: isObject(first) ? first : {} };
}

function isObject(value: unknown): value is Sample["first"] {
  return isRecord(value) || Array.isArray(value);
}

function isJson(head: string): boolean {
  return /^\s*[[{]/.test(head);
}

/** The first line where it is longer than the head, or the whole file where it is one JSON value. */
async function longFirst(file: FileHandle): Promise<unknown> {
  const { size } = await file.stat();
  if (size < HEAD_BYTES) return undefined;
  const length = Math.min(size, MAX_FIRST_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
  const bytes = buffer.subarray(0, bytesRead);
  const end = bytes.indexOf("\n");
  const value = jsonOf(new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytesRead : end)));
  return isObject(value) || size > length ? value : jsonOf(new TextDecoder().decode(bytes));
}
