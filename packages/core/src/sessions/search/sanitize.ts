// The query as the original hands it to FTS5. Word and blank mean what they mean in Python.
import { pyStrip } from "../../lib/index.ts";

const QUOTED = /"[^"]*"/g;
const SYNTAX = /[+{}():"^]/g;
const STARS = /\*+/g;
const LOOSE_STAR = /(^|[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])\*/g;
const OPERATOR = /^(?:and|or|not)$/i;
const LEADING_WORD = /^[\p{L}\p{N}_]+/u;
// A chain of words is one match, so no character is looked at twice. Quotes are the places of phrases.
const PHRASE_OR_CHAIN = /"|[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*/gu;

/** What comes out is not always something FTS5 accepts; `parseQuery` is for what has to be found. */
export function sanitizeFtsQuery(query: string): string {
  if (typeof query !== "string") return ""; // callers without types
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

/** One in front and one behind; both may be in any case. */
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

/** An underscore joins when there is a letter, or another underscore, on both sides of it. */
function isJointed(chain: string): boolean {
  if (/[.-]/.test(chain)) return true;
  const at = chain.indexOf("_", chain.startsWith("_") ? 1 : 0);
  return at > 0 && at < chain.length - 1;
}
