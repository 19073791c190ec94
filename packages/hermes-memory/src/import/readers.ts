// Every format that can be imported.
import { claudeCode } from "./formats/claude-code.ts";
import { droid } from "./formats/droid.ts";
import { grok } from "./formats/grok.ts";
import { hermes } from "./formats/hermes.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [claudeCode, hermes, droid, grok];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
