// The table of an agent's tools. Also finds the tool for a name that a model misspelled.
import { pyStrip } from "../lib/index.ts";
import { foldName } from "./names.ts";
import { definitionOf, isSameOwner, type Tool, type ToolDefinition } from "./tool.ts";

/** A tool that is not in the table because an earlier one has the same name, or an earlier one of another owner a similar name. */
export type LeftOutTool = {
  readonly tool: Tool;
  readonly reason: "same-name" | "reads-alike";
  readonly kept: Tool;
};

/** The tools of a conversation by name. Finds the tool that a misspelled call means, and lists tools that were left out. */
export class ToolTable {
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #definitions: readonly ToolDefinition[];
  /** Sorted, for messages. */
  readonly names: readonly string[];
  readonly leftOut: readonly LeftOutTool[];
  /** Names of tools that are not in the table, which must not be repaired to another tool's name. */
  readonly #foreign: ReadonlySet<string>;
  readonly #refused: readonly string[];

  /**
   * The first of two tools with the same name wins, also the first of two similar names of different owners. `refused`: names of
   * plugin tools that were refused; a model that writes one means that tool, so it is not repaired to another.
   */
  constructor(tools: readonly Tool[], { refused = [] }: { readonly refused?: Iterable<string> } = {}) {
    const byName = new Map<string, Tool>();
    const byFold = new Map<string, Tool>();
    const leftOut: LeftOutTool[] = [];
    for (const tool of tools) {
      const folded = foldName(tool.name);
      const same = byName.get(tool.name);
      const alike = byFold.get(folded);
      if (same !== undefined) leftOut.push({ tool, reason: "same-name", kept: same });
      else if (alike !== undefined && !isSameOwner(alike.owner, tool.owner))
        leftOut.push({ tool, reason: "reads-alike", kept: alike });
      else {
        byName.set(tool.name, tool);
        if (alike === undefined) byFold.set(folded, tool);
      }
    }
    this.leftOut = leftOut;
    this.#tools = byName;
    const elsewhere = leftOut.filter(({ reason }) => reason === "reads-alike").map(({ tool }) => tool.name);
    this.#refused = [...refused];
    this.#foreign = new Set([...this.#refused, ...elsewhere]);
    this.names = [...byName.keys()].sort();
    this.#definitions = [...byName.values()].map(definitionOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** A table with more tools, for instance of one request, and without the own ones named. Those that are here win. */
  with(more: readonly Tool[], without: readonly string[] = []): ToolTable {
    const kept = this.tools.filter(({ name }) => !without.includes(name));
    return new ToolTable([...kept, ...more], { refused: this.#refused });
  }

  get tools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** For requests. Sorted by name, so that the same tools give the same bytes in any order of adding. */
  definitions(): readonly ToolDefinition[] {
    return this.#definitions;
  }

  /** The exact or repaired name, or undefined if no name is close enough. */
  resolveName(name: string): string | undefined {
    return this.#tools.has(name) ? name : repairName(name, this.tools, this.#foreign);
  }
}

const CUTOFF = 0.7;
/** Longer than any tool name; the comparison below takes quadratic time. */
const MOST_CHARS = 128;
/** MCP servers of one kind have tools whose names differ only in the server's name. */
const SERVER_TOOL = /^mcp_/i;

/**
 * Finds the tool for a name that does not exist: `SessionSearch`, `memory_tool`, `todo"<arg`, `memmory`. A name that could mean
 * tools of two owners resolves to none, and so does one in `foreign`.
 */
function repairName(asked: string, tools: readonly Tool[], foreign: ReadonlySet<string>): string | undefined {
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

/** The only tool of the list, or, if all belong to one owner, the one with exactly this spelling. */
function theOne(alike: readonly Tool[], form: string): string | undefined {
  const meant = alike.length === 1 ? alike : alike.filter(({ name }) => normal(name) === form);
  return meant.length === 1 && isOfOneOwner(alike) ? meant[0]?.name : undefined;
}

function isOfOneOwner([first, ...others]: readonly Tool[]): boolean {
  return first !== undefined && others.every(({ owner }) => isSameOwner(owner, first.owner));
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

/** Removes `tool` at the end at most twice: `memory_tool`, `memorytool`, `memory_tool_tool`. */
function withoutSuffix(name: string): string[] {
  const forms: string[] = [];
  let rest = name;
  for (let round = 0; round < 2 && /[^_]_*tool$/.test(rest); round += 1) {
    rest = rest.replace(/_*tool$/, "");
    forms.push(rest);
  }
  return forms;
}

/** For typing mistakes: the same number of words, most letters equal, and no tool of another owner as close. */
function closest(spellings: readonly string[], tools: readonly Tool[]): string | undefined {
  const close = tools.flatMap((tool) => {
    if (SERVER_TOOL.test(tool.name)) return [];
    const known = normal(tool.name);
    const words = spellings.filter((spelling) => wordCount(spelling) === wordCount(known));
    const score = Math.max(0, ...words.map((word) => similarity(known, word)));
    return score >= CUTOFF ? [{ tool, score }] : [];
  });
  if (!isOfOneOwner(close.map(({ tool }) => tool))) return undefined;
  return close.reduce((best, next) => (next.score > best.score ? next : best)).tool.name;
}

/** `memory_delete` is not a misspelled `memory`. */
function wordCount(name: string): number {
  return name.split("_").filter((word) => word !== "").length;
}

/** 2 x matching characters / all characters, as Python's `difflib.SequenceMatcher.ratio`. */
function similarity(one: string, other: string): number {
  const total = one.length + other.length;
  return total === 0 ? 1 : (2 * matching(one, other)) / total;
}

/** The length of the longest common substring, plus the matches to its left and right. */
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
