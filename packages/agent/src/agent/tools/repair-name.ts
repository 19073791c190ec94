// The tool a model means when it writes a name that does not exist: `SessionSearch`, `memory_tool`, `todo"<arg`, `memmory`. It
// never guesses between owners: what could be a tool of one or of another is nobody's.
import { foldName, pyStrip } from "@hermes-memory/core/lib";

/** `owner`: whose code runs. */
export type NamedTool = { readonly name: string; readonly owner: string };

const CUTOFF = 0.7;
/** Longer than any tool's name can be; comparing takes time that grows with it. */
const MOST_CHARS = 128;
/** Servers of one kind have tools whose names differ in the server's name alone. */
const SERVER_TOOL = /^mcp_/i;

/** `foreign`: spellings of tools that are not here; whoever writes one means no other. */
export function repairName(
  asked: string,
  tools: readonly NamedTool[],
  foreign: ReadonlySet<string>,
): string | undefined {
  const head = pyStrip(asked.replace(/^[\s"'`<]+/, "").replace(/["'`<>].*$/s, ""));
  if (head === "" || head.length > MOST_CHARS || foreign.has(head)) return undefined;
  const spellings = [...new Set([normal(head), snake(head)])];
  for (const spelling of spellings)
    for (const form of [spelling, ...withoutSuffix(spelling)]) {
      const alike = tools.filter(({ name }) => foldName(name) === foldName(form));
      if (alike.length > 0) return theOne(alike, form);
    }
  return SERVER_TOOL.test(head) ? undefined : closest(spellings, tools);
}

/** Of tools whose names read alike: the only one, or of one owner's the one spelled like that. */
function theOne(alike: readonly NamedTool[], form: string): string | undefined {
  const meant = alike.length === 1 ? alike : alike.filter(({ name }) => normal(name) === form);
  return meant.length === 1 && isOfOneOwner(alike) ? meant[0]?.name : undefined;
}

function isOfOneOwner(tools: readonly NamedTool[]): boolean {
  return new Set(tools.map(({ owner }) => owner)).size === 1;
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

/** A slip of the pen: as many words, most of the letters, and nobody else's tool is as close. */
function closest(spellings: readonly string[], tools: readonly NamedTool[]): string | undefined {
  const close = tools.flatMap((tool) => {
    if (SERVER_TOOL.test(tool.name)) return [];
    const known = normal(tool.name);
    const words = spellings.filter((spelling) => wordCount(spelling) === wordCount(known));
    const score = Math.max(0, ...words.map((word) => similarity(known, word)));
    return score >= CUTOFF ? [{ ...tool, score }] : [];
  });
  if (!isOfOneOwner(close)) return undefined;
  return close.reduce((best, next) => (next.score > best.score ? next : best)).name;
}

/** `memory_delete` is not `memory` with a slip. */
function wordCount(name: string): number {
  return name.split("_").filter((word) => word !== "").length;
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
