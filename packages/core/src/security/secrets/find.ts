// Finds credentials in a text that is about to be stored. Stricter than redaction, which would rather mask a word too many:
// here a word too many is a note that somebody cannot save.
import {
  AUTHORIZATION,
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
import { HASH_OR_UUID, isNoSecret, KEY_OWNER, type NamedValue, namedValues } from "./named-values.ts";

export type FoundSecret = {
  /** Without the `secret_` that finding ids begin with. */
  readonly id: string;
  /** With its article: "a GitHub token". */
  readonly label: string;
  /** UTF-16 offsets of the secret itself, without the name in front of it. */
  readonly start: number;
  readonly end: number;
};

/** Formats that are no rows of the token table. */
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

export const SECRET_FORMAT_IDS: readonly string[] = [
  ...new Set([...TOKEN_FORMATS.map(({ id }) => id), ...Object.keys(OTHER_FORMATS)]),
];

/** Shorter values behind a name are too often ordinary words. */
const FEWEST_NAMED_CHARS = 16;

/** From left to right, without overlaps: of two that overlap the more specific one stays. */
export function findSecrets(text: string): FoundSecret[] {
  if (!MAY_HOLD_ONE.test(text)) return [];
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
  for (const match of text.matchAll(BOT_TOKEN)) add("telegram_token", match.index, endOf(match));
  for (const match of text.matchAll(DISCORD_TOKEN)) add("discord_token", match.index, endOf(match));
  for (const match of text.matchAll(MAILCHIMP_KEY)) add("mailchimp_key", match.index, endOf(match));
  for (const match of text.matchAll(TERRAFORM_TOKEN)) add("terraform_token", match.index, endOf(match));
  for (const token of findTokens(text)) found.push(token);
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
  for (const match of text.matchAll(TOLD_VALUE)) addTold(match, isToldValue);
  for (const match of text.matchAll(PASSWORD_ELSEWHERE)) addTold(match, isToldPassword);
  return withoutOverlaps(found);

  function addTold(match: RegExpExecArray, isMeant: (value: string, name: string) => boolean): void {
    const [whole, name = "", rest = ""] = match;
    const value = rest.replace(/[)\]},;.:!?]+$/, "");
    if (value.length < FEWEST_NAMED_CHARS || !isMeant(value, name)) return;
    const start = match.index + whole.length - rest.length;
    const isKey = /key|token|secret/i.test(name);
    add(isKey ? "named_value" : "password", start, start + value.length);
  }
}

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

// ---- values that a sentence, a heading or a table tells ----

/** `API_KEY is ...`, `API key:` with the key on the next line, `api key (...)`, `| api_key | ... |` */
const TOLD_VALUE =
  /(?<![A-Za-z0-9])((?:api|access|secret|private|auth|signing|encryption|master|service|deploy|client)[_ -]?(?:key|token|secret)|token|secret|password|passphrase)["'`*]{0,3}(?:[ \t]{1,4}(?:is|was|equals)[ \t]{0,4}:?[ \t]{1,4}|[ \t]{0,4}[:=]?[ \t]{0,4}\(|[ \t]{0,8}[:=][*]{0,2}[ \t]{0,8}(?:\r?\n){1,2}[ \t>]{0,8}|[ \t]{0,24}\|[ \t]{0,24})["'`*]{0,3}([^\s"'`|()<>]{16,256})/gi;

function isToldValue(value: string, name: string): boolean {
  if (!/[0-9]/.test(value) || !/[A-Za-z]/.test(value) || !isRandom(value) || isReference(value)) return false;
  return /key|password|passphrase/i.test(name)
    ? !value.includes("/") || !/\.\w{1,5}$/.test(value)
    : isKeyMaterial(value);
}

/** The word for a password in languages that people keep notes in. */
const PASSWORD_ELSEWHERE =
  /(passwort|kennwort|contrase\u00f1a|contrasena|mot de passe|senha|wachtwoord|has\u0142o|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6[\u7801\u78bc]|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638)[^\S\n]{0,4}(?:[:=\uff1a\uff1d]|ist|lautet|es|est|\u00e9|jest|\u662f|\u306f|\u2014|-)?[^\S\n]{0,4}[:\uff1a]?[^\S\n]{0,4}["'`\u00ab\u201e\u300c]?([!-~]{16,256})/giu;

function isToldPassword(value: string): boolean {
  const content = value.replace(/["'`]+$/, "");
  if (isNoSecret(content) || isPlaceholder(content) || isReference(content)) return false;
  return isPassword(content, ":");
}

/** From left to right. Of those that overlap the one that stands first in the list stays. */
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

/** A quick first look: every format has a separator or a run without blanks. */
const MAY_HOLD_ONE = /[=:]|\S{16}|-----BEGIN /;

/** A part of every name that can be a secret's. */
const SECRET_NAME = /pass|kennwort|pwd|secret|credential|token|key/i;

const FEWEST_WEB_TOKEN_CHARS = 36;
const FEWEST_HEADER_CHARS = 12;

function endOf(match: RegExpExecArray): number {
  return match.index + match[0].length;
}

// ---- what is a secret ----

function isRandom(text: string): boolean {
  return looksRandom(text) && !isPlaceholder(text) && !isMadeOfWords(text);
}

function isHeaderValue(text: string): boolean {
  return text.length >= FEWEST_HEADER_CHARS && !isReference(text) && isRandom(text);
}

function isUrlPassword(user: string, password: string): boolean {
  if (password.length < 4 || password.toLowerCase() === user.toLowerCase()) return false;
  if (/^[0-9]{1,5}(?:[?#]|$)/.test(password)) return false; // a port, and an e-mail address further on
  return !isPlaceholder(password) && !/^[$%{<[(]/.test(password) && !USUAL_PASSWORD.test(password);
}

/** What examples and local databases have in place of a password. */
const USUAL_PASSWORD =
  /^(?:(?:my|your|the|some|db|user)?[-_]?(?:password|passwd|pass|pwd|secret|token)(?:[-_]?here)?|postgres|mysql|root|admin|guest|example|changeme|hidden|redacted|username?)$/i;

function namedSecret(
  named: NamedValue,
  text: string,
): "aws_secret_key" | "password" | "named_value" | undefined {
  const { pair, value } = named;
  const content = value.text;
  // Counted in ASCII: a sentence in a script without blanks is no value.
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

/** People choose these, so words will do; but one word behind a colon is a sentence that goes on. */
function isPassword(content: string, separator: string): boolean {
  if (isMadeOfWords(content)) return !ABOUT_A_PASSWORD.test(content);
  return looksRandom(content) || !separator.includes(":");
}

/** `password: PasswordInputElement;` is a declaration. */
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

/** `API key: ...`: the word in front says that the key is one to keep. `Primary key: ...` says the opposite. */
function isOwnedKey({ pair }: NamedValue, text: string): boolean {
  const before = /([A-Za-z]+)[ \t-]$/.exec(text.slice(Math.max(0, pair.start - 40), pair.start))?.[1];
  return before !== undefined && KEY_OWNER.test(before.toLowerCase());
}

/** For a name that only ends in `key`: no hash, no id, no path, no fingerprint. */
function isKeyMaterial(content: string): boolean {
  return !HASH_OR_UUID.test(content) && !/^(?:0x)?[0-9a-f]+$|^(?:sha\d+|md5):|\/.*\.\w{1,5}$/i.test(content);
}

/** `correct-horse-battery-staple` may be a password; `kept-in-the-vault` says where it is. */
const ABOUT_A_PASSWORD =
  /(?:vault|keychain|keyring|1password|bitwarden|lastpass|keepass|manager|dotenv|stored|kept|saved|ask|see|rotat|managed|generated|required|optional|disabled|expired?|minimum|maximum|characters|length|policy|reset|forgot|secrets?[-_./])/i;

/** Where a value is kept, how it is read, what type it has: everything but the value. */
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

/** Filled in by whoever copies the line: `xxxxxxxx`, `...`, `your-key-here`. */
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
    (pieces.length > 1 || isCamelCase(text)) && pieces.every((piece) => isWord(piece) || isCamelCase(piece))
  );
}

const WORD =
  /^(?:[A-Za-z]|[A-Z]?[a-z]{2,20}|[A-Z]{2,20}|[0-9]{1,8}|[A-Za-z]{1,12}[0-9]{1,3}|ed25519|[0-9]{1,3}[a-z]{1,8}|v[0-9]{1,4})$/;

function isWord(piece: string): boolean {
  return WORD.test(piece);
}

/** `getSecretFromVault`: words of four letters on average. Letters by chance change case more often. */
function isCamelCase(piece: string): boolean {
  if (!/^[A-Z]?[a-z]+(?:[A-Z][a-z]+)+$/.test(piece)) return false;
  const words = piece.match(/[A-Z]?[a-z]+/g)?.length ?? 0;
  return piece.length / words >= 4;
}

// ---- private keys ----

/** Start and end of each block that holds a key; the two lines alone, as a manual shows them, are none. */
function keyBlocks(text: string): (readonly [number, number])[] {
  const blocks: (readonly [number, number])[] = [];
  let end = -1; // of the block; searched again only when passed, so that the text is read once
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

/** Behind the first line, and headers such as `Proc-Type`, a key begins at once. */
const LONGEST_KEY_HEAD = 1024;
