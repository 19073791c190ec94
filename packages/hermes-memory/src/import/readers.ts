// Every format that can be imported.
import { amp } from "./formats/amp.ts";
import { cline } from "./formats/cline.ts";
import { continueDev } from "./formats/continue.ts";
import { cursor } from "./formats/cursor.ts";
import { kiloLegacy } from "./formats/kilo-legacy.ts";
import { roo } from "./formats/roo.ts";
import { warp } from "./formats/warp.ts";
import { zed } from "./formats/zed.ts";
import type { TranscriptReader } from "./reader.ts";

/** In the order in which `--from auto` looks for them and in which an unknown file is tried. */
export const READERS: readonly TranscriptReader[] = [
  cursor,
  cline,
  roo,
  kiloLegacy,
  continueDev,
  zed,
  amp,
  warp,
];

export function readerNamed(source: string): TranscriptReader | undefined {
  return READERS.find((reader) => reader.source === source);
}
