// The tool a model means when it writes a name that does not exist: `SessionSearch`, `memory_tool`, `todo"<arg`, `memmory`.
import { pyStrip } from "../../lib/index.ts";

const CUTOFF = 0.7;
/** Longer than any tool's name can be; comparing takes time that grows with it. */
const MOST_CHARS = 128;

export function repairName(asked: string, names: readonly string[]): string | undefined {
  const known = new Map<string, string>();
  for (const name of names) if (!known.has(normal(name))) known.set(normal(name), name);
  const head = pyStrip(asked.replace(/^[\s"'`<]+/, "").replace(/["'`<>].*$/s, ""));
  if (head === "" || head.length > MOST_CHARS) return undefined;
  const spellings = [normal(head), snake(head)];
  for (const spelling of spellings) {
    for (const form of [spelling, ...withoutSuffix(spelling)]) {
      const name = known.get(form);
      if (name !== undefined) return name;
    }
  }
  const close = closest(spellings, [...known.keys()]);
  return close === undefined ? undefined : known.get(close);
}

function normal(name: string): string {
  return name.toLowerCase().replace(/[-\s]/g, "_");
}

function snake(name: string): string {
  return normal(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")).replace(
    /_{2,}/g,
    "_",
  );
}

/** `memory_tool`, `memorytool`, `memory_tool_tool`: the word comes off twice at most. */
function withoutSuffix(name: string): string[] {
  const forms: string[] = [];
  let rest = name;
  for (let round = 0; round < 2 && /[^_]_*tool$/.test(rest); round += 1) {
    rest = rest.replace(/_*tool$/, "");
    forms.push(rest);
  }
  return forms;
}

function closest(words: readonly string[], candidates: readonly string[]): string | undefined {
  let best: { readonly candidate: string; readonly score: number } | undefined;
  for (const candidate of candidates) {
    const score = Math.max(...words.map((word) => similarity(candidate, word)));
    if (score >= CUTOFF && (best === undefined || score > best.score)) best = { candidate, score };
  }
  return best?.candidate;
}

/** Twice the matching characters over all characters, as Python's `difflib` counts them. */
function similarity(one: string, other: string): number {
  const total = one.length + other.length;
  return total === 0 ? 1 : (2 * matching(one, other)) / total;
}

/** The longest common run, and what matches to its left and right. */
function matching(one: string, other: string): number {
  let [length, startOne, startOther] = [0, 0, 0];
  let runs: number[] = [];
  for (let i = 0; i < one.length; i += 1) {
    const next: number[] = [];
    for (let j = 0; j < other.length; j += 1) {
      if (one[i] !== other[j]) continue;
      const run = (runs[j - 1] ?? 0) + 1;
      next[j] = run;
      if (run > length) [length, startOne, startOther] = [run, i - run + 1, j - run + 1];
    }
    runs = next;
  }
  if (length === 0) return 0;
  return (
    length +
    matching(one.slice(0, startOne), other.slice(0, startOther)) +
    matching(one.slice(startOne + length), other.slice(startOther + length))
  );
}
