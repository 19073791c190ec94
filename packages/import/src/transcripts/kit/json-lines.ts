// Records of a file with one JSON object per line, which may be compressed (`.zst`). Bad lines are reported and left out.
import { ByteLines, describeCause, isRecord } from "@hermes-memory/core/internal/lib";
import { isOptedOut } from "../injected.ts";
import type { Reading } from "../reader.ts";
import { fileChunks } from "./chunks.ts";
import { parsedJson } from "./values.ts";

const MAX_LINE_BYTES = 64 * 1024 ** 2;
const RETURN = 0x0d;

export type JsonLine = { readonly line: number; readonly value: Record<string, unknown> };
type Told = Pick<Reading, "signal" | "malformed" | "advanced" | "optedOut">;

/** Objects of a JSON lines file, up to the size the file has when it is opened. A last line still being written is left out. */
export async function* jsonLines(path: string, told: Told): AsyncGenerator<JsonLine> {
  for await (const { line, text, isLast } of textLines(path, told)) {
    if (text.trim() === "") continue;
    if (told.optedOut !== undefined && isOptedOut(text)) told.optedOut();
    let value: unknown;
    try {
      value = parsedJson(text);
    } catch (cause) {
      const isSyntax = cause instanceof SyntaxError;
      if (!isSyntax || !isLast) told.malformed(line, isSyntax ? "not valid JSON" : describeCause(cause));
      continue;
    }
    if (isRecord(value)) yield { line, value };
    else told.malformed(line, "not a JSON object");
  }
}

export type TextLine = {
  readonly line: number;
  readonly text: string;
  /** The file ends here without a newline, so a program may still be writing this line. */
  readonly isLast: boolean;
};

/** Lines of a text file, up to the size the file has when it is opened. Invalid UTF-8 is decoded with replacement characters. */
export async function* textLines(path: string, told: Told): AsyncGenerator<TextLine> {
  const lines = new ByteLines(MAX_LINE_BYTES);
  const decoder = new TextDecoder(); // drops a byte order mark
  let line = 0;
  function* next(found: ReturnType<ByteLines["end"]>, isLast: boolean): Generator<TextLine> {
    if (found === undefined) return;
    line += 1;
    if (found.kind === "too_long")
      return told.malformed(line, `longer than ${MAX_LINE_BYTES / 1024 ** 2} MiB`);
    const { bytes } = found;
    yield { line, text: decoder.decode(bytes.at(-1) === RETURN ? bytes.subarray(0, -1) : bytes), isLast };
  }
  for await (const chunk of fileChunks(path, told))
    for (const found of lines.push(chunk)) yield* next(found, false);
  yield* next(lines.end(), true);
}
