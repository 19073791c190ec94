// Finds credentials in a text that is about to be stored. Reports less than redaction masks: there a false positive costs one word
// in a log, here it costs the user a note that cannot be saved.
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
  TOKEN_FORMATS,
  URL_PASSWORD,
  URL_SIGNATURE,
  URL_TOKEN,
  WEB_TOKEN,
  WEBHOOK,
} from "./formats.ts";

export type FoundSecret = {
  /** Without the `secret_` that finding ids begin with. */
  readonly id: string;
  /** With its article: "a GitHub token". */
  readonly label: string;
  /** UTF-16 offsets of the secret itself, without the name in front of it. */
  readonly start: number;
  readonly end: number;
};

/** Formats that are not in the token table. */
const OTHER_FORMATS = {
  private_key: "a private key",
  json_web_token: "a JSON web token",
  webhook_url: "a webhook address",
  telegram_token: "a Telegram bot token",
  discord_token: "a Discord token",
  mailchimp_key: "a Mailchimp API key",
  terraform_token: "a Terraform token",
  url_password: "a password in an address",
  url_token: "a token in an address",
  authorization: "an authorization header",
  aws_secret_key: "an AWS secret key",
  password: "a password",
  named_value: "a secret value",
} as const;

/** True for an id that `findSecrets` can report. */
export function isSecretFormat(id: string): boolean {
  return Object.hasOwn(OTHER_FORMATS, id) || TOKEN_FORMATS.some((format) => format.id === id);
}

/** Shorter values after a name are too often ordinary words. */
const FEWEST_NAMED_CHARS = 16;

/** From left to right, without overlaps: of two that overlap the more specific one stays. */
export function findSecrets(text: string): FoundSecret[] {
  if (!MAY_HOLD_SECRET.test(text)) return [];
  const found: FoundSecret[] = []; // the most specific formats first
  const add = (id: keyof typeof OTHER_FORMATS, start: number, end: number): void => {
    found.push({ id, label: OTHER_FORMATS[id], start, end });
  };
  for (const [start, end] of keyBlocks(text)) add("private_key", start, end);
  for (const match of text.matchAll(WEB_TOKEN))
    if (match[0].length >= FEWEST_WEB_TOKEN_CHARS) add("json_web_token", match.index, endOf(match));
  for (const match of text.matchAll(WEBHOOK)) {
    const path = match[0].slice(match[1]?.length ?? 0);
    if (path.split("/").some((part) => part.length >= 20 && isRandom(part)))
      add("webhook_url", match.index, endOf(match));
  }
  for (const [id, format] of EXACT_FORMATS)
    for (const match of text.matchAll(format)) add(id, match.index, endOf(match));
  found.push(...findTokens(text));
  for (const match of text.matchAll(URL_SIGNATURE))
    if (isRandom(match[0])) add("url_token", match.index, endOf(match));
  for (const match of text.matchAll(CURL_PASSWORD)) {
    const [, head = "", user = "", password = ""] = match;
    if (isUrlPassword(user, password))
      add("password", match.index + head.length + user.length + 1, endOf(match));
  }
  if (text.includes("://")) {
    for (const match of text.matchAll(URL_PASSWORD)) {
      const [, user = "", password = ""] = match;
      if (isUrlPassword(user, password)) add("url_password", match.index + user.length + 1, endOf(match) - 1);
    }
    for (const match of text.matchAll(URL_TOKEN)) {
      const user = match[1] ?? "";
      if (user.length >= 20 && isRandom(user)) add("url_token", match.index, endOf(match) - 1);
    }
  }
  if (/authorization/i.test(text)) {
    for (const match of text.matchAll(AUTHORIZATION)) {
      const [, head = "", scheme = "", credentials = ""] = match;
      const start = match.index + head.length + scheme.length;
      if (isHeaderValue(credentials)) add("authorization", start, endOf(match));
    }
    for (const match of text.matchAll(OTHER_AUTHORIZATION)) {
      const [, head = "", value = ""] = match;
      if (/^\S+$/.test(value) && isHeaderValue(value))
        add("authorization", match.index + head.length, endOf(match));
    }
  }
  for (const match of text.matchAll(BEARER)) {
    const [, head = "", credentials = ""] = match;
    if (credentials.length >= FEWEST_NAMED_CHARS && isHeaderValue(credentials))
      add("authorization", match.index + head.length, endOf(match));
  }
  for (const named of SECRET_NAME.test(text) ? namedValues(text) : []) {
    const id = namedSecret(named, text);
    if (id !== undefined) add(id, named.value.start, named.value.end);
  }
  for (const [format, isMeant] of PROSE_FORMATS)
    for (const match of text.matchAll(format)) {
      const [whole, name = "", rest = ""] = match;
      const value = rest.replace(/[)\]},;.:!?]+$/, "");
      if (value.length < FEWEST_NAMED_CHARS || !isMeant(value, name)) continue;
      const start = match.index + whole.length - rest.length;
      add(/key|token|secret/i.test(name) ? "named_value" : "password", start, start + value.length);
    }
  return withoutOverlaps(found);
}

/** Formats that no ordinary text has. */
const EXACT_FORMATS = [
  ["telegram_token", BOT_TOKEN],
  ["discord_token", DISCORD_TOKEN],
  ["mailchimp_key", MAILCHIMP_KEY],
  ["terraform_token", TERRAFORM_TOKEN],
] as const;

/** Only the formats of the token table. */
export function findTokens(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const row = match.slice(1).findIndex((prefix) => prefix !== undefined);
    const format = TOKEN_FORMATS[row];
    const body = match[0].slice(match[row + 1]?.length ?? 0);
    if (format === undefined || body.length < format.refuseFrom || !isRandom(body)) continue;
    found.push({ id: format.id, label: format.label, start: match.index, end: endOf(match) });
  }
  return found;
}

/** From left to right. Of those that overlap, the first in the list stays. */
export function withoutOverlaps<T extends { readonly start: number; readonly end: number }>(
  list: readonly T[],
): T[] {
  const ordered = list
    .map((item, rank) => ({ item, rank }))
    .sort((one, other) => one.item.start - other.item.start || one.rank - other.rank);
  const kept: typeof ordered = [];
  for (const each of ordered) {
    const last = kept.at(-1);
    if (last === undefined || each.item.start >= last.item.end) kept.push(each);
    else if (each.rank < last.rank) kept[kept.length - 1] = each;
  }
  return kept.map(({ item }) => item);
}

/** Quick check: every format has a separator or a run without blanks. */
const MAY_HOLD_SECRET = /[=:]|\S{16}|-----BEGIN /;

/** Every name of a secret contains one of these. */
const SECRET_NAME = /pass|kennwort|pwd|secret|credential|token|key/i;

const FEWEST_WEB_TOKEN_CHARS = 36;
const FEWEST_HEADER_CHARS = 12;

function endOf(match: RegExpExecArray): number {
  return match.index + match[0].length;
}

// ---- Values in a sentence, below a heading or in a table ----

/** `API_KEY is ...`, `API key:` with the key on the next line, `api key (...)`, `| api_key | ... |` */
const PROSE_VALUE =
  /(?<![A-Za-z0-9])((?:api|access|secret|private|auth|signing|encryption|master|service|deploy|client)[_ -]?(?:key|token|secret)|token|secret|password|passphrase)["'`*]{0,3}(?:[ \t]{1,4}(?:is|was|equals)[ \t]{0,4}:?[ \t]{1,4}|[ \t]{0,4}[:=]?[ \t]{0,4}\(|[ \t]{0,8}[:=][*]{0,2}[ \t]{0,8}(?:\r?\n){1,2}[ \t>]{0,8}|[ \t]{0,24}\|[ \t]{0,24})["'`*]{0,3}([^\s"'`|()<>]{16,256})/gi;

function isProseValue(value: string, name: string): boolean {
  if (!/[0-9]/.test(value) || !/[A-Za-z]/.test(value) || !isRandom(value) || isReference(value)) return false;
  return /key|password|passphrase/i.test(name)
    ? !value.includes("/") || !/\.\w{1,5}$/.test(value)
    : isKeyMaterial(value);
}

/** The word for password in other languages. */
const FOREIGN_PASSWORD =
  /(passwort|kennwort|contrase\u00f1a|contrasena|mot de passe|senha|wachtwoord|has\u0142o|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6[\u7801\u78bc]|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638)[^\S\n]{0,4}(?:[:=\uff1a\uff1d]|ist|lautet|es|est|\u00e9|jest|\u662f|\u306f|\u2014|-)?[^\S\n]{0,4}[:\uff1a]?[^\S\n]{0,4}["'`\u00ab\u201e\u300c]?([!-~]{16,256})/giu;

function isForeignPassword(value: string): boolean {
  const content = value.replace(/["'`]+$/, "");
  if (isNoSecret(content) || isPlaceholder(content) || isReference(content)) return false;
  return isPassword(content, ":");
}

const PROSE_FORMATS = [
  [PROSE_VALUE, isProseValue],
  [FOREIGN_PASSWORD, isForeignPassword],
] as const;

// ---- Telling secrets from ordinary values ----

function isRandom(text: string): boolean {
  return looksRandom(text) && !isPlaceholder(text) && !isMadeOfWords(text);
}

function isHeaderValue(text: string): boolean {
  return text.length >= FEWEST_HEADER_CHARS && !isReference(text) && isRandom(text);
}

function isUrlPassword(user: string, password: string): boolean {
  if (password.length < 4 || password.toLowerCase() === user.toLowerCase()) return false;
  if (/^[0-9]{1,5}(?:[?#]|$)/.test(password)) return false; // a port, with an e-mail address later in the URL
  return !isPlaceholder(password) && !/^[$%{<[(]/.test(password) && !USUAL_PASSWORD.test(password);
}

/** Passwords of examples and local databases. */
const USUAL_PASSWORD =
  /^(?:(?:my|your|the|some|db|user)?[-_]?(?:password|passwd|pass|pwd|secret|token)(?:[-_]?here)?|postgres|mysql|root|admin|guest|example|changeme|hidden|redacted|username?)$/i;

function namedSecret(
  named: NamedValue,
  text: string,
): "aws_secret_key" | "password" | "named_value" | undefined {
  const { pair, value } = named;
  const content = value.text;
  // Counts only ASCII: a sentence in a script without blanks is no value.
  if (content.replace(/[^!-~]/g, "").length < FEWEST_NAMED_CHARS || /\s/.test(content)) return undefined;
  if (isNoSecret(content) || isPlaceholder(content) || isReference(content)) return undefined;
  if (/(?:hash|hashes|digest|checksum|fingerprint|sum|salt)$/i.test(pair.name)) return undefined;
  if (/(?:password|passwd|passphrase|pwd|passwort|kennwort|passcode)|[_.-]pass$/i.test(pair.name))
    return isPassword(content, pair.separator) && !isType(named, text) ? "password" : undefined;
  if (isAddressOfCoin(named, text)) return undefined;
  const isClear = named.strength === "strong" || isOwnedKey(named, text);
  if (!isClear && (pair.name.toLowerCase() === "key" || !isKeyMaterial(content))) return undefined;
  if (!isRandom(content)) return undefined;
  return /aws_?secret/i.test(pair.name) ? "aws_secret_key" : "named_value";
}

/** People choose passwords, so words count too; but one word after a colon is the rest of a sentence. */
function isPassword(content: string, separator: string): boolean {
  if (isMadeOfWords(content)) return !ABOUT_A_PASSWORD.test(content);
  return looksRandom(content) || !separator.includes(":");
}

/** `password: PasswordInputElement;` declares a type. */
function isType({ pair, value }: NamedValue, text: string): boolean {
  if (
    value.isQuoted ||
    !pair.separator.includes(":") ||
    !/^[A-Z]/.test(value.text) ||
    !isCamelCase(value.text)
  )
    return false;
  const before = text.slice(Math.max(0, pair.start - 200), pair.start);
  return (
    TYPE_NAME.test(value.text) || /\b(?:interface|class|type|struct|record|function|fn)\s[^.]*$/.test(before)
  );
}

const TYPE_NAME =
  /(?:Element|Props|Type|Input|Field|Config|Options|Schema|String|Handler|Component|Validator|Service|Provider|Model|State|Ref|Event|Request|Response|Encoder|Context|Builder|Factory|Control)$/;

/** `Solana token: ...`: the public address of a coin. */
function isAddressOfCoin({ pair, value }: NamedValue, text: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(value.text) || !/^(?:token|mint)$/i.test(pair.name)) return false;
  return /(?:solana|spl|mint|coin|crypto|blockchain|nft)[ \t-]{1,2}$/i.test(
    text.slice(Math.max(0, pair.start - 20), pair.start),
  );
}

/** `API key: ...`: the word before says that the key is secret. `Primary key: ...` says that it is not. */
function isOwnedKey({ pair }: NamedValue, text: string): boolean {
  const before = /([A-Za-z]+)[ \t-]$/.exec(text.slice(Math.max(0, pair.start - 40), pair.start))?.[1];
  return before !== undefined && KEY_OWNER.test(before.toLowerCase());
}

/** For a name that only ends in `key`: the value is no hash, id, path or fingerprint. */
function isKeyMaterial(content: string): boolean {
  return !HASH_OR_UUID.test(content) && !/^(?:0x)?[0-9a-f]+$|^(?:sha\d+|md5):|\/.*\.\w{1,5}$/i.test(content);
}

/** `correct-horse-battery-staple` may be a password; `kept-in-the-vault` says where one is kept. */
const ABOUT_A_PASSWORD =
  /(?:vault|keychain|keyring|1password|bitwarden|lastpass|keepass|manager|dotenv|stored|kept|saved|ask|see|rotat|managed|generated|required|optional|disabled|expired?|minimum|maximum|characters|length|policy|reset|forgot|secrets?[-_./])/i;

/** Says where a value is kept, how it is read or which type it has, instead of the value. */
function isReference(text: string): boolean {
  return REFERENCE.test(text) || VARIABLE.test(text) || MEMBER.test(text);
}

const REFERENCE =
  /^(?:\$[A-Za-z_{(]|%[A-Za-z_]|[<[{(]|[/~]|\.{1,2}\/|[A-Za-z]:\\|(?:vault|env|file|arn|keychain|ssm|ref|secret|secretRef|urn):|!\w+$|[A-Za-z_][\w.]*[([<]|process\.|os\.|import\.meta\.|env\.|secrets\.|config\.|settings\.|self\.|this\.)|:\/\/|\]\(|\$\{|\{\{|getenv|environ/i;
/** `DATABASE_PASSWORD` */
const VARIABLE = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;
/** `handler.password`, `options?.apiKey`, `index_url_user_password` */
const MEMBER =
  /^[A-Za-z_$]+(?:(?:\?\.|[._])[A-Za-z_$]+)+$(?<=key|token|secret|password|passwd|pwd|credentials?)/i;

/** To be filled in by the reader: `xxxxxxxx`, `...`, `your-key-here`. */
function isPlaceholder(text: string): boolean {
  return (
    /^[xX0*.#?_\u2022\u2026-]+$/.test(text) ||
    /^(?:your|example|sample|dummy|placeholder|change-?me|replace|insert|redacted|removed|todo|xxx|\*\*\*|\.\.\.)/i.test(
      text,
    ) ||
    /(?:\.\.\.|\u2026|\*\*\*|xxxx)$/i.test(text) ||
    /EXAMPLE(?:KEY)?$/.test(text) // as in AWS's manuals
  );
}

/** Words, short numbers and versions joined by separators: a name such as `prod-db-credentials-v2`. */
function isMadeOfWords(text: string): boolean {
  const pieces = text.split(/[-_./:@+=~,]+/).filter((piece) => piece !== "");
  return (
    (pieces.length > 1 || isCamelCase(text)) &&
    pieces.every((piece) => WORD.test(piece) || isCamelCase(piece))
  );
}

const WORD =
  /^(?:[A-Za-z]|[A-Z]?[a-z]{2,20}|[A-Z]{2,20}|[0-9]{1,8}|[A-Za-z]{1,12}[0-9]{1,3}|ed25519|[0-9]{1,3}[a-z]{1,8}|v[0-9]{1,4})$/;

/** `getSecretFromVault`: words of four letters or more on average. Random letters change case more often. */
function isCamelCase(piece: string): boolean {
  if (!/^[A-Z]?[a-z]+(?:[A-Z][a-z]+)+$/.test(piece)) return false;
  const words = piece.match(/[A-Z]?[a-z]+/g)?.length ?? 0;
  return piece.length / words >= 4;
}

// ---- Private keys ----

/** Start and end of each block that holds a key. The BEGIN and END lines alone, as in a manual, are no block. */
function keyBlocks(text: string): (readonly [number, number])[] {
  const blocks: (readonly [number, number])[] = [];
  let end = -1; // of the current block; searched again only once passed, so that the text is read once
  for (const start of text.matchAll(KEY_BLOCK_START)) {
    if (start.index < (blocks.at(-1)?.[1] ?? 0)) continue;
    const from = start.index + start[0].length;
    if (end < from) {
      const next = text.indexOf("-----END ", from);
      end = next === -1 ? text.length : next;
    }
    const body = text.slice(from, Math.min(end, from + LONGEST_KEY_HEAD)).match(/[A-Za-z0-9+/=]{12,}/)?.[0];
    if (body !== undefined && looksRandom(body) && !isPlaceholder(body)) blocks.push([start.index, end]);
  }
  return blocks;
}

/** A key begins right after the first line and headers such as `Proc-Type`. */
const LONGEST_KEY_HEAD = 1024;

// ---- `name = value` where the name says that the value is a secret: settings, JSON, flags, query strings ----

const MASKED_VALUE = new RegExp(
  `^(?:${alternatives([...TOKEN_FORMATS.flatMap(({ prefixes }) => prefixes), "eyJ", "Bearer ", "Basic "])}|[0-9]{6,12}:)?\\*{3}$`,
);

const NAME =
  /(?<![A-Za-z0-9_.-])([A-Za-z0-9_.-]+)(\\?["']?)([ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}|[ \t]{1,8}(?<=--[a-z-]{1,40}[ \t]{1,8}))/g;
const SECRET_WORD =
  /(?:password|passwd|passphrase|passwort|kennwort|pwd|secret|credentials?|token|apikey|accesskey|privatekey|authkey)$/;
const KEY_OWNER =
  /^(?:api|access|secret|private|auth|signing|encryption|master|license|service|account|admin|deploy|ssh|app|shared|client|subscription)$/;
const PLAIN_KEY = /^(?:primary|foreign|cache|sort|public|partition|idempotency|group|index|row)$/;
/** `token_count`, `password_file`, `secret_name`: the value is about a secret. */
const ABOUT =
  /^(?:count|limit|length|size|type|id|ids|name|path|file|dir|url|uri|env|var|policy|ttl|expiry|expires|at|in|index|max|min|usage|budget|field|header|enabled|required|present|configured)$/;
const NO_SECRET =
  /^(?:true|false|null|none|undefined|yes|no|on|off|string|number|boolean|str|int|bool|bytes|object|any|unknown|required|optional|\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|%[A-Za-z_]+%|<[A-Za-z _-]+>)$/i;
const HASH_OR_UUID =
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
  const names = new RegExp(NAME); // a copy, because lastIndex is state
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

/** True for an empty value, a mask, a switch, a type or a variable. */
function isNoSecret(content: string): boolean {
  return content === "" || MASKED_VALUE.test(content) || NO_SECRET.test(content);
}

/** Whether redaction masks the value. */
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
  while (end > at && /[)\]},;.:!?]/.test(text.charAt(end - 1))) end -= 1; // punctuation of the sentence
  return { text: text.slice(at, end), start: at, end, isQuoted: false };
}

/** An unclosed quote ends with its line: masking too much is better than leaving half a secret. */
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
