// Masks secrets in text that leaves the process: logs, reports, summaries. Every step takes linear time and gives the same result
// when it runs twice. A mask keeps the public prefix, which tells the kind of secret.
import { isRecord } from "../lib/index.ts";
import {
  alternatives,
  EXACT_FORMATS,
  isSecretValue,
  KEY_BLOCK_START,
  looksRandom,
  MASK,
  namedValues,
  PLACED_FORMATS,
  TOKEN,
} from "./secrets.ts";

/** Replaces credentials in a text by a mark, for logs and messages. */
export function redactSecrets(text: string): string {
  const exact = withMasks(maskKeyBlocks(text), EXACT_FORMATS);
  return maskNamedValues(withMasks(exact.replace(TOKEN, maskToken), PLACED_FORMATS));
}

function withMasks(text: string, formats: typeof EXACT_FORMATS): string {
  return formats.reduce((safe, { hint, pattern, mask }) => {
    if (hint !== undefined && !hint.test(safe)) return safe;
    return typeof mask === "string"
      ? safe.replace(pattern, mask)
      : safe.replace(pattern, mask as () => string);
  }, text);
}

/** Also masks these literal values, such as those of `.env`, and their JSON and URL encodings. */
export function createRedactor(values: Iterable<string>): (text: string) => string {
  const literals = new Set<string>();
  for (const value of values) {
    if (value.length < 6 || value.includes(MASK) || ORDINARY_SETTING.test(value)) continue;
    literals.add(value).add(JSON.stringify(value).slice(1, -1));
    if (value.isWellFormed()) literals.add(encodeURIComponent(value));
  }
  if (literals.size === 0) return redactSecrets;
  const longestFirst = [...literals].sort((one, other) => other.length - one.length);
  const pattern = new RegExp(alternatives(longestFirst), "g");
  return (text) => redactSecrets(text.replace(pattern, MASK));
}

/** Settings in `.env` that are no secrets and whose masking would hide ordinary text: switches, numbers, plain addresses. */
const ORDINARY_SETTING =
  /^(?:true|false|enabled|disabled|default|localhost|production|development|[0-9]{1,7}|https?:\/\/[^@?]*)$/i;

function maskToken(whole: string, ...groups: unknown[]): string {
  const prefix = groups.find((group) => typeof group === "string") ?? "";
  return looksRandom(whole.slice(prefix.length)) ? prefix + MASK : whole; // `sk-learn-pipeline` is a word
}

/** A JSON value with `***` for secrets: in texts, and for texts whose field name says that they are one. */
export function masked(value: unknown): unknown {
  if (typeof value === "string") return redactSecrets(value);
  if (Array.isArray(value)) return value.map(masked);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redactSecrets(key), maskedField(key, item)]),
  );
}

function maskedField(key: string, value: unknown): unknown {
  if (typeof value !== "string") return masked(value);
  const plain = redactSecrets(value);
  if (plain !== value) return plain;
  const pair = JSON.stringify({ [key]: value });
  return redactSecrets(pair) === pair ? value : "***";
}

function maskKeyBlocks(text: string): string {
  let result = "";
  let at = 0;
  const nextEnd = nextOf(text, "-----END ");
  const nextQuote = nextOf(text, '"');
  for (const start of text.matchAll(KEY_BLOCK_START)) {
    if (start.index < at) continue;
    result += text.slice(at, start.index) + start[0] + MASK;
    // A block that was cut off has no end: everything after its start may be key, up to the quote that ends a JSON string.
    at = Math.min(nextEnd(start.index), nextQuote(start.index));
  }
  return result + text.slice(at);
}

/** Position of the next occurrence, or the text's length. Callers pass ascending positions, so the text is read once. */
function nextOf(text: string, literal: string): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found < from) {
      const next = text.indexOf(literal, from);
      found = next === -1 ? text.length : next;
    }
    return found;
  };
}

function maskNamedValues(text: string): string {
  let result = "";
  let copied = 0;
  for (const named of namedValues(text)) {
    if (!isSecretValue(named, text)) continue;
    const { pair, value } = named;
    // An unquoted number in JSON becomes a string, or the line would no longer be JSON.
    const mask = pair.isQuotedName && !value.isQuoted && pair.separator.includes(":") ? `"${MASK}"` : MASK;
    result += text.slice(copied, value.start) + mask;
    copied = value.end;
  }
  return result + text.slice(copied);
}
