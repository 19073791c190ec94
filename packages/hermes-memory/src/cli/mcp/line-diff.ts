// What an edit changes, in the form everybody knows from diff. Our edits are in one place, so one piece shows them.

const CONTEXT = 2;

export function lineDiff(path: string, before: string | undefined, after: string): string[] {
  if (before === after) return [];
  const old = linesOf(before ?? "");
  const next = linesOf(after);
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let same = 0;
  while (
    same < Math.min(old.length, next.length) - start &&
    old[old.length - 1 - same] === next[next.length - 1 - same]
  )
    same += 1;
  const from = Math.max(0, start - CONTEXT);
  const tail = old.slice(old.length - same).slice(0, CONTEXT);
  const removed = old.slice(start, old.length - same);
  const added = next.slice(start, next.length - same);
  const lead = old.slice(from, start);
  const size = (count: number): string => `${from + (count === 0 ? 0 : 1)},${count}`;
  const oldSize = lead.length + removed.length + tail.length;
  const nextSize = lead.length + added.length + tail.length;
  return [
    `--- ${before === undefined ? "/dev/null" : path}`,
    `+++ ${path}`,
    `@@ -${size(oldSize)} +${size(nextSize)} @@`,
    ...lead.map((line) => ` ${line}`),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...tail.map((line) => ` ${line}`),
  ];
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replace(/\r$/, ""));
}
