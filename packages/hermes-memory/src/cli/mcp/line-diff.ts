// Two texts as a unified diff, for a dry run.

const CONTEXT = 2;
/** Lines that may differ on each side. Above it, everything from the first to the last difference is one change. */
const MOST_LINES = 2000;

type Line = { readonly mark: " " | "-" | "+"; readonly text: string };

/** `before` is undefined for a new file, `after` for one that is deleted. Empty when nothing changes. */
export function lineDiff(path: string, before: string | undefined, after: string | undefined): string[] {
  if (before === after) return [];
  const lines = marked(linesOf(before ?? ""), linesOf(after ?? ""));
  return [
    `--- ${before === undefined ? "/dev/null" : path}`,
    `+++ ${after === undefined ? "/dev/null" : path}`,
    ...hunksOf(lines),
  ];
}

function marked(old: readonly string[], next: readonly string[]): Line[] {
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start += 1;
  let same = 0;
  const rest = Math.min(old.length, next.length) - start;
  while (same < rest && old[old.length - 1 - same] === next[next.length - 1 - same]) same += 1;
  const kept = (text: string): Line => ({ mark: " ", text });
  return [
    ...old.slice(0, start).map(kept),
    ...changed(old.slice(start, old.length - same), next.slice(start, next.length - same)),
    ...old.slice(old.length - same).map(kept),
  ];
}

/** Keeps as many lines as possible: the longest common subsequence, from a table of lengths of the remaining lines. */
function changed(old: readonly string[], next: readonly string[]): Line[] {
  const removed = old.map((text): Line => ({ mark: "-", text }));
  const added = next.map((text): Line => ({ mark: "+", text }));
  if (old.length > MOST_LINES || next.length > MOST_LINES) return [...removed, ...added];
  const width = next.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row -= 1)
    for (let column = next.length - 1; column >= 0; column -= 1)
      common[row * width + column] =
        old[row] === next[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: Line[] = [];
  let row = 0;
  let column = 0;
  while (row < old.length || column < next.length) {
    const [gone, come] = [removed[row], added[column]];
    if (gone && come && gone.text === come.text) {
      lines.push({ mark: " ", text: gone.text });
      row += 1;
      column += 1;
    } else if (gone && (!come || at(row + 1, column) >= at(row, column + 1))) {
      lines.push(gone);
      row += 1;
    } else if (come) {
      lines.push(come);
      column += 1;
    }
  }
  return lines;
}

function hunksOf(lines: readonly Line[]): string[] {
  const isShown = lines.map((_line, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ mark }) => mark !== " "),
  );
  const texts: string[] = [];
  let [old, next] = [0, 0];
  for (let from = 0; from < lines.length; ) {
    let to = from;
    while (to < lines.length && isShown[to] === isShown[from]) to += 1;
    const part = lines.slice(from, to);
    const oldCount = part.filter(({ mark }) => mark !== "+").length;
    const nextCount = part.filter(({ mark }) => mark !== "-").length;
    if (isShown[from])
      texts.push(
        `@@ -${place(old, oldCount)} +${place(next, nextCount)} @@`,
        ...part.map(({ mark, text }) => mark + text),
      );
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

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replace(/\r$/, ""));
}
