// Finds `name = value` where the name says that the value is a secret: settings, JSON, flags, query strings.
import { alternatives, looksRandom, TOKEN_FORMATS } from "./formats.ts";

const MASKED_VALUE = new RegExp(
  `^(?:${alternatives([...TOKEN_FORMATS.flatMap(({ prefixes }) => prefixes), "eyJ", "Bearer ", "Basic "])}|[0-9]{6,12}:)?\\*{3}$`,
);

const NAME =
  /(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)(\\?["']?)([ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}|[ \t]{1,8}(?<=--[a-z-]{1,40}[ \t]{1,8}))/g;
const SECRET_WORD =
  /(?:password|passwd|passphrase|passwort|kennwort|pwd|secret|credentials?|token|apikey|accesskey|privatekey|authkey)$/;
export const KEY_OWNER =
  /^(?:api|access|secret|private|auth|signing|encryption|master|license|service|account|admin|deploy|ssh|app|shared|client|subscription)$/;
const PLAIN_KEY = /^(?:primary|foreign|cache|sort|public|partition|idempotency|group|index|row)$/;
/** `token_count`, `password_file`, `secret_name`: about a secret, not one. */
const ABOUT =
  /^(?:count|limit|length|size|type|id|ids|name|path|file|dir|url|uri|env|var|policy|ttl|expiry|expires|at|in|index|max|min|usage|budget|field|header|enabled|required|present|configured)$/;
const NO_SECRET =
  /^(?:true|false|null|none|undefined|yes|no|on|off|string|number|boolean|str|int|bool|bytes|object|any|unknown|required|optional|\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|%[A-Za-z_]+%|<[A-Za-z _-]+>)$/i;
export const HASH_OR_UUID =
  /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

type Pair = {
  readonly name: string;
  readonly isQuotedName: boolean;
  readonly separator: string;
  readonly start: number;
};
type Value = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly isQuoted: boolean;
};
type NameStrength = "strong" | "weak";
export type NamedValue = { readonly pair: Pair; readonly value: Value; readonly strength: NameStrength };

/** Every `name = value` whose name may be that of a secret, from left to right. */
export function* namedValues(text: string): Generator<NamedValue> {
  const names = new RegExp(NAME); // with a position of its own
  for (let match = names.exec(text); match !== null; match = names.exec(text)) {
    const pair: Pair = {
      name: match[1] ?? "",
      isQuotedName: match[2] !== "",
      separator: match[3] ?? "",
      start: match.index,
    };
    const strength = nameStrength(pair.name);
    if (strength === "none") continue;
    const value = readValue(text, names.lastIndex, pair);
    yield { pair, value, strength };
    names.lastIndex = Math.max(value.end, names.lastIndex);
  }
}

function nameStrength(name: string): NameStrength | "none" {
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[_.-]+/)
    .filter((part) => part !== "");
  if (ABOUT.test(parts.at(-1) ?? "")) return "none";
  if (parts.some((part) => SECRET_WORD.test(part))) return "strong";
  if (parts.length > 1 && parts.at(-1) === "pass") return "strong"; // `SMTP_PASS`
  const key = parts.lastIndexOf("key");
  if (key === -1) return "none";
  const owner = parts[key - 1] ?? "";
  if (PLAIN_KEY.test(owner)) return "none";
  return KEY_OWNER.test(owner) || /^[A-Z0-9]+_(?:[A-Z0-9]+_)*KEY$/.test(name) ? "strong" : "weak";
}

/** Nothing, a mask, a switch, a type or a variable. */
export function isNoSecret(content: string): boolean {
  return content === "" || MASKED_VALUE.test(content) || NO_SECRET.test(content);
}

/** Whether the value is masked where it is shown. */
export function isSecretValue({ pair, value, strength }: NamedValue, text: string): boolean {
  const content = value.text;
  if (isNoSecret(content)) return false;
  const isPassword = /pass|pwd|secret|credential/i.test(pair.name);
  if (!isPassword && /^[0-9.]{1,8}$/.test(content)) return false; // `max_token=4096` is a setting
  if (strength === "weak") return content.length >= 16 && looksRandom(content) && !HASH_OR_UUID.test(content);
  const isProse = !pair.isQuotedName && !value.isQuoted && /^[ \t]*:[ \t]+$/.test(pair.separator);
  return !isProse || /[^A-Za-z'-]/.test(content) || looksRandom(content) || fillsLine(value, pair, text);
}

/** `  password: hunter` alone on its line is a setting; within a sentence the same words are prose. */
function fillsLine(value: Value, pair: Pair, text: string): boolean {
  const before = text.slice(Math.max(0, pair.start - 80), pair.start);
  return (
    /(?:^|\n)[ \t]*(?:- |export )?["']?$/.test(before) &&
    /^[ \t;,]{0,8}(?:#|\r?\n|$)/.test(text.slice(value.end, value.end + 12))
  );
}

function readValue(text: string, at: number, pair: Pair): Value {
  const quote = /\\?["'`]/y;
  quote.lastIndex = at;
  const opening = quote.exec(text)?.[0];
  if (opening !== undefined) {
    const start = at + opening.length;
    const end = closingQuote(text, start, opening);
    return { text: text.slice(start, end), start, end, isQuoted: true };
  }
  if (pair.isQuotedName && /[[{]/.test(text.charAt(at)))
    return { text: "", start: at, end: at, isQuoted: false };
  const stop = pair.isQuotedName ? /[\s"'`\\,}\]]/ : /[\s"'`\\]/;
  let end = at;
  while (end < text.length && !stop.test(text.charAt(end)) && !startsNextPair(text, end)) end += 1;
  while (end > at && /[)\]},;.:!?]/.test(text.charAt(end - 1))) end -= 1; // punctuation of the sentence around it
  return { text: text.slice(at, end), start: at, end, isQuoted: false };
}

/** An unclosed quote ends with its line: rather too much is masked than half a secret left. */
function closingQuote(text: string, start: number, opening: string): number {
  for (let i = start; i < text.length; i += 1) {
    if (text[i] === "\n") return i;
    if (text.startsWith(opening, i)) return i;
    if (text[i] === "\\") i += 1;
  }
  return text.length;
}

/** `;`, `,` or `&` before another `name=` ends a value; elsewhere they belong to it. */
function startsNextPair(text: string, at: number): boolean {
  if (!/[;,&]/.test(text.charAt(at))) return false;
  const next = /[;,&][A-Za-z_][A-Za-z0-9_.-]{0,60}[=:]/y;
  next.lastIndex = at;
  return next.test(text);
}
