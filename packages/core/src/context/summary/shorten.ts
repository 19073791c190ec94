// Makes texts shorter so that every part keeps something: short parts stay whole, long ones give up their middle.
import { codePointLength, takeCodePoints } from "../../lib/index.ts";

const MARK = "\n...[shortened]...\n";
const HEAD_SHARE = 0.7;

/** The size to which the larger ones have to come down so that all together fit into `total`. */
export function fairLimit(sizes: readonly number[], total: number): number {
  let left = Math.max(0, total);
  const ascending = [...sizes].sort((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return ascending.at(-1) ?? 0;
}

/** Cuts the longest sections (lines that begin with `#` start one) until the text has at most `limit` code points. */
export function shortenSections(text: string, limit: number): string {
  if (codePointLength(text) <= limit) return text;
  const sections = text.split(/\n(?=#{1,3} )/);
  const most = fairLimit(sections.map(codePointLength), limit - (sections.length - 1));
  // With more sections than room, whatever the shares are, the whole still has to fit.
  return takeCodePoints(sections.map((section) => cutMiddle(section, most)).join("\n"), Math.max(0, limit));
}

/** At most `limit` code points: the beginning, a mark, the end. */
export function cutMiddle(text: string, limit: number): string {
  if (codePointLength(text) <= limit) return text;
  const room = limit - MARK.length;
  if (room < MARK.length) return takeCodePoints(text, Math.max(0, limit));
  const head = Math.ceil(room * HEAD_SHARE);
  return takeCodePoints(text, head) + MARK + lastCodePoints(text, room - head);
}

export function lastCodePoints(text: string, count: number): string {
  if (count <= 0) return "";
  // Twice as many units hold enough code points, and a pair cut in front is dropped with the surplus.
  return Array.from(text.slice(-2 * count))
    .slice(-count)
    .join("");
}
