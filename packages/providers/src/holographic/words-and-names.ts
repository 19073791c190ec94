// The words of a text, by Python's rules for whitespace and word characters, and the names that a text mentions. Pure.
import { pyStrip } from "@hermes-memory/core/internal/lib";

/** Python's whitespace and word characters, for use inside a character class of a `u` or `v` expression. */
export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
export const WORD = "\\p{L}\\p{N}_";

const SPACES = new RegExp(`[${SPACE}]+`, "u");
const VECTOR_MARKS = new Set(".,!?;:\"'()[]{}");
const MATCH_MARKS = new Set(".,;:!?\"'()[]{}#@<>");

/** The words that a vector is made of: in lower case, without punctuation around them, repeated ones each time. */
export function vectorWords(text: string): string[] {
  return strippedWords(text, VECTOR_MARKS);
}

/** The words that queries and facts are compared by. Tags are one text, so `rust,backend` is one word. */
export function matchWords(text: string): string[] {
  return strippedWords(text, MATCH_MARKS);
}

/** Shared words divided by all words; 0 when either side has none. */
export function jaccard(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0;
  let shared = 0;
  for (const word of one) if (other.has(word)) shared += 1;
  return shared / (one.size + other.size - shared);
}

function splitWords(text: string): string[] {
  return text.split(SPACES).filter((word) => word !== "");
}

function strippedWords(text: string, marks: ReadonlySet<string>): string[] {
  return splitWords(text.toLowerCase())
    .map((word) => strip(word, marks))
    .filter((word) => word !== "");
}

function strip(word: string, marks: ReadonlySet<string>): string {
  let start = 0;
  let end = word.length;
  while (start < end && marks.has(word.charAt(start))) start += 1;
  while (end > start && marks.has(word.charAt(end - 1))) end -= 1;
  return word.slice(start, end);
}

// ---- Names, by the rules of the Python original: capitalised phrases, quoted texts, `X aka Y` ----

export type Mentions = {
  /** In the order of the rules, in the first spelling of each. */
  readonly names: readonly string[];
  /** Two names of one entity; only the first is among `names`. */
  readonly aliases: readonly { readonly name: string; readonly alias: string }[];
};

const CAPITALISED = new RegExp(`(?<![${WORD}])[A-Z][a-z]+(?:[${SPACE}]+[A-Z][a-z]+)+(?![${WORD}])`, "gu");
const DOUBLE_QUOTED = /"([^"]+)"/g;
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

/** Trimmed, not empty, each once regardless of case. */
function distinctNames(names: readonly string[]): string[] {
  const first = new Map<string, string>();
  for (const name of names.map(pyStrip)) {
    if (name !== "" && !first.has(name.toLowerCase())) first.set(name.toLowerCase(), name);
  }
  return [...first.values()];
}

// The texts before and after the last `aka` that has words on both sides. Each word is examined once: the regular expression of the Python
// original takes seconds for a long text.
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

// ---- Names under `scoring: structural` ----
//
// Unlike in the Python original, an apostrophe is not a quote, and `X aka Y` gives one entity with two names instead of two entities, the
// second of which would extend to the end of the clause.

/** A quote does not open after a word character and does not close before one; inside a word it is an apostrophe. */
const QUOTED_INNER = `(?:[^'\\n]|(?<=[${WORD}])'(?=[${WORD}]))+?`;
const QUOTED_NAME = new RegExp(
  `(?<![${WORD}])'(?![${SPACE}])(${QUOTED_INNER})(?<![${SPACE}])'(?![${WORD}])`,
  "gu",
);

const AKA = new RegExp(`(?<![${WORD}])(?:aka|also[${SPACE}]+known[${SPACE}]+as)(?![${WORD}])`, "giu");
const CAPITAL_WORDS = `\\p{Lu}[${WORD}-]*(?:[${SPACE}]+\\p{Lu}[${WORD}-]*)*`;
const NAME_BEFORE = new RegExp(`(?:"([^"]+)"|(${CAPITAL_WORDS})|([${WORD}-]+))[${SPACE},(]+$`, "u");
const NAME_AFTER = new RegExp(
  `^[${SPACE}]+(?:"([^"]+)"|(?:(?:the|a|an)[${SPACE}]+)?(${CAPITAL_WORDS})|(?!(?:the|a|an)[${SPACE}])([${WORD}-]+))`,
  "u",
);
/** Most characters examined before and after each `aka`. */
const REACH = 120;

export function improvedMentions(text: string): Mentions {
  const found = akaNames(text);
  const aliases = found.flatMap(({ name, alias }) => (alias === undefined ? [] : [{ name, alias }]));
  const isAlias = new Set(aliases.map(({ alias }) => alias.toLowerCase()));
  const names = distinctNames([
    ...[...text.matchAll(CAPITALISED)].map(([phrase]) => phrase),
    ...[...text.matchAll(DOUBLE_QUOTED)].map(([, inner = ""]) => inner),
    ...[...text.matchAll(QUOTED_NAME)].map(([, inner = ""]) => inner),
    ...found.map(({ name }) => name),
  ]);
  return { names: names.filter((name) => !isAlias.has(name.toLowerCase())), aliases };
}

type AkaNames = { readonly name: string; readonly alias: string | undefined };

function akaNames(text: string): AkaNames[] {
  const mainName = new Map<string, string>();
  return [...text.matchAll(AKA)].flatMap((keyword): AkaNames[] => {
    const end = keyword.index + keyword[0].length;
    const before = firstGroup(
      NAME_BEFORE.exec(text.slice(Math.max(0, keyword.index - REACH), keyword.index)),
    );
    const alias = usableAlias(firstGroup(NAME_AFTER.exec(text.slice(end, end + REACH))));
    if (before === undefined) return [];
    // `A aka B aka C`: B is an alias of A, so C is an alias of A too.
    const name = mainName.get(before.toLowerCase()) ?? before;
    if (alias === undefined || alias.toLowerCase() === name.toLowerCase())
      return [{ name, alias: undefined }];
    mainName.set(alias.toLowerCase(), name);
    return [{ name, alias }];
  });
}

/** Aliases are stored as one text with commas between them. */
function usableAlias(alias: string | undefined): string | undefined {
  return alias?.includes(",") ? undefined : alias;
}

function firstGroup(match: RegExpExecArray | null): string | undefined {
  return distinctNames(match?.slice(1).filter((group) => group !== undefined) ?? [])[0];
}
