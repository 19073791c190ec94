// How the content of a message is kept in its one text column: plain text as it is, anything with structure as JSON
// behind a prefix that no text begins with.
import { inspect } from "node:util";
import { hasLoneSurrogate, parseOutsideJson } from "../lib/index.ts";
import { parseContent } from "./openai.ts";
import { textOf } from "./text.ts";

export type Warn = (message: string) => void;

export const STRUCTURED_PREFIX = "\u0000json:";

/** A picture is stored inside its message, so only the depth is bounded. */
const STORED = { maxChars: Number.POSITIVE_INFINITY };

/** What readers show for content that has no text in it. */
const NO_TEXT = "[multimodal content]";

export function encodeContent(value: unknown): string | null {
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
      return encodeText(value);
    case "boolean":
      return value ? "1" : "0"; // what SQLite makes of the original's booleans
    case "object":
      if (value === null) return null;
      if (value instanceof Uint8Array) return encodeText(decodeUtf8(value));
      return encodeStructure(value);
    default:
      return encodeText(stringForm(value));
  }
}

export function decodeContent(stored: string | Uint8Array | null, warn?: Warn): unknown {
  if (stored === null) return null;
  const text = typeof stored === "string" ? stored : decodeUtf8(stored);
  if (!text.startsWith(STRUCTURED_PREFIX)) return text;
  const parsed = parseOutsideJson(text.slice(STRUCTURED_PREFIX.length), STORED);
  if (parsed.ok) return parsed.value;
  warn?.(
    parsed.error.kind === "no_json"
      ? "its structured content is no valid JSON and is given as the text it is"
      : `its structured content ${parsed.error.message} and is given as the text it is`,
  );
  return text;
}

/** The text in decoded content, or null when it has none. Text parts are joined by a blank. */
export function plainText(value: unknown): string | null {
  const content = parseContent(value);
  if (content === null || typeof content === "string") return content ?? "";
  return textOf(content, { separator: " " }) || null;
}

/** `plainText`, with a stand-in for content that has none. */
export function contentText(value: unknown): string {
  return plainText(value) ?? NO_TEXT;
}

/**
 * The value of a JSON column: null for NULL and for empty text, `fallback` for text that is no JSON. Text that is too deep is
 * given as it is, so that an export still has it; no reader takes a text for calls or thoughts.
 */
export function parseJsonColumn(text: string | null, fallback: unknown, warn?: Warn): unknown {
  if (text === null || text === "") return null;
  const parsed = parseOutsideJson(text, STORED);
  if (parsed.ok) return parsed.value;
  if (parsed.error.kind === "no_json") {
    warn?.("a JSON column of it holds no valid JSON and is left out");
    return fallback;
  }
  warn?.(`a JSON column of it ${parsed.error.message} and is given as the text it is`);
  return text;
}

/** Never fails, unlike `String`. Objects that JSON cannot write come out as Node prints them, so nothing in them is lost. */
export function stringForm(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return inspect(value, {
    depth: 20,
    maxArrayLength: null,
    maxStringLength: null,
    breakLength: Number.POSITIVE_INFINITY,
    customInspect: false, // it could throw
  });
}

/** Bytes that are no UTF-8 become U+FFFD; a byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

// U+0000 would be cut off by other libraries, and half a surrogate pair has no UTF-8. JSON has an escape for both.
function encodeText(text: string): string {
  return text.includes("\u0000") || hasLoneSurrogate(text) ? STRUCTURED_PREFIX + JSON.stringify(text) : text;
}

function encodeStructure(value: object): string {
  try {
    const json: string | undefined = JSON.stringify(value);
    if (json !== undefined) return STRUCTURED_PREFIX + json;
  } catch {
    // A cycle or a bigint: no JSON, but still worth keeping.
  }
  return encodeText(stringForm(value));
}
