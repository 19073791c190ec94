// The indexed part of a message: its readable text, and the FTS5 document made from it. Pure; messages are indexed whole.
import { isRecord, parseOutsideJson } from "../../lib/index.ts";
import { decodeUtf8, STRUCTURED_PREFIX, type StoredMessageRow } from "../../message/index.ts";
import { indexText } from "./words.ts";

/** Raise this whenever documents change. An index of another version is rebuilt. */
export const DOCUMENT_VERSION = 1;

/**
 * The columns of the index; each message is in one of them. What most searches leave out has columns of its own, so that they need
 * not skip it message by message: output of tools, scheduled runs, and what is hidden or from a source that is not searched.
 */
export const COLUMNS = ["said", "printed", "run", "run_printed", "other"] as const;
export type Column = (typeof COLUMNS)[number];

/** Runs of subagents, tools and task boards, which searches leave out unless they are asked for. */
export const HIDDEN_SOURCES: readonly string[] = ["kanban", "subagent", "tool"];

type Kind = { readonly role: string; readonly source: string | null; readonly is_hidden: number };

export function columnOf({ role, source, is_hidden }: Kind): Column {
  if (is_hidden === 1 || HIDDEN_SOURCES.includes(source ?? "")) return "other";
  if (source === "cron") return role === "tool" ? "run_printed" : "run";
  return role === "tool" ? "printed" : "said";
}

/** First character of every filter token. No word starts with it, because it is a control character. */
export const MARK = "\u0080";

/** The columns of `messages` that are indexed. */
export type IndexRow = Pick<StoredMessageRow, "role" | "content" | "tool_name" | "tool_calls">;

export type StoredText = IndexRow & { readonly id: number };

/** Numbers from `hermes_memory_no` (session) and `hermes_memory_word` (the others). */
type Marks = {
  readonly session: number;
  readonly source: number;
  readonly role: number;
  /** The user id, on any platform. */
  readonly user: number | null;
  /** The user id on its platform (`personWord`): the same id on another platform is another person. */
  readonly person: number | null;
  /** Neither active nor compacted, or not for display. */
  readonly isHidden: boolean;
};

type Texts = {
  /** The content without its JSON envelope, JSON escapes, encoded data, terminal sequences and control characters. */
  readonly said: string;
  /** The tool's name, and the names and arguments of tool calls. */
  readonly did: string;
};

export function documentText(row: IndexRow, marks: Marks): string {
  const { said, did } = textsOf(row);
  const filters = markTokens(marks).join(" ");
  return `${filters} ${indexText(said)}${did === "" ? "" : ` ${indexText(did)}`}`;
}

export function markTokens({ session, source, role, user, person, isHidden }: Marks): string[] {
  const tokens = [filterToken("session", session), filterToken("source", source), filterToken("role", role)];
  if (user !== null) tokens.push(filterToken("user", user));
  if (person !== null) tokens.push(filterToken("person", person));
  if (isHidden) tokens.push(HIDDEN_TOKEN);
  return tokens;
}

type FilterKind = "session" | "source" | "role" | "user" | "person";

export const HIDDEN_TOKEN = `${MARK}i`;
const FILTER_LETTERS: Readonly<Record<FilterKind, string>> = {
  session: "n",
  source: "s",
  role: "r",
  user: "u",
  person: "p",
};

/** How the tokens of users begin. Every document of a session with a user has one, and no other document. */
export const USER_TOKENS = `${MARK}${FILTER_LETTERS.user}`;

/** The entry for a person in `hermes_memory_word`. */
export function personWord(platform: string, user: string): string {
  return `${platform}\0${user}`;
}

/** The token that every message of this session, source, role, user or person has in its document. */
export function filterToken(kind: FilterKind, number: number): string {
  return `${MARK}${FILTER_LETTERS[kind]}${number.toString(36)}`;
}

export function textsOf(row: IndexRow): Texts {
  const parts: Parts = { said: [], did: [] };
  addContent(parts, row.content);
  if (row.tool_name) parts.did.push(row.tool_name);
  if (row.tool_calls) addToolCalls(parts.did, row.tool_calls);
  return { said: readable(parts.said), did: readable(parts.did) };
}

type Parts = { readonly said: string[]; readonly did: string[] };

/** Pictures and documents are stored inside their message, so only the nesting depth is limited. */
const STORED = { maxChars: Number.POSITIVE_INFINITY };

function addContent(parts: Parts, stored: string | Uint8Array | null): void {
  if (stored === null) return;
  const text = typeof stored === "string" ? stored : decodeUtf8(stored);
  if (!text.startsWith(STRUCTURED_PREFIX)) {
    parts.said.push(text);
    return;
  }
  const json = text.slice(STRUCTURED_PREFIX.length);
  const parsed = parseOutsideJson(json, STORED);
  if (!parsed.ok) parts.said.push(json);
  else if (!Array.isArray(parsed.value)) addPart(parts, parsed.value);
  else for (const part of parsed.value) addPart(parts, part);
}

/** Types of content parts that are tool calls. */
const CALL_TYPES: ReadonlySet<unknown> = new Set([
  "tool_use",
  "server_tool_use",
  "tool_call",
  "tool-call",
  "function_call",
]);

function addPart(parts: Parts, part: unknown): void {
  if (isRecord(part) && CALL_TYPES.has(part.type)) addCall(parts.did, part);
  else addValues(parts.said, part, ENVELOPE_KEYS);
}

function addToolCalls(did: string[], stored: string): void {
  const parsed = parseOutsideJson(stored, STORED);
  if (!parsed.ok) did.push(stored);
  else if (Array.isArray(parsed.value)) for (const call of parsed.value) addCall(did, call);
  else addCall(did, parsed.value);
}

/** Values under these keys are technical words (`function`, `call_8f3a`) that would match unrelated queries. */
const ENVELOPE_KEYS: ReadonlySet<string> = new Set(["id", "type", "call_id", "tool_call_id", "tool_use_id"]);
const ARGUMENT_KEYS: ReadonlySet<string> = new Set(["arguments", "input", "args", "parameters"]);

function addCall(did: string[], call: unknown): void {
  if (!isRecord(call)) {
    addValues(did, call, ENVELOPE_KEYS);
    return;
  }
  for (const [key, value] of Object.entries(call)) {
    if (ENVELOPE_KEYS.has(key)) continue;
    if (ARGUMENT_KEYS.has(key)) addArguments(did, value);
    else if (key === "function" || key === "custom") addCall(did, value);
    else addValues(did, value, ENVELOPE_KEYS);
  }
}

/** All keys and values of arguments are indexed, including `id` and `type`: users remember such words. */
function addArguments(did: string[], value: unknown): void {
  if (typeof value !== "string") {
    addKeysAndValues(did, value);
    return;
  }
  const parsed = parseOutsideJson(value, STORED);
  if (parsed.ok) addKeysAndValues(did, parsed.value);
  else did.push(value);
}

// Both functions recurse; the parser has limited the depth.
function addKeysAndValues(texts: string[], value: unknown): void {
  if (Array.isArray(value)) for (const each of value) addKeysAndValues(texts, each);
  else if (isRecord(value)) {
    for (const [key, each] of Object.entries(value)) {
      texts.push(key);
      addKeysAndValues(texts, each);
    }
  } else texts.push(String(value));
}

function addValues(texts: string[], value: unknown, silent: ReadonlySet<string>): void {
  if (typeof value === "string" || typeof value === "number") texts.push(String(value));
  else if (Array.isArray(value)) for (const each of value) addValues(texts, each, silent);
  else if (isRecord(value)) {
    for (const [key, each] of Object.entries(value)) if (!silent.has(key)) addValues(texts, each, silent);
  }
}

function readable(parts: readonly string[]): string {
  const texts = parts.filter((part) => part !== "").map(withLiteralsDecoded);
  const text = texts.length === 1 ? (texts[0] ?? "") : texts.join(" ");
  return withoutEncoded(withoutControls(text));
}

// Tab, line feed and carriage return are kept.
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
/** Terminal window titles are not part of the text. */
const WINDOW_TITLES = /\x1b\][012];[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)/g;
/** Colours may change inside a word; other sequences move the cursor. */
const COLOURS = /\x1b\[[0-9;:]*m/g;
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][0-9]*;?|[@-Z\\^_])/g;

/** Removes terminal sequences. Every other control character, including NUL, becomes a blank. */
function withoutControls(text: string): string {
  if (!CONTROL.test(text)) return text;
  return text.replace(WINDOW_TITLES, " ").replace(COLOURS, "").replace(SEQUENCES, " ").replace(CONTROLS, " ");
}

/** Shorter runs are keys, digests and names that a user may search for. */
const SHORTEST_ENCODED = 512;

/** Removes long base64 runs: pictures and files, in which no word can be found. */
function withoutEncoded(text: string): string {
  if (text.length < SHORTEST_ENCODED) return text;
  let kept = "";
  let copied = 0;
  // A run of this length covers one of these positions, so only the characters around them are checked.
  for (let at = SHORTEST_ENCODED - 1; at < text.length; at += SHORTEST_ENCODED) {
    if (!isBase64(text.charCodeAt(at))) continue;
    let start = at;
    while (start > copied && isBase64(text.charCodeAt(start - 1))) start -= 1;
    let end = at + 1;
    while (end < text.length && isBase64(text.charCodeAt(end))) end += 1;
    if (end - start >= SHORTEST_ENCODED && isEncoded(text, start, end)) {
      kept += `${text.slice(copied, start)} `;
      copied = end;
    }
    at = Math.max(at, end - 1);
  }
  return copied === 0 ? text : kept + text.slice(copied);
}

function isBase64(unit: number): boolean {
  return (BASE64[unit] ?? 0) === 1;
}

const BASE64 = new Uint8Array(128);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-") {
  BASE64[character.charCodeAt(0)] = 1;
}

/**
 * In encoded bytes 15 % of the letters are in runs of three or more lower-case letters; in paths and lists of names about half.
 */
const WORD_LETTERS = 3;
const MOST_IN_WORDS = 0.3;

/** Encoded bytes mix cases and digits and contain hardly any words. */
function isEncoded(text: string, start: number, end: number): boolean {
  let hasUpper = false;
  let hasLower = false;
  let hasDigit = false;
  let inWords = 0;
  let letters = 0;
  for (let at = start; at <= end; at += 1) {
    const unit = at < end ? text.charCodeAt(at) : 0;
    if (unit >= 0x61 && unit <= 0x7a) {
      hasLower = true;
      letters += 1;
      continue;
    }
    if (letters >= WORD_LETTERS) inWords += letters;
    letters = 0;
    if (unit >= 0x41 && unit <= 0x5a) hasUpper = true;
    else if (unit >= 0x30 && unit <= 0x39) hasDigit = true;
  }
  return hasUpper && hasLower && hasDigit && inWords <= MOST_IN_WORDS * (end - start);
}

// ---- JSON inside text ----
// Tools print JSON: one object per line, after a line of text, or cut off. Its strings are decoded, so that `line one\nquokka`
// contains the word `quokka`. One pass over the text.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BEFORE = "{[:,";
const AFTER = ":,}]";
/** Levels of JSON inside JSON strings, such as the arguments of a call that a tool printed. */
const MOST_LEVELS = 4;
/** `C:\new`: in JSON, two backslashes would follow the colon. */
const WINDOWS_PATH = /^[A-Za-z]:\\(?!\\)/;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt])|(?:u[0-9a-fA-F]{0,3})?$)/g;
const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/**
 * Replaces the contents of JSON strings by their decoded form. A JSON string has only valid escapes, follows `{ [ : ,` or the
 * start of the text, and precedes `: , } ]` or the end; it may be cut off by the end of the text. Every other backslash (paths,
 * patterns) stays.
 */
export function withLiteralsDecoded(text: string): string {
  return decoded(text, MOST_LEVELS);
}

function decoded(text: string, levels: number): string {
  if (levels === 0 || !text.includes("\\")) return text;
  // JSON that was cut off, with a note about that on the next line.
  const isJson = /^\s*[{[]/.test(text);
  let result = "";
  let copied = 0;
  let at = text.indexOf('"');
  while (at >= 0) {
    if (!isNextTo(text, at, -1, BEFORE)) {
      at = text.indexOf('"', at + 1);
      continue;
    }
    const { end, hasEscapes, reason } = scan(text, at + 1);
    const isLiteral =
      reason === "quote" ? isNextTo(text, end, 1, AFTER) : reason === "text" || (reason === "line" && isJson);
    if (isLiteral && hasEscapes) {
      const written = text.slice(at + 1, end);
      if (!WINDOWS_PATH.test(written)) {
        result += text.slice(copied, at + 1) + decoded(unescaped(written), levels - 1);
        copied = end;
      }
    }
    // All quotes up to there are escaped and start nothing. A quote that ends no string may start one.
    at = text.indexOf('"', isLiteral ? end + 1 : end);
  }
  return copied === 0 ? text : (result + text.slice(copied)).toWellFormed();
}

type Scanned = {
  /** Where the string ends: at its closing quote, at a line break, at an invalid escape, or with the text. */
  readonly end: number;
  readonly reason: "quote" | "line" | "escape" | "text";
  readonly hasEscapes: boolean;
};

function scan(text: string, from: number): Scanned {
  let hasEscapes = false;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return { end: at, reason: "quote", hasEscapes };
    if (unit === LINE_FEED || unit === CARRIAGE_RETURN) return { end: at, reason: "line", hasEscapes };
    if (unit !== BACKSLASH) continue;
    const length = escapeLength(text, at);
    if (length === 0) return { end: at + 1, reason: "escape", hasEscapes };
    hasEscapes = true;
    at += length - 1;
  }
  return { end: text.length, reason: "text", hasEscapes };
}

/** 0 when it is not a JSON escape. The end of the text may cut it off. */
function escapeLength(text: string, at: number): number {
  const letter = text.charAt(at + 1);
  if (letter !== "u") return letter === "" ? 1 : '"\\/bfnrt'.includes(letter) ? 2 : 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    if (digit >= text.length) return digit - at;
    if (!isHex(text.charCodeAt(digit))) return 0;
  }
  return 6;
}

function isHex(unit: number): boolean {
  const lower = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/** True when the next non-blank character is one of `signs`, or there is none. */
function isNextTo(text: string, from: number, step: 1 | -1, signs: string): boolean {
  let at = from + step;
  while (at >= 0 && at < text.length && isBlank(text.charCodeAt(at))) at += step;
  return at < 0 || at >= text.length || signs.includes(text.charAt(at));
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === LINE_FEED || unit === CARRIAGE_RETURN;
}

function unescaped(written: string): string {
  return written.replace(ESCAPE, (_, digits: string | undefined, letter: string | undefined) => {
    if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
    return letter === undefined ? "" : (ESCAPED[letter] ?? letter);
  });
}
