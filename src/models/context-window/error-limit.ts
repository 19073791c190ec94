// The limit that a server states when it refuses a request as too long. Errors also speak of how long the request was, of
// output and of rates; a number is taken only where the words around it leave no doubt.
import { isPlausibleWindow } from "./fields.ts";

const NUMBER = String.raw`(\d{4,}|\d{1,3}(?:[,_]\d{3})+)`;
const UNIT = "(?:context|prompt|input|sequence|window|token)s?";

const PATTERNS: readonly RegExp[] = [
  // `n_ctx: 4096`, `"n_ctx": 4096`
  new RegExp(String.raw`\bn_ctx"?\s*[:=]?\s*${NUMBER}`),
  // `210000 tokens > 200000 maximum`, `188240 + 21333 > 200000`
  new RegExp(String.raw`\d\s*(?:tokens?\s*)?>=?\s*${NUMBER}`),
  // `length should be [1, 30720]`
  new RegExp(String.raw`(?:length|tokens?) should be \[\s*\d+\s*,\s*${NUMBER}\s*\]`),
  // `maximum context length is 8192`, `maximum number of tokens allowed (1048576)`, `context size (4096 tokens)`
  new RegExp(
    String.raw`(?:max(?:imum)?|available|allowed|supported|limit)[\w' -]{0,40}?\b${UNIT}[\w' -]{0,20}?(?:\s*(?:is|of|to|at)|\s*[:=(])?\s*${NUMBER}`,
  ),
  // `context length of 32768`, `context_length_exceeded: 131072`, `context window is 16384`
  new RegExp(
    String.raw`context[ _-]?(?:length|size|window|limit)(?:[ _]exceeded)?\s*(?:is|of|to|:|=|\()?\s*${NUMBER}`,
  ),
  // `exceeds the limit of 128000`, `the configured limit of 272,000`. A bare `limit (2013)` is an error's code.
  new RegExp(String.raw`\blimit(?:ed)?\s*(?:is|of|to|:)\s*${NUMBER}`),
  // `32768 maximum context length`, `8192-token context window`, `200000 max`
  new RegExp(String.raw`${NUMBER}[\s-]*(?:tokens?\s*)?(?:max(?:imum)?\b|limit\b|context\b)`),
];

/** Some servers send the whole request back. */
const MOST_CHARS = 20_000;

const RATE = /\b(?:tpm|tpd|rpm|rpd)\b|per[ -](?:second|minute|min|hour|day)|rate.?limit|quota/;
const OUTPUT = /output tokens?|completion tokens?|max_(?:completion_|output_|new_)?tokens/;
const INPUT = /context|prompt|input|too long/;

/** Tokens; with `currentWindow` only what is less. Undefined when the text states no limit of the whole window. */
export function limitFromError(
  errorText: string,
  currentWindow = Number.POSITIVE_INFINITY,
): number | undefined {
  const text = errorText.slice(0, MOST_CHARS).toLowerCase();
  if (RATE.test(text) || (OUTPUT.test(text) && !INPUT.test(text))) return undefined;
  for (const pattern of PATTERNS) {
    const digits = pattern.exec(text)?.[1];
    const limit = Number(digits?.replace(/[,_]/g, ""));
    if (isPlausibleWindow(limit)) return limit < currentWindow ? limit : undefined;
  }
  return undefined;
}
