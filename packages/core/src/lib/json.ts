// JSON from outside: a model, an MCP server, a plugin, rows of another program. Depth and size are limited here, so that
// code further in may walk the value recursively. Nothing in this file recurses.
import { groupThousands } from "./text.ts";

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
