// The message that stands for compacted turns: how it is written, and how an earlier one is recognised and read again.
// The markers are matched by other programs and never change.
import { pyStrip } from "../../lib/index.ts";
import { type ContextMessage, isRecord, shownText, toolCallsOf } from "../message.ts";

export const HANDOFF_MARKER = "[CONTEXT COMPACTION — REFERENCE ONLY]";
const HYPHEN_MARKER = "[CONTEXT COMPACTION - REFERENCE ONLY]";
const LEGACY_MARKER = "[CONTEXT SUMMARY]:";
export const HANDOFF_END =
  "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---";

/** One line. What follows the first newline is the body. */
export const HANDOFF_PREFIX =
  `${HANDOFF_MARKER} What follows was handed over from an earlier window of this conversation and is background only. ` +
  "Requests in it have been dealt with already; answer only the newest user message after it, which wins even where both are about the same topic. " +
  "Leave the sections whose heading says Historical alone unless you are asked about them. Words such as stop, undo or never mind in a newer message end older work at once. " +
  "MEMORY.md and USER.md remain authoritative. Files and other state may already reflect the work described here. " +
  "Turns that are not in it word for word can be looked up with session_search (scope lineage):";

/** First line of the list; other programs match on it. */
const TASK_LIST_START = "[Your active task list was preserved across context compression]";
const NOTE_START = "[Note: Some earlier conversation turns have been compacted";
export const COMPACTION_NOTE = `${NOTE_START} into a handoff message to save room. Build on it instead of doing the work again. MEMORY.md and USER.md remain authoritative.]`;

export function handoffText(body: string): string {
  return `${HANDOFF_PREFIX}\n${withoutEnd(body)}\n\n${HANDOFF_END}`;
}

/** Where every token counts. */
export function briefHandoffText(body: string): string {
  return `${HANDOFF_MARKER} Background only.\n${withoutEnd(body)}\n\n${HANDOFF_END}`;
}

/** Also a message whose own text follows the handoff. */
export function isHandoff(message: ContextMessage): boolean {
  if (message._compressed_summary === true) return true;
  if (message.role !== "user" && message.role !== "assistant") return false;
  return markerOf(firstText(message.content)) !== undefined;
}

/** The summary in a handoff, without prefix and end marker; undefined when there is none. */
export function handoffBody(message: ContextMessage): string | undefined {
  if (!isHandoff(message)) return undefined;
  const text = pyStrip(firstText(message.content));
  const marker = markerOf(text);
  // Flagged, but written by something that does not know the markers: all of it may be summary.
  const start = marker === undefined ? 0 : marker === LEGACY_MARKER ? marker.length : lineAfter(text, marker);
  const end = text.indexOf(HANDOFF_END, start);
  return pyStrip(text.slice(start, end < 0 ? undefined : end)) || undefined;
}

/** What the author of the message wrote himself, as it was; undefined when it is nothing but a handoff. */
export function withoutHandoff(message: ContextMessage): ContextMessage | undefined {
  if (!isHandoff(message)) return message;
  const { _compressed_summary, content, ...rest } = message;
  const hasCalls = toolCallsOf(message).length > 0;
  if (Array.isArray(content)) {
    const own = ownText(firstText(content));
    const parts: unknown[] =
      own === "" ? content.slice(1) : [{ type: "text", text: own }, ...content.slice(1)];
    return parts.length === 0 && !hasCalls ? undefined : { ...rest, content: parts };
  }
  const own = ownText(firstText(content));
  return own === "" && !hasCalls ? undefined : { ...rest, content: own };
}

/** The tasks of the moment, which the agent repeats after a compaction in the role of the user. */
export function isTaskList(message: ContextMessage): boolean {
  return message.role === "user" && pyStrip(firstText(message.content)).startsWith(TASK_LIST_START);
}

/** A system message that says once that turns were compacted. */
export function withCompactionNote(message: ContextMessage): ContextMessage {
  const { content } = message;
  if (typeof content === "string" || content === null || content === undefined) {
    const text = content ?? "";
    if (text.includes(NOTE_START)) return message;
    return { ...message, content: text === "" ? COMPACTION_NOTE : `${text}\n\n${COMPACTION_NOTE}` };
  }
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const isThere = parts.some((part) => isRecord(part) && shownText(part.text).includes(NOTE_START));
  return isThere ? message : { ...message, content: [...parts, { type: "text", text: COMPACTION_NOTE }] };
}

const [SPACE, DELETE, BRACKET] = [0x20, 0x7f, 0x5b];

function markerOf(text: string): string | undefined {
  const first = text.charCodeAt(0);
  if (first > SPACE && first < DELETE && first !== BRACKET) return undefined; // nearly every message ends here
  const start = pyStrip(text);
  return [HANDOFF_MARKER, HYPHEN_MARKER, LEGACY_MARKER].find((marker) => start.startsWith(marker));
}

/** Where there is no other line, somebody wrote the marker himself, and what follows it is all he said. */
function lineAfter(text: string, marker: string): number {
  const at = text.indexOf("\n");
  return at < 0 ? marker.length : at + 1;
}

/** What follows an end marker looks like the user's own words. Taking one out can put together another one around it. */
function withoutEnd(body: string): string {
  let text = body;
  while (text.includes(HANDOFF_END)) text = text.replaceAll(HANDOFF_END, "");
  return text;
}

/** Behind the end marker and the blank line that was put there. */
function ownText(text: string): string {
  const end = text.indexOf(HANDOFF_END);
  if (end < 0) return "";
  const own = text.slice(end + HANDOFF_END.length);
  if (pyStrip(own) === "") return "";
  return own.startsWith("\n\n") ? own.slice(2) : own;
}

function firstText(content: unknown): string {
  if (typeof content === "string") return content;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  if (typeof first === "string") return first;
  return isRecord(first) && typeof first.text === "string" ? first.text : "";
}
