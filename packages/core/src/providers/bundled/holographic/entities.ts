// Which names a text mentions, by the rules of the Python original: capitalised phrases, quoted texts, `X aka Y`.
import { pyStrip } from "../../../lib/index.ts";
import { SPACE, WORD } from "./words.ts";

export type Mentions = {
  /** In the order of the rules, first spelling of each. */
  readonly names: readonly string[];
  /** Two names of one thing; the first is among `names`, the second is not. */
  readonly aliases: readonly { readonly name: string; readonly alias: string }[];
};

export const CAPITALISED = new RegExp(
  `(?<![${WORD}])[A-Z][a-z]+(?:[${SPACE}]+[A-Z][a-z]+)+(?![${WORD}])`,
  "gu",
);
export const DOUBLE_QUOTED = /"([^"]+)"/g;
const SINGLE_QUOTED = /'([^']+)'/g;
const WORD_RUN = new RegExp(`[${WORD}${SPACE}]+`, "gu");
const WORDS = new RegExp(`[${WORD}]+`, "gu");

export function referenceMentions(text: string): Mentions {
  const names = [
    ...[...text.matchAll(CAPITALISED)].map(([phrase]) => phrase),
    ...[...text.matchAll(DOUBLE_QUOTED)].map(([, inner = ""]) => inner),
    ...[...text.matchAll(SINGLE_QUOTED)].map(([, inner = ""]) => inner),
    ...[...text.matchAll(WORD_RUN)].flatMap(([run]) => splitAtAka(run)),
  ];
  return { names: distinctNames(names), aliases: [] };
}

/** Trimmed, none empty, each once whatever its case. */
export function distinctNames(names: readonly string[]): string[] {
  const first = new Map<string, string>();
  for (const name of names.map(pyStrip)) {
    if (name !== "" && !first.has(name.toLowerCase())) first.set(name.toLowerCase(), name);
  }
  return [...first.values()];
}

// Everything before the last `aka` that has something behind it, and everything after. One look at each word: the
// original's expression takes seconds for a long text.
function splitAtAka(run: string): string[] {
  const words = [...run.matchAll(WORDS)].map((match) => ({
    text: match[0].toLowerCase(),
    start: match.index,
    end: match.index + match[0].length,
  }));
  for (let i = words.length - 2; i >= 1; i -= 1) {
    const last = words[i]?.text === "aka" ? i : isAlsoKnownAs(run, words, i) ? i + 2 : undefined;
    const before = words[i - 1];
    const after = last === undefined ? undefined : words[last + 1];
    if (before && after) return [run.slice(words[0]?.start, before.end), run.slice(after.start)];
  }
  return [];
}

type Word = { readonly text: string; readonly start: number; readonly end: number };

function isAlsoKnownAs(run: string, words: readonly Word[], at: number): boolean {
  const first = words[at];
  const last = words[at + 2];
  if (first?.text !== "also" || last === undefined) return false;
  return run.slice(first.start, last.end).toLowerCase() === "also known as";
}
