// Characters that show nothing and can carry or disguise instructions: zero-width ones and bidirectional controls.
import { isJoinerNeeded } from "./joiners.ts";
import type { Found } from "./matcher.ts";

const PREFIX = "invisible_unicode_";

const INVISIBLE: readonly number[] = [
  0x200b, 0x200c, 0x200d, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2062, 0x2063, 0x2064, 0x2066,
  0x2067, 0x2068, 0x2069, 0xfeff,
];
const LOWEST = 0x200b;
const HIGHEST_OF_BLOCK = 0x2069;
const BYTE_ORDER_MARK = 0xfeff;

export const INVISIBLE_IDS: readonly string[] = INVISIBLE.map((unit) => `${PREFIX}${hexName(unit)}`);

/** `U+200B` of `invisible_unicode_U+200B`; nothing for the id of a pattern. */
export function invisibleName(id: string): string | undefined {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined;
}

/** The first blocked occurrence of each invisible character, ascending by code point. */
export function findInvisible(text: string): Found[] {
  const first = new Map<number, number>();
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < LOWEST || (unit > HIGHEST_OF_BLOCK && unit !== BYTE_ORDER_MARK)) continue;
    if (!INVISIBLE.includes(unit) || first.has(unit)) continue;
    if (!(isJoiner(unit) && isJoinerNeeded(text, i))) first.set(unit, i);
  }
  return [...first]
    .sort(([a], [b]) => a - b)
    .map(([unit, start]) => ({ id: `${PREFIX}${hexName(unit)}`, start, end: start + 1 }));
}

function isJoiner(unit: number): boolean {
  return unit === 0x200c || unit === 0x200d;
}

function hexName(unit: number): string {
  return `U+${unit.toString(16).toUpperCase().padStart(4, "0")}`;
}
