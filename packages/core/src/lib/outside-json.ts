// JSON that somebody else wrote: a model, an MCP server, a plugin, another program's rows. Depth and size are bounded here, so
// that whatever walks the value later may do it by recursion. Nothing in this file recurses.
import { groupThousands } from "./text.ts";

export type JsonLimits = {
  /** Levels of lists and objects; a plain value has none. */
  readonly maxDepth: number;
  /** Characters of the text (UTF-16 units). Of a value: about what its text would have. */
  readonly maxChars: number;
};

/**
 * 100 levels: schemas and arguments that people write have fewer than 30, and the stack holds some thousands.
 * 8 Mi characters: as much as one message of an MCP server may have.
 */
export const OUTSIDE_JSON: JsonLimits = { maxDepth: 100, maxChars: 8 * 1024 * 1024 };

export type JsonProblem = {
  readonly kind: "no_json" | "too_deep" | "too_large";
  /** Reads on after "it" or a name: "is nested deeper than 100 levels". Never quotes the text. */
  readonly message: string;
};

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: JsonProblem };

/** The text is measured before it is parsed. */
export function parseOutsideJson(text: string, limits: Partial<JsonLimits> = {}): ParsedJson {
  const { maxDepth, maxChars } = { ...OUTSIDE_JSON, ...limits };
  if (text.length > maxChars) return { ok: false, error: tooLarge(maxChars) };
  if (isDeeperThan(text, maxDepth)) return { ok: false, error: tooDeep(maxDepth) };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (cause) {
    // The error's own text quotes what it was given, which may hold secrets.
    const place = cause instanceof Error ? /position \d+/.exec(cause.message)?.[0] : undefined;
    return {
      ok: false,
      error: { kind: "no_json", message: `is not JSON${place === undefined ? "" : ` from ${place} on`}` },
    };
  }
}

/** The value, or `fallback` for text that is no JSON or exceeds the limits. */
export function outsideJsonOr<T>(text: string, fallback: T, limits?: Partial<JsonLimits>): unknown {
  const parsed = parseOutsideJson(text, limits);
  return parsed.ok ? parsed.value : fallback;
}

/** For values that arrive parsed. Undefined when they are within the limits; a cycle counts as too deep. */
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

/** Follows the nesting of JSON that arrives in pieces, as UTF-16 units or UTF-8 bytes. */
export class JsonNesting {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Levels that are open. */
  get depth(): number {
    return this.#depth;
  }

  step(unit: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (unit === BACKSLASH) this.#isEscaped = true;
      else if (unit === QUOTE) this.#isInString = false;
    } else if (unit === QUOTE) this.#isInString = true;
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) this.#depth += 1;
    else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) this.#depth -= 1;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isDeeperThan(text: string, maxDepth: number): boolean {
  if (text.length <= 2 * maxDepth) return false; // every level is opened and closed
  const nesting = new JsonNesting();
  for (let at = 0; at < text.length; at += 1) {
    nesting.step(text.charCodeAt(at));
    if (nesting.depth > maxDepth) return true;
  }
  return false;
}

function tooDeep(maxDepth: number): JsonProblem {
  return { kind: "too_deep", message: `is nested deeper than ${groupThousands(maxDepth)} levels` };
}

function tooLarge(maxChars: number): JsonProblem {
  return { kind: "too_large", message: `has more than ${groupThousands(maxChars)} characters` };
}
