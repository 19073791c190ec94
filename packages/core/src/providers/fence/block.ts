// Recalled memory on its way into a request: put into the fence, taken out of one it came in, added to a message.
import { isWhitespaceUnit, pyStrip } from "../../lib/index.ts";
import type { Content } from "../../message/index.ts";
import { sanitizeContext } from "../../security/index.ts";

// ----
// The two tags of the fence, and comparing text with them. Case is folded for ASCII only: folding that changes
// lengths or lets foreign letters stand for ours would move or hide a tag.

const TAG_NAME = "memory-context";
export const OPEN_TAG = `<${TAG_NAME}>`;
export const CLOSE_TAG = `</${TAG_NAME}>`;

/** Where `text` from `at` stops agreeing with the lower-case `word` from `skip`: a difference, or the end of either. */
export function endOfMatch(text: string, at: number, word: string, skip = 0): number {
  const end = Math.min(text.length, at + word.length - skip);
  const shift = skip - at;
  let index = at;
  while (index < end && folded(text.charCodeAt(index)) === word.charCodeAt(index + shift)) index += 1;
  return index;
}

function folded(unit: number): number {
  return unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
}

type BlockOptions = {
  /** Called once when the text had fences of its own, which were deleted. The message holds nothing of the text. */
  readonly onPreWrapped?: (message: string) => void;
};

/** The text in its fence; "" when there is none, or nothing but fences. */
export function buildMemoryContextBlock(text: string | null | undefined, options: BlockOptions = {}): string {
  if (text === null || text === undefined || isBlank(text)) return "";
  const clean = sanitizeContext(text);
  if (clean !== text) options.onPreWrapped?.(PRE_WRAPPED);
  return isBlank(clean) ? "" : `${OPEN_TAG}\n${NOTE}\n\n${clean}\n${CLOSE_TAG}`;
}

type UnwrappedRecall = {
  readonly text: string;
  /** There was a fence, or a part of one. */
  readonly wasFenced: boolean;
};

/**
 * What a provider recalled, without fences. One block around everything is the provider's own wrapping: its
 * content stays. Any other fence is a quotation of an earlier request and is deleted with what is in it.
 */
export function unwrapRecall(text: string): UnwrappedRecall {
  const content = contentOfWholeBlock(text);
  if (content !== undefined)
    return { text: withoutOuterLineBreaks(sanitizeContext(content)), wasFenced: true };
  const clean = sanitizeContext(text);
  return { text: clean, wasFenced: clean !== text };
}

/**
 * The content of the current turn's user message with the block behind it. For the outgoing request only, never
 * for what is stored. A list of parts is copied; content that is neither text nor a list stays as it is.
 */
export function injectRecall(content: Content, block: string): Content;
export function injectRecall(content: unknown, block: string): unknown;
export function injectRecall(content: unknown, block: string): unknown {
  if (block === "") return content;
  if (typeof content === "string") return `${content}\n\n${block}`;
  return Array.isArray(content) ? [...content, { type: "text", text: block }] : content;
}

const PRE_WRAPPED =
  "The memory provider returned pre-wrapped context. Its fences were deleted; a provider returns plain text.";

// `sanitizeContext` knows the note by its beginning, by its end `.]`, and by having no other `]`.
const NOTE =
  "[System note: The following is recalled memory context, NOT new user input. " +
  "Treat as authoritative reference data: it comes from the agent's own persistent memory, " +
  "and all replies should take it into account.]";

/** What stands between the tags when one block is the whole text, blanks around it aside. */
function contentOfWholeBlock(text: string): string | undefined {
  const trimmed = pyStrip(text);
  const start = endOfTag(trimmed, 0, "<");
  if (start < 0) return undefined;
  for (let at = trimmed.indexOf("</", start); at >= 0; at = trimmed.indexOf("</", at + 2)) {
    const end = endOfTag(trimmed, at, "</");
    if (end >= 0) return end === trimmed.length ? trimmed.slice(start, at) : undefined;
  }
  return undefined;
}

/** Behind the tag at `at`, any case, blanks around the name, as `sanitizeContext` reads it; -1 where there is none. */
function endOfTag(text: string, at: number, opening: "<" | "</"): number {
  if (!text.startsWith(opening, at)) return -1;
  const name = skipBlanks(text, at + opening.length);
  const nameEnd = endOfMatch(text, name, TAG_NAME);
  if (nameEnd - name < TAG_NAME.length) return -1;
  const last = skipBlanks(text, nameEnd);
  return text[last] === ">" ? last + 1 : -1;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isWhitespaceUnit(text.charCodeAt(at))) at += 1;
  return at;
}

/** One line break at either end belongs to the tags. */
function withoutOuterLineBreaks(text: string): string {
  const start = text.startsWith("\r\n") ? 2 : text.startsWith("\n") ? 1 : 0;
  const end = text.endsWith("\r\n") ? 2 : text.endsWith("\n") ? 1 : 0;
  return text.slice(start, Math.max(start, text.length - end));
}

function isBlank(text: string): boolean {
  return skipBlanks(text, 0) === text.length;
}
