// Stored rows as readers get them: with decoded values, or as the messages that go back into a model's context.
import { pyStrip } from "../lib/index.ts";
import { sanitizeContext } from "../security/index.ts";
import { decodeContent, parseJsonColumn, type Warn } from "./content.ts";
import { isRefused, REFUSED_BY_POLICY } from "./refused.ts";
import type { ConversationMessage, MessageRow, StoredMessageRow } from "./rows.ts";

export function toMessageRow(stored: StoredMessageRow, warn?: Warn): MessageRow {
  const { origin_id, _compressed_summary: isSummary, ...columns } = stored;
  const report = warnAbout(stored, warn);
  return {
    ...columns,
    content: decodeContent(stored.content, report),
    tool_calls: parseJsonColumn(stored.tool_calls, [], report),
    ...(isSummary === 1 ? { _compressed_summary: true } : {}),
    ...(origin_id === null ? {} : { origin_id }),
  };
}

/** One message per row, in the order of the rows. */
export function toConversation(rows: readonly StoredMessageRow[], warn?: Warn): ConversationMessage[] {
  return rows.map((row) => toConversationMessage(row, warn));
}

/**
 * The conversation of a session and its ancestors, root first. Copies of rows that were shown already are left out, and
 * so is a user message that repeats an earlier one before anybody answered (the prompt given again after a resume).
 */
export function joinLineage(
  segments: readonly (readonly StoredMessageRow[])[],
  warn?: Warn,
): ConversationMessage[] {
  const shown = new Set<number>();
  const conversation: ConversationMessage[] = [];
  const unanswered = new Set<string>(); // what users said since the last answer
  for (const row of segments.flat()) {
    if (row.origin_id !== null && shown.has(row.origin_id)) continue;
    shown.add(row.id);
    if (row.origin_id !== null) shown.add(row.origin_id);
    const message = toConversationMessage(row, warn);
    if (message.role === "user") {
      const said = JSON.stringify(message.content);
      if (unanswered.has(said)) continue;
      unanswered.add(said);
    } else if (message.role === "assistant" && answers(message)) unanswered.clear();
    conversation.push(message);
  }
  return conversation;
}

type Draft = { -readonly [key in keyof ConversationMessage]: ConversationMessage[key] };

function toConversationMessage(row: StoredMessageRow, warn: Warn | undefined): ConversationMessage {
  const report = warnAbout(row, warn);
  const message: Draft = { role: row.role, content: visibleContent(row, report) };
  if (row.timestamp !== 0) message.timestamp = row.timestamp;
  if (row.tool_call_id) message.tool_call_id = row.tool_call_id;
  if (row.tool_name) message.tool_name = row.tool_name;
  if (row.tool_calls) message.tool_calls = parseJsonColumn(row.tool_calls, [], report);
  if (row.platform_message_id) message.message_id = row.platform_message_id;
  if (row.observed) message.observed = true;
  if (row.role === "assistant") addThoughts(message, row, report);
  else if (isRefused(row)) message.finish_reason = REFUSED_BY_POLICY;
  return message;
}

function addThoughts(message: Draft, row: StoredMessageRow, report: Warn | undefined): void {
  if (row.finish_reason) message.finish_reason = row.finish_reason;
  if (row.reasoning) message.reasoning = row.reasoning;
  // Some models demand the field back even when it was empty.
  if (row.reasoning_content !== null) message.reasoning_content = row.reasoning_content;
  for (const column of ["reasoning_details", "codex_reasoning_items", "codex_message_items"] as const)
    if (row[column]) message[column] = parseJsonColumn(row[column], null, report);
}

/** What people and models wrote comes back without the memory that was recalled into it at the time. */
function visibleContent(row: StoredMessageRow, report: Warn | undefined): unknown {
  const content = decodeContent(row.content, report);
  const isDialogue = row.role === "user" || row.role === "assistant";
  return isDialogue && typeof content === "string" ? pyStrip(sanitizeContext(content)) : content;
}

function answers(message: ConversationMessage): boolean {
  return isFilled(message.content) || isFilled(message.tool_calls);
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function warnAbout(row: StoredMessageRow, warn: Warn | undefined): Warn | undefined {
  return warn && ((message) => warn(`Message ${row.id} of session ${row.session_id}: ${message}.`));
}
