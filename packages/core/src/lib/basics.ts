// The words that every other file uses: results and errors, values and JSON from outside, text, time and ids, paths.
import { hash, randomUUID } from "node:crypto";
import nodePath, { type PlatformPath } from "node:path";

// ---- Failures: those a caller can expect travel as a `Result`, a broken environment as a thrown `HermesError` ----

/** The outcome of a call that can fail in ways a caller handles. Layers return it; the door throws `HermesError` instead. */
export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

/** A successful `Result`. */
export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** A failed `Result`. */
export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error };
}

/** Thrown for a full disk, missing permissions, a damaged file and the like. The CLI, MCP server and agent each render it in one place. */
export class HermesError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "HermesError";
    this.code = code;
    this.hint = options.hint;
  }
}

/** The `code` of a system error (`ENOENT`, `EACCES`, ...), or undefined for any other value. */
export function errnoCode(cause: unknown): string | undefined {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return undefined;
  return typeof cause.code === "string" ? cause.code : undefined;
}

/** The extended result code of an error that came from SQLite; its low byte is the primary code. */
export function sqliteCode(cause: unknown): number | undefined {
  if (typeof cause !== "object" || cause === null || !("errcode" in cause)) return undefined;
  return typeof cause.errcode === "number" ? cause.errcode : undefined;
}

/** The message of a caught value. */
export function describeCause(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

// ---- Values, and JSON from outside: a model, an MCP server, a plugin, rows of another program ----
// Depth and size are limited here, so that code further in may walk the value recursively. Nothing in this section recurses.

/** An object that is neither an array nor null. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** For an argument that a model left out: some send null or an empty text instead. */
export function isAbsent(value: unknown): value is undefined | null | "" {
  return value === undefined || value === null || value === "";
}

export function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** A copy without the fields that are undefined, for rows and requests where a key must be absent. */
export function withoutUndefined<T extends object>(value: T): T {
  const source = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(source)) if (source[key] !== undefined) copy[key] = source[key];
  return copy as T;
}

export type JsonLimits = {
  /** Nested arrays and objects; 0 for a string or number. */
  readonly maxDepth: number;
  /** UTF-16 units of the text. For a parsed value: approximately the length of its JSON. */
  readonly maxChars: number;
  /** Fields and items of a text, at any depth. Millions of small ones take far longer to parse than one string of the same length. */
  readonly maxValues?: number;
};

/**
 * 100 levels: hand-written schemas and arguments have fewer than 30, and the stack overflows after some thousands.
 * 8 Mi characters: also the limit for one message of an MCP server.
 */
export const OUTSIDE_JSON: JsonLimits = { maxDepth: 100, maxChars: 8 * 1024 * 1024 };

export type JsonProblem = {
  readonly kind: "no_json" | "too_deep" | "too_large" | "too_many";
  /** A predicate for the caller's sentence: "is nested deeper than 100 levels". Never quotes the text. */
  readonly message: string;
};

type ParsedJson =
  | { readonly ok: true; readonly value: unknown /** As `maxValues` counts them. */; readonly values: number }
  | { readonly ok: false; readonly error: JsonProblem };

/** Checks length, depth and number of values before parsing. */
export function parseOutsideJson(text: string, limits: Partial<JsonLimits> = {}): ParsedJson {
  const { maxDepth, maxChars, maxValues = Number.POSITIVE_INFINITY } = { ...OUTSIDE_JSON, ...limits };
  // Columns that another program wrote may hold bytes.
  if (typeof text !== "string") return { ok: false, error: { kind: "no_json", message: "is not text" } };
  if (text.length > maxChars) return { ok: false, error: tooLarge(maxChars) };
  const values = countValues(text, maxDepth, maxValues);
  if (typeof values !== "number") return { ok: false, error: values };
  try {
    return { ok: true, value: JSON.parse(text), values };
  } catch (cause) {
    // Not the error's own message: it quotes the input, which may hold secrets.
    const place = cause instanceof Error ? /position \d+/.exec(cause.message)?.[0] : undefined;
    return {
      ok: false,
      error: { kind: "no_json", message: `is not JSON${place === undefined ? "" : ` from ${place} on`}` },
    };
  }
}

/** The parsed value, or `fallback` for text that is not JSON or exceeds the limits. */
export function outsideJsonOr<T>(text: string, fallback: T, limits?: Partial<JsonLimits>): unknown {
  const parsed = parseOutsideJson(text, limits);
  return parsed.ok ? parsed.value : fallback;
}

/** For values that arrive parsed. Undefined when the value is within the limits; a cycle counts as too deep. */
export function outsideJsonProblem(
  value: unknown,
  limits: Partial<JsonLimits> = {},
): JsonProblem | undefined {
  const { maxDepth, maxChars } = { ...OUTSIDE_JSON, ...limits };
  const waiting: { readonly item: unknown; readonly depth: number }[] = [{ item: value, depth: 0 }];
  let chars = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { item, depth } = next;
    chars += typeof item === "string" ? item.length + 2 : 1;
    if (typeof item === "object" && item !== null) {
      if (depth >= maxDepth) return tooDeep(maxDepth);
      for (const key of Object.keys(item)) {
        if (!Array.isArray(item)) chars += key.length + 3;
        if (chars + waiting.length > maxChars) return tooLarge(maxChars);
        waiting.push({ item: (item as Readonly<Record<string, unknown>>)[key], depth: depth + 1 });
      }
    }
    if (chars > maxChars) return tooLarge(maxChars);
  }
  return undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;

/** In one loop: 30 MB take about 30 ms. */
function countValues(text: string, maxDepth: number, maxValues: number): number | JsonProblem {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at += 1;
      for (let inside = text.charCodeAt(at); at < text.length && inside !== QUOTE; ) {
        at += inside === BACKSLASH ? 2 : 1;
        inside = text.charCodeAt(at);
      }
    } else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) return tooDeep(maxDepth);
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1;
    else if (unit === COMMA) values += 1;
    if (values > maxValues)
      return { kind: "too_many", message: `has more than ${groupThousands(maxValues)} values` };
  }
  return values;
}

function tooDeep(maxDepth: number): JsonProblem {
  return { kind: "too_deep", message: `is nested deeper than ${groupThousands(maxDepth)} levels` };
}

function tooLarge(maxChars: number): JsonProblem {
  return { kind: "too_large", message: `has more than ${groupThousands(maxChars)} characters` };
}

// ---- Text in Python's terms, because Python programs share our files: lengths and cuts in code points, `str.strip` ----

const STRIPPED = new Set<number>([
  0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002,
  0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
]);

const HIGH_SURROGATE = /[\ud800-\udbff]/;

/** Whitespace in Python's sense. Differs from JS: no U+FEFF, but U+001C-001F and U+0085. All are BMP characters. */
export function isWhitespaceUnit(unit: number): boolean {
  return STRIPPED.has(unit);
}

export function codePointLength(text: string): number {
  if (!HIGH_SURROGATE.test(text)) return text.length;
  let length = text.length;
  for (let i = 0; i < text.length - 1; i += 1) {
    if (isPairAt(text, i)) {
      length -= 1;
      i += 1;
    }
  }
  return length;
}

/** The first `count` code points. Never cuts a surrogate pair. */
export function takeCodePoints(text: string, count: number): string {
  if (text.length <= count) return text;
  let index = 0;
  for (let taken = 0; taken < count && index < text.length; taken += 1)
    index += isPairAt(text, index) ? 2 : 1;
  return text.slice(0, index);
}

/** `count` code points, starting with number `start`, counted from 0. Never cuts a surrogate pair. */
export function sliceCodePoints(text: string, start: number, count: number): string {
  const from = HIGH_SURROGATE.test(text) ? takeCodePoints(text, start).length : start;
  return takeCodePoints(text.slice(from), count);
}

/** `takeCodePoints`, followed by `...` when the text was cut. */
export function preview(text: string, count: number): string {
  const head = takeCodePoints(text, count);
  return head.length < text.length ? `${head}...` : text;
}

/** Python's `str.strip()`. `String.trim` would remove a byte order mark, which the threat scanner has to see. */
export function pyStrip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isWhitespaceUnit(text.charCodeAt(start))) start += 1;
  while (end > start && isWhitespaceUnit(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

/** CRLF and lone CR become LF, as Python's text mode reads them. */
export function normalizeNewlines(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

/** Changes only A-Z, as SQLite does. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** `12345` -> `12,345`, whatever the locale. */
export function groupThousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Whole percent of a limit: truncated, at most 100, 0 for a limit of 0. Divide before multiplying: the Python original does, and the rounded result differs otherwise. */
export function percentOf(current: number, limit: number): number {
  if (limit <= 0) return 0;
  return Math.min(100, Math.trunc((current / limit) * 100));
}

/** `syncTurn` -> `sync_turn`. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isPairAt(text: string, index: number): boolean {
  const high = text.charCodeAt(index);
  if (high < 0xd800 || high > 0xdbff) return false;
  const low = text.charCodeAt(index + 1);
  return low >= 0xdc00 && low <= 0xdfff;
}

// ---- Time, ids and the text model. Clock and text model are passed in, so that tests can replace them ----

/** Tells the time. Pass one of your own in tests. */
export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };

let lastMs = 0;
let inLastMs = 0;

/** `nowMs` in seconds, made strictly increasing within a millisecond, so that records sort in the order they were made. */
export function distinctSeconds(nowMs: number): number {
  inLastMs = nowMs === lastMs ? inLastMs + 1 : 0;
  lastMs = nowMs;
  return nowMs / 1000 + inLastMs / 1_000_000;
}

/** How summaries, titles and query expansion ask a language model. */
export interface TextModel {
  complete(request: {
    system?: string;
    prompt: string;
    maxOutputTokens?: number;
    signal?: AbortSignal;
  }): Promise<string>;
}

/**
 * `bytes` random bytes in lower-case hex: 4 give the 8-digit ids of pending writes and journal lines.
 * Cut from a UUID, because Node generates UUIDs from a pool of random bytes; `randomBytes` makes a system call each time.
 */
export function randomHex(bytes: 4 | 6): string {
  const uuid = randomUUID();
  return `${uuid.slice(0, 8)}${uuid.slice(9, 13)}`.slice(0, bytes * 2); // the twelve digits before the version digit
}

/** In lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** True for every name and offset that this Node's `Intl` knows. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false; // the constructor throws a RangeError for an unknown name
  }
}

// ---- Paths ----

/** Whether the path is the folder or below it, as both are written: resolve links first where they matter. */
export function isWithin(folder: string, path: string, places: PlatformPath = nodePath): boolean {
  const inner = places.relative(folder, path);
  return inner.split(places.sep)[0] !== ".." && !places.isAbsolute(inner);
}

/** Rejects with the signal's reason on abort, even if the work ignores the signal. Leaves no listener on it. */
export async function untilAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}
