// The difference of two texts, for a dry run.
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

/** The changed lines with their neighbours, and `@@` where lines are left out. */
function hunksOf(lines: readonly string[]): string[] {
  const isShown = lines.map((_line, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => !line.startsWith(" ")),
  );
  return lines.flatMap((line, at) => (isShown[at] ? [line] : isShown[at + 1] ? ["@@"] : []));
}

function linesOf(text = ""): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
