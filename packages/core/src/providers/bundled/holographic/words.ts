// How texts fall into words, by Python's rules: its whitespace, its word characters, and two sets of marks to strip.

/** Python's whitespace and word characters, for use inside a character class of a `u` or `v` expression. */
export const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
export const WORD = "\\p{L}\\p{N}_";

const SPACES = new RegExp(`[${SPACE}]+`, "u");
const VECTOR_MARKS = new Set(".,!?;:\"'()[]{}");
const MATCH_MARKS = new Set(".,;:!?\"'()[]{}#@<>");

/** What a vector is made of: lower-case words without the marks around them, repeated ones repeatedly. */
export function vectorWords(text: string): string[] {
  return strippedWords(text, VECTOR_MARKS);
}

/** What a query and a fact are compared by. Tags are one text, so `rust,backend` is one word. */
export function matchWords(text: string): string[] {
  return strippedWords(text, MATCH_MARKS);
}

/** Shared words as a share of all words; 0 when either side has none. */
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
