// Every format that can be imported.
import { cline } from "./formats/cline.ts";
import { kiloLegacy } from "./formats/kilo-legacy.ts";
import { roo } from "./formats/roo.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [cline, roo, kiloLegacy];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
