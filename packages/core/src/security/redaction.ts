// Masks secrets in text that leaves the process: logs, reports, summaries. Every step takes linear time and gives the same result
// when it runs twice. A mask keeps the public prefix, which tells the kind of secret.
import { isRecord } from "../lib/index.ts";
import { isSecretValue, namedValues } from "./secrets/find.ts";
import {
  AUTHORIZATION,
  alternatives,
  BEARER,
  BOT_TOKEN,
  CURL_PASSWORD,
  DISCORD_TOKEN,
  KEY_BLOCK_START,
  looksRandom,
  MAILCHIMP_KEY,
  OTHER_AUTHORIZATION,
  TERRAFORM_TOKEN,
  TOKEN,
  URL_PASSWORD,
  URL_SIGNATURE,
  URL_TOKEN,
  WEB_TOKEN,
  WEBHOOK,
} from "./secrets/formats.ts";

const MASK = "***";

/** Replaces credentials in a text by a mark, for logs and messages. */
export function redactSecrets(text: string): string {
  let safe = maskKeyBlocks(text).replace(WEBHOOK, `$1${MASK}`).replace(WEB_TOKEN, `eyJ${MASK}`);
  safe = safe.replace(DISCORD_TOKEN, MASK);
  // A pattern that starts with any letters is slow; each has a part that few texts contain.
  if (safe.includes("-us")) safe = safe.replace(MAILCHIMP_KEY, `${MASK}$1`);
  if (safe.includes(".atlasv1.")) safe = safe.replace(TERRAFORM_TOKEN, `${MASK}$1${MASK}`);
  safe = safe.replace(BOT_TOKEN, `$1:${MASK}`).replace(TOKEN, maskToken);
  if (safe.includes("://"))
    safe = safe
      .replace(URL_PASSWORD, `$1:${MASK}@`)
      .replace(URL_TOKEN, (whole, user: string) => (looksRandom(user) ? `${MASK}@` : whole));
  if (safe.includes("sig=")) safe = safe.replace(URL_SIGNATURE, MASK);
  if (safe.includes("curl")) safe = safe.replace(CURL_PASSWORD, `$1$2:${MASK}`);
  safe = safe
    .replace(AUTHORIZATION, `$1$2${MASK}`)
    .replace(OTHER_AUTHORIZATION, maskAuthorization)
    .replace(BEARER, maskBearer);
  return maskNamedValues(safe);
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

function maskBearer(whole: string, scheme: string, token: string, at: number, text: string): string {
  const isMaskedAlready = text.startsWith(MASK, at + whole.length); // the public prefix of a masked key
  return looksRandom(token) && !isMaskedAlready ? scheme + MASK : whole;
}

function maskAuthorization(whole: string, head: string, value: string): string {
  const words = value.split(/[ \t]+/);
  const isProse =
    words.length > 1 && words.every((word) => /^[A-Za-z'.,-]+$/.test(word) && !looksRandom(word));
  const isJsonValue = /["'][ \t]*:[ \t]*$/.test(head) && /^(?:[[{]|-?[0-9]|true|false|null)/.test(value);
  return isProse || isJsonValue ? whole : head + MASK;
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
