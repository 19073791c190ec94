// Joins the messages of several sessions into one conversation for a model's context.
import { type OpenAiMessage, type StoredMessageRow, toConversationRow, type Warn } from "../message/index.ts";

/**
 * The conversation of a session and its ancestors, root first. Copies of rows that were shown already are left out, and so is a
 * user message that repeats an earlier one before any answer (the prompt is stored again after a resume).
 */
export function joinLineage(
  segments: readonly (readonly StoredMessageRow[])[],
  warn?: Warn,
): OpenAiMessage[] {
  const shown = new Set<number>();
  const conversation: OpenAiMessage[] = [];
  const unanswered = new Set<string>(); // user messages since the last answer
  for (const row of segments.flat()) {
    if (row.origin_id !== null && shown.has(row.origin_id)) continue;
    shown.add(row.id);
    if (row.origin_id !== null) shown.add(row.origin_id);
    const message = toConversationRow(row, warn);
    if (message.role === "user") {
      const said = JSON.stringify(message.content);
      if (unanswered.has(said)) continue;
      unanswered.add(said);
    } else if (message.role === "assistant" && answers(message)) unanswered.clear();
    conversation.push(message);
  }
  return conversation;
}

function answers(message: OpenAiMessage): boolean {
  return isFilled(message.content) || isFilled(message.tool_calls);
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
