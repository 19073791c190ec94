// The query as Hermes Agent passes it to FTS5. Words and white space are defined as in Python.
import { pyStrip } from "../../lib/index.ts";

const QUOTED = /"[^"]*"/g;
const SYNTAX = /[+{}():"^]/g;
const STARS = /\*+/g;
const LOOSE_STAR = /(^|[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])\*/g;
const OPERATOR = /^(?:and|or|not)$/i;
const LEADING_WORD = /^[\p{L}\p{N}_]+/u;
// A chain of words is one match, so each character is read once. A quote marks the place of a phrase.
const PHRASE_OR_CHAIN = /"|[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/gu;

/** FTS5 does not accept every result. Use `parseQuery` for searching. */
export function sanitizeFtsQuery(query: string): string {
  if (typeof query !== "string") return ""; // untyped callers
  const phrases = query.match(QUOTED) ?? [];
  const bare = query
    .split(QUOTED)
    .map((part) => part.replace(SYNTAX, " "))
    .join('"')
    .replace(STARS, "*")
    .replace(LOOSE_STAR, "$1");
  let next = 0;
  const quoted = withoutOuterOperators(pyStrip(bare)).replace(PHRASE_OR_CHAIN, (match) => {
    if (match !== '"') return isJointed(match) ? `"${match}"` : match;
    next += 1;
    return phrases[next - 1] ?? "";
  });
  return pyStrip(quoted);
}

/** Removes one operator at the start and one at the end, in upper or lower case. */
function withoutOuterOperators(text: string): string {
  const first = LEADING_WORD.exec(text.slice(0, 5))?.[0] ?? "";
  const rest = OPERATOR.test(first) ? pyStrip(text.slice(first.length)) : text;
  for (const length of [2, 3]) {
    if (!OPERATOR.test(rest.slice(-length))) continue;
    const before = rest.slice(0, -length);
    const stripped = pyStrip(before);
    if (before.length > 0 && stripped.length < before.length) return stripped;
  }
  return rest;
}

/** An underscore joins words if a letter or another underscore is on both sides of it. */
function isJointed(chain: string): boolean {
  if (/[.-]/.test(chain)) return true;
  const at = chain.indexOf("_", chain.startsWith("_") ? 1 : 0);
  return at > 0 && at < chain.length - 1;
}
