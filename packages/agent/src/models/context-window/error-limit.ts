// The limit that a server states when it refuses a request as too long. Errors also contain the length of the request, output
// limits and rate limits, so a number counts only when the words around it are unambiguous. Pure.
import { isPlausibleWindow } from "../json-fields.ts";

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
  // `exceeds the limit of 128000`, `the configured limit of 272,000`. A bare `limit (2013)` is an error code.
  new RegExp(String.raw`\blimit(?:ed)?\s*(?:is|of|to|:)\s*${NUMBER}`),
  // `maximum is 65536`, `maximum model length of 4096`, `max: 32768`
  new RegExp(String.raw`\bmax(?:imum)?(?: (?:model|allowed))?(?: len(?:gth)?)?\s*(?:is|of|:)\s*${NUMBER}`),
  // `must be <= 4096`, `must have less than 4096 tokens`
  new RegExp(String.raw`\bmust (?:be|have)\s*(?:<=?|less than|at most|no more than)\s*${NUMBER}`),
  // `32768 maximum context length`, `8192-token context window`, `200000 max`
  new RegExp(String.raw`${NUMBER}[\s-]*(?:tokens?\s*)?(?:max(?:imum)?\b|limit\b|context\b)`),
];

/** Some servers repeat the whole request in their error. */
const MOST_CHARS = 20_000;

const RATE = /\b(?:tpm|tpd|rpm|rpd)\b|per[ -](?:second|minute|min|hour|day)|rate.?limit|quota/;
const OUTPUT = /output tokens?|completion tokens?|max_(?:completion_|output_|new_)?tokens/;
const INPUT = /context|prompt|input|too long/;

/** In tokens. Undefined when the text states no limit of the whole window, or one that is not below `currentWindow`. */
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

/** The size of a refused request as the server counted it. */
export type RequestCounts = {
  readonly promptTokens?: number;
  /** The tokens that the request reserved for the reply, if the server includes them. */
  readonly outputTokens?: number;
};

const SMALL_NUMBER = String.raw`(\d{1,3}(?:[,_]\d{3})+|\d+)`;

/** `69234 in the messages`, `2000 in the functions`, `35000 of text input`: parts of the prompt, added up. */
const PARTS = new RegExp(
  String.raw`${SMALL_NUMBER}(?: tokens)? (?:in|of) (?:the |your )?(?:messages|prompt|functions|tools|(?:text |tool |image )?input)\b`,
  "g",
);
/** `188240 + 21333 > 200000`: prompt and reply */
const SUM = new RegExp(String.raw`${NUMBER}\s*\+\s*${SMALL_NUMBER}\s*>`);
const OUTPUTS: readonly RegExp[] = [
  // `2000 in the completion`
  new RegExp(`${SMALL_NUMBER}(?: tokens)? in the (?:completion|output|response|reply)`),
  // "512 `max_new_tokens`"
  new RegExp(String.raw`${SMALL_NUMBER}\s*\W?max_new_tokens`),
];
const COUNTS: readonly RegExp[] = [
  // `"n_prompt_tokens": 9000`
  new RegExp(String.raw`\bn_prompt_tokens"?\s*[:=]?\s*${NUMBER}`),
  // `210000 tokens > 200000 maximum`
  new RegExp(String.raw`${NUMBER}\s*tokens?\s*>=?\s*\d`),
  // `input token count (1200000) exceeds`, `prompt token count of 130000`, `prompt (length 5000)`, `request (9000 tokens)`
  new RegExp(
    String.raw`\b(?:input|prompt|request)(?: tokens?)?(?: (?:count|length))?\s*(?:of|is|:)?\s*\(?(?:length )?${NUMBER}`,
  ),
  // `your messages resulted in 10240`, `the request contains 537812 tokens`, `your request has 5000 input tokens`
  new RegExp(
    String.raw`\b(?:messages|prompt|request|input)s?\s*(?:resulted in|contains?|has|have|is|was|with|of)\s*(?:about )?${NUMBER}`,
  ),
  // `Given: 5000`
  new RegExp(String.raw`\bgiven:?\s*${NUMBER}`),
  // `keep the first 5000 tokens when context the overflows`
  new RegExp(String.raw`\bfirst ${NUMBER} tokens when`),
  // `you requested about 71234 tokens`
  new RegExp(String.raw`\brequested (?:about )?${NUMBER}`),
];
/** `size limit exceeded by 1234 tokens` */
const SURPLUS = new RegExp(String.raw`exceed(?:s|ed|ing)?[^.\d]{0,60} by ${SMALL_NUMBER}`);

/** The counts of the request in the error. A count within the limit that the error states is ignored. */
export function countsFromError(errorText: string): RequestCounts {
  const text = errorText.slice(0, MOST_CHARS).toLowerCase();
  if (RATE.test(text)) return {};
  const sum = SUM.exec(text);
  const output = numberOf(sum?.[2] ?? OUTPUTS.map((pattern) => pattern.exec(text)?.[1]).find(Boolean));
  const limit = limitFromError(text);
  const surplus = numberOf(SURPLUS.exec(text)?.[1]);
  const prompt =
    numberOf(sum?.[1]) ??
    partsOfPrompt(text) ??
    COUNTS.map((pattern) => numberOf(pattern.exec(text)?.[1])).find(
      (count) => count !== undefined && count !== limit,
    ) ??
    (limit === undefined || surplus === undefined ? undefined : limit + surplus);
  const isSound = prompt !== undefined && (limit === undefined || prompt + (output ?? 0) >= limit);
  return { promptTokens: isSound ? prompt : undefined, outputTokens: output };
}

function partsOfPrompt(text: string): number | undefined {
  const parts = Array.from(text.matchAll(PARTS), ([, digits]) => numberOf(digits) ?? 0);
  return parts.length === 0 ? undefined : parts.reduce((total, part) => total + part, 0);
}

function numberOf(digits: string | undefined): number | undefined {
  const number = Number(digits?.replace(/[,_]/g, "") ?? Number.NaN);
  return Number.isSafeInteger(number) && number > 0 && number <= MOST_TOKENS ? number : undefined;
}

/** Far more than any request has: a larger number is not a count of tokens. */
const MOST_TOKENS = 1_000_000_000;
