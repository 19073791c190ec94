// Long texts inside the arguments of an old tool call, cut without breaking the JSON around them. Works on the text,
// because parsing and printing would change large numbers.
import { codePointLength, parseOutsideJson, takeCodePoints } from "../../lib/index.ts";

const LONG_ARGUMENTS = 500;
const LEAF_CHARS = 200;
const MARK = "...[truncated]";

/** The same text when it is short, no JSON, or has nothing to cut. */
export function shrinkArguments(argumentsText: string): string {
  if (argumentsText.length <= LONG_ARGUMENTS || codePointLength(argumentsText) <= LONG_ARGUMENTS)
    return argumentsText;
  if (!parseOutsideJson(argumentsText).ok) return argumentsText;
  const tokens = jsonTokens(argumentsText);
  const shrunk = tokens
    .map((token, index) => {
      if (token === "," || token === ":") return `${token} `;
      return token.startsWith('"') ? shrinkString(token, tokens[index + 1] === ":") : token;
    })
    .join("");
  return shrunk.length < argumentsText.length ? shrunk : argumentsText; // the blanks may cost more than the cuts save
}

function shrinkString(token: string, isKey: boolean): string {
  const value = JSON.parse(token) as string;
  const isLong = !isKey && codePointLength(value) > LEAF_CHARS;
  return JSON.stringify(isLong ? takeCodePoints(value, LEAF_CHARS) + MARK : value);
}

const PUNCTUATION = "[]{}:,";
const BLANKS = " \t\n\r";

/** Strings are walked by hand: a regular expression runs out of stack on megabytes of escapes. */
function jsonTokens(text: string): readonly string[] {
  const tokens: string[] = [];
  let at = 0;
  while (at < text.length) {
    const start = at;
    const character = text.charAt(at);
    at += 1;
    if (BLANKS.includes(character)) continue;
    if (character === '"') {
      while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
      at += 1;
    } else if (!PUNCTUATION.includes(character)) {
      while (at < text.length && !(PUNCTUATION + BLANKS).includes(text.charAt(at))) at += 1;
    }
    tokens.push(text.slice(start, at));
  }
  return tokens;
}
