// Keeps an answer small enough for a model's context: the longest texts are cut first, all to the same length.
import { codePointLength, takeCodePoints } from "../../lib/index.ts";
import type { SessionSearchSettings } from "./settings.ts";
import type { ToolMessage } from "./shapes.ts";

/** `mostChars`: of this message, beside what the limits say. */
export type Cut = (message: ToolMessage, focusAt?: number, mostChars?: number) => ToolMessage;

/** A message in an answer, with the most code points its content may have there. */
export type Sized = { readonly message: ToolMessage; readonly mostChars: number };

type Limits = Pick<SessionSearchSettings, "maxMessageChars" | "maxResultChars">;

/** How to cut each of these messages so that all of them together fit. `focusAt`: the place in its content that should stay in sight. */
export function cutterFor(
  messages: readonly (ToolMessage | Sized)[],
  limits: Limits,
  reservedChars = 0,
): Cut {
  const most = limits.maxMessageChars > 0 ? limits.maxMessageChars : Number.POSITIVE_INFINITY;
  const sizes = messages.map((each) => {
    const { message, mostChars } = "mostChars" in each ? each : { message: each, mostChars: most };
    return Math.min(sizeOf(message.content), most, mostChars) + sizeOf(message.tool_calls);
  });
  const level = levelFor(sizes, limits.maxResultChars - reservedChars);
  return (message, focusAt = 0, mostChars = most) =>
    cutMessage(message, Math.min(most, mostChars), level, focusAt);
}

/** The length to which the longest have to be cut for the sum to stay within the budget. */
export function levelFor(sizes: readonly number[], budget: number): number {
  let left = Math.max(0, budget);
  const ascending = sizes.toSorted((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** `most`: of its content alone; `level`: of content and tool calls together. */
export function cutMessage(message: ToolMessage, most: number, level: number, focusAt: number): ToolMessage {
  const content = Math.min(sizeOf(message.content), most);
  const calls = sizeOf(message.tool_calls);
  const each = content + calls <= level ? Number.POSITIVE_INFINITY : levelFor([content, calls], level);
  const cut = cutContent(message, Math.min(most, each), focusAt);
  if (calls <= each) return cut;
  return { ...cut, tool_calls: shrink(cut.tool_calls, each), content_truncated: true };
}

function cutContent(message: ToolMessage, most: number, focusAt: number): ToolMessage {
  const { content } = message;
  if (sizeOf(content) <= most) return message;
  const cut = typeof content === "string" ? cutText(content, most, focusAt) : shrink(content, most);
  // A message that was cut before keeps its first length.
  const original_content_chars = message.original_content_chars ?? sizeOf(content);
  return { ...message, content: cut, content_truncated: true, original_content_chars };
}

const ELLIPSIS = "…";

/**
 * The beginning, or what is around the focus when that would be lost: a quarter before it, the rest behind. `…` stands where
 * something is missing and counts.
 */
function cutText(text: string, most: number, focusAt: number): string {
  if (most <= 2) return takeCodePoints(text, most);
  const isNearStart = focusAt <= (most * 3) / 4;
  if (isNearStart) return `${takeCodePoints(text, most - 1)}${ELLIPSIS}`;
  const start = Math.min(focusAt - Math.floor(most / 4), Math.max(0, text.length - most + 1));
  const isInsidePair = /^[\udc00-\udfff]/.test(text.charAt(start));
  const rest = text.slice(isInsidePair ? start + 1 : start);
  const isEnd = codePointLength(rest) <= most - 1;
  return isEnd ? `${ELLIPSIS}${rest}` : `${ELLIPSIS}${takeCodePoints(rest, most - 2)}${ELLIPSIS}`;
}

/** Structured values keep their structure: their long strings become shorter. What is all structure becomes text. */
function shrink(value: unknown, most: number): unknown {
  for (let longest = most; longest >= 16; longest = Math.floor(longest / 2)) {
    const smaller = withShortStrings(value, longest);
    if (sizeOf(smaller) <= most) return smaller;
  }
  return takeCodePoints(JSON.stringify(value), most);
}

function withShortStrings(value: unknown, longest: number): unknown {
  if (typeof value === "string") return takeCodePoints(value, longest);
  if (Array.isArray(value)) return value.map((item) => withShortStrings(item, longest));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withShortStrings(item, longest)]),
  );
}

function sizeOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return codePointLength(typeof value === "string" ? value : JSON.stringify(value));
}
