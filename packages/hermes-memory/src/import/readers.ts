// Every format that can be imported.
import { codex } from "./formats/codex.ts";
import { deepseek } from "./formats/deepseek.ts";
import { letta } from "./formats/letta.ts";
import { omp } from "./formats/omp.ts";
import { openclaw } from "./formats/openclaw.ts";
import { pi } from "./formats/pi.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [codex, openclaw, letta, omp, deepseek, pi];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
