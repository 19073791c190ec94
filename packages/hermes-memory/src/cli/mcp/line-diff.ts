// Two texts as a unified diff, for a dry run.
import { diff } from "node:util";

const CONTEXT = 2;
const MARKS: Readonly<Record<string, string>> = { "0": " ", "1": "-", "-1": "+" };

/** `before` is undefined for a new file, `after` for one that is deleted. Empty when nothing changes. */
export function lineDiff(path: string, before: string | undefined, after: string | undefined): string[] {
  if (before === after) return [];
  // To `diff`, the lines of its first argument are the inserted ones; in this order it lists old lines before new ones.
  const lines = diff(linesOf(before), linesOf(after)).map(([kind, text]) => `${MARKS[kind]}${text}`);
  return [
    `--- ${before === undefined ? "/dev/null" : path}`,
    `+++ ${after === undefined ? "/dev/null" : path}`,
    ...hunksOf(lines),
  ];
}

function hunksOf(lines: readonly string[]): string[] {
  const isShown = lines.map((_line, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => !line.startsWith(" ")),
  );
  const texts: string[] = [];
  let [old, next] = [0, 0];
  for (let from = 0; from < lines.length; ) {
    let to = from;
    while (to < lines.length && isShown[to] === isShown[from]) to += 1;
    const part = lines.slice(from, to);
    const oldCount = part.filter((line) => !line.startsWith("+")).length;
    const nextCount = part.filter((line) => !line.startsWith("-")).length;
    if (isShown[from]) texts.push(`@@ -${place(old, oldCount)} +${place(next, nextCount)} @@`, ...part);
    old += oldCount;
    next += nextCount;
    from = to;
  }
  return texts;
}

/** Line numbers start at 1; an empty side names the line before it. */
function place(before: number, count: number): string {
  return `${before + (count === 0 ? 0 : 1)},${count}`;
}

function linesOf(text = ""): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
