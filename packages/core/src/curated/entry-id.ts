// The short name of an entry: a hash of its target and its text. The same text in the same target always has the same one.
import { sha256 } from "../lib/index.ts";
import type { MemoryTarget } from "./types.ts";

const ID_CHARS = 8;

export function entryId(target: MemoryTarget, text: string): string {
  return wholeId(target, text).slice(0, ID_CHARS);
}

/** One for each entry of a file. Two that begin alike are as long as it takes to tell them apart. */
export function entryIds(target: MemoryTarget, entries: readonly string[]): string[] {
  const whole = entries.map((text) => wholeId(target, text));
  for (let chars = ID_CHARS; chars < 64; chars += 4) {
    const ids = whole.map((id) => id.slice(0, chars));
    if (new Set(ids).size === new Set(whole).size) return ids;
  }
  return whole;
}

/** True for what could be an id, whether or not an entry has it. */
export function looksLikeId(text: string): boolean {
  return /^[0-9a-f]{8,64}$/.test(text);
}

export function hasId(target: MemoryTarget, text: string, id: string): boolean {
  return wholeId(target, text).startsWith(id);
}

function wholeId(target: MemoryTarget, text: string): string {
  return sha256(`${target}\0${text}`);
}
