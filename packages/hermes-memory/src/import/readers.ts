// Every format that can be imported.
import { geminiReader } from "./formats/gemini.ts";
import { gooseReader } from "./formats/goose.ts";
import { kiloReader } from "./formats/kilo.ts";
import { kimiReader } from "./formats/kimi.ts";
import { opencodeReader } from "./formats/opencode.ts";
import { qwenCodeReader } from "./formats/qwen-code.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [
  kiloReader, // before opencode, whose tables it shares: the name of the file tells them apart
  opencodeReader,
  geminiReader,
  qwenCodeReader,
  kimiReader,
  gooseReader,
];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
