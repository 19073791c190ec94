// The handoff: the message that replaces compacted turns. How it is written, how an earlier one is recognised and read, and how
// the list is assembled around it. Other programs match the markers, so they never change.
import { pyStrip } from "../../lib/index.ts";
import {
  type Content,
  type Message,
  newMessage,
  partsOf,
  roleOf,
  textOf,
  toolCallsOf,
  withMeta,
} from "../../message/index.ts";
import type { StoredMessages } from "../engine.ts";
import { repairPairs } from "../list-repair.ts";
import { stripOldMedia } from "./prune.ts";

export const HANDOFF_MARKER = "[CONTEXT COMPACTION — REFERENCE ONLY]";
const HYPHEN_MARKER = "[CONTEXT COMPACTION - REFERENCE ONLY]";
const LEGACY_MARKER = "[CONTEXT SUMMARY]:";
export const HANDOFF_END =
  "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---";

const PREFIX_START =
  `${HANDOFF_MARKER} What follows was handed over from an earlier window of this conversation and is background only. ` +
  "Requests in it have been dealt with already; answer only the newest user message after it, which wins even where both are about the same topic. " +
  "Leave the sections whose heading says Historical alone unless you are asked about them. Words such as stop, undo or never mind in a newer message end older work at once. " +
  "MEMORY.md and USER.md remain authoritative. Files and other state may already reflect the work described here. " +
  "Turns that are not in it word for word ";

/** One line. The body follows the first newline. */
export function handoffPrefix(stored: StoredMessages | undefined): string {
  switch (stored) {
    case "searchable":
      return `${PREFIX_START}can be looked up with session_search (scope lineage):`;
    case "kept":
      return `${PREFIX_START}are still stored:`;
    default:
      return `${PREFIX_START}are not kept:`;
  }
}

/** First line of a task list; other programs match on it. */
const TASK_LIST_START = "[Your active task list was preserved across context compression]";
const NOTE_START = "[Note: Some earlier conversation turns have been compacted";
export const COMPACTION_NOTE = `${NOTE_START} into a handoff message to save room. Build on it instead of doing the work again. MEMORY.md and USER.md remain authoritative.]`;

export function handoffText(body: string, stored?: StoredMessages): string {
  return `${handoffPrefix(stored)}\n${withoutEnd(body)}\n\n${HANDOFF_END}`;
}

/** The same handoff with another body. */
export function withOtherBody(text: string, body: string): string {
  const prefix = /^[^\n]*/.exec(pyStrip(text))?.[0] ?? "";
  return `${prefix}\n${withoutEnd(body)}\n\n${HANDOFF_END}`;
}

/** For lists where every token counts. */
export function briefHandoffText(body: string): string {
  return `${HANDOFF_MARKER} Background only.\n${withoutEnd(body)}\n\n${HANDOFF_END}`;
}

/** Also true for a message whose own text follows the handoff. */
export function isHandoff(message: Message): boolean {
  if (message.meta.isHandoff === true) return true;
  if (message.role !== "user" && message.role !== "assistant") return false;
  return markerOf(firstText(message.content)) !== undefined;
}

/** The summary in a handoff, without prefix and end marker; undefined when there is none. */
export function handoffBody(message: Message): string | undefined {
  return isHandoff(message) ? bodyIn(firstText(message.content)) : undefined;
}

/** The same for a text written by a model; the text itself when it has no marker. */
export function withoutFrame(text: string): string {
  return (markerOf(text) === undefined ? undefined : bodyIn(text)) ?? text;
}

/** A text without a marker is the summary as a whole: another program flagged the message without writing the markers. */
function bodyIn(framed: string): string | undefined {
  const text = pyStrip(framed);
  const marker = markerOf(text);
  // Without a second line, a user typed the marker, and the text behind it is the body.
  const isOneLine = marker === LEGACY_MARKER || !text.includes("\n");
  const start = marker === undefined ? 0 : isOneLine ? marker.length : text.indexOf("\n") + 1;
  const end = text.indexOf(HANDOFF_END, start);
  return pyStrip(text.slice(start, end < 0 ? undefined : end)) || undefined;
}

/** The text the author wrote behind the handoff; undefined when the message is only a handoff. */
export function withoutHandoff(message: Message): Message | undefined {
  if (!isHandoff(message)) return message;
  const { content } = message;
  const own = ownText(firstText(content));
  const rest = typeof content === "string" ? [] : (content ?? []).slice(1);
  if (own === "" && rest.length === 0 && toolCallsOf(message).length === 0) return undefined;
  const kept = typeof content === "string" || content === null ? own : [...partsOf(own), ...rest];
  return { ...withMeta(message, { isHandoff: undefined }), content: kept };
}

/** The current task list, which the agent repeats after a compaction in the role of the user. */
export function isTaskList(message: Message): boolean {
  return message.role === "user" && pyStrip(firstText(message.content)).startsWith(TASK_LIST_START);
}

/** Adds the note that turns were compacted to a system message, once. */
export function withCompactionNote(message: Message): Message {
  const { content } = message;
  if (textOf(content).includes(NOTE_START)) return message;
  if (content === null || content === "") return { ...message, content: COMPACTION_NOTE };
  if (typeof content === "string") return { ...message, content: `${content}\n\n${COMPACTION_NOTE}` };
  return { ...message, content: [...content, { type: "text", text: COMPACTION_NOTE }] };
}

function markerOf(text: string): string | undefined {
  const start = pyStrip(text);
  return [HANDOFF_MARKER, HYPHEN_MARKER, LEGACY_MARKER].find((marker) => start.startsWith(marker));
}

/** Text behind an end marker would look like the user's own. Removing one marker can join text into another, so this repeats. */
function withoutEnd(body: string): string {
  let text = body;
  while (text.includes(HANDOFF_END)) text = text.replaceAll(HANDOFF_END, "");
  return text;
}

/** Behind the end marker and the blank line that was added there. */
function ownText(text: string): string {
  const end = text.indexOf(HANDOFF_END);
  if (end < 0) return "";
  const own = text.slice(end + HANDOFF_END.length);
  if (pyStrip(own) === "") return "";
  return own.startsWith("\n\n") ? own.slice(2) : own;
}

function firstText(content: Content): string {
  if (typeof content === "string") return content;
  const first = content?.[0];
  return first?.type === "text" ? first.text : "";
}

// The list after a compaction: head, handoff, tail, with roles that a model accepts.

export type Boundaries = {
  /** Messages before this index stay. */
  readonly headEnd: number;
  /** Messages from this index on stay. Equal to `headEnd` when there is nothing to summarise. */
  readonly tailStart: number;
  /** Index of a user message between the two that is repeated word for word behind the summary. */
  readonly keptUser?: number;
};

export type Assembled = {
  readonly messages: readonly Message[];
  readonly summaryIndex: number;
  /** The handoff was put in front of another message's own text. */
  readonly isMerged: boolean;
};

export function assemble(
  messages: readonly Message[],
  { headEnd, tailStart, keptUser }: Boundaries,
  body: string,
  write: (body: string) => string = (text) => handoffText(text),
): Assembled {
  const text = write(body);
  const head = messages.slice(0, headEnd);
  if (head[0] !== undefined && roleOf(head[0]) === "system") head[0] = withCompactionNote(head[0]);
  const kept = keptUser === undefined ? [] : messages.slice(keptUser, keptUser + 1);
  const [first, ...others] = [...kept, ...messages.slice(tailStart)];
  const handoff = standalone("user", text);
  // The body of an old handoff in front of the first message's text is part of the new handoff.
  const own = first === undefined ? undefined : withoutHandoff(first);
  const joined = repairPairs([...head, handoff, ...(own ? [own] : []), ...others]);

  // Roles are chosen after the repair, which may add and remove neighbours.
  const at = joined.indexOf(handoff);
  const before = joined[at - 1];
  const after = joined[at + 1];
  const role = handoffRole(before && roleOf(before), after && roleOf(after));
  const isMerged = role === "merge" && after !== undefined;
  const whole = isMerged
    ? joined.toSpliced(at, 2, withHandoff(after, text))
    : joined.toSpliced(at, 1, standalone(role === "merge" ? "user" : role, text));
  return { messages: stripOldMedia(whole), summaryIndex: at, isMerged };
}

/** Neither neighbour may have the same role. If both roles are taken, the handoff joins the message behind it. */
function handoffRole(before: string | undefined, after: string | undefined): "user" | "assistant" | "merge" {
  switch (before) {
    case "user":
    case undefined:
      return after === "assistant" ? "merge" : "assistant";
    case "assistant":
      return after === "user" ? "merge" : "user";
    default:
      return after === "user" ? "assistant" : "user";
  }
}

function standalone(role: "user" | "assistant", content: string): Message {
  const meta = { isHandoff: true } as const;
  return role === "user"
    ? newMessage({ role, content }, meta)
    : newMessage({ role, content, toolCalls: [] }, meta);
}

function withHandoff(message: Message, text: string): Message {
  const before = `${text}\n\n`;
  const { content } = message;
  const whole: Content = Array.isArray(content)
    ? [{ type: "text", text: before }, ...content]
    : `${before}${content ?? ""}`;
  return { ...withMeta(message, { isHandoff: true }), content: whole };
}
