// The lines that differ, with a little of what stands around them. One hunk from the first difference to the last. Pure.
const AROUND = 3;

export function lineDiff(before: string, after: string): readonly string[] {
  const old = linesOf(before);
  const fresh = linesOf(after);
  let top = 0;
  while (top < old.length && top < fresh.length && old[top] === fresh[top]) top += 1;
  let bottom = 0;
  const most = Math.min(old.length, fresh.length) - top;
  while (bottom < most && old.at(-1 - bottom) === fresh.at(-1 - bottom)) bottom += 1;
  const gone = old.slice(top, old.length - bottom);
  const come = fresh.slice(top, fresh.length - bottom);
  if (gone.length === 0 && come.length === 0) return [];
  const start = Math.max(0, top - AROUND);
  return [
    `@@ line ${top + 1} @@`,
    ...old.slice(start, top).map((line) => ` ${line}`),
    ...gone.map((line) => `-${line}`),
    ...come.map((line) => `+${line}`),
    ...old.slice(old.length - bottom, old.length - bottom + AROUND).map((line) => ` ${line}`),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}
