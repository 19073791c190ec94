// Messages on their way through a compaction: as they are stored going in, as the model is to read them coming out.
import { type ContextMessage, isTaskList } from "@hermes-memory/core/context";
import type { AgentCore } from "../core.ts";
import { type AgentMessage, newMessage } from "../message.ts";

/** What the database has of a message is what a summary and its copy may hold. */
export function asStored(message: AgentMessage): AgentMessage {
  if (!("_stored_content" in message)) return message;
  const { _stored_content: content, ...rest } = message;
  return { ...rest, content };
}

/** The list after a compaction, with what is still to do. */
export function compactedList(core: AgentCore, messages: readonly ContextMessage[]): readonly AgentMessage[] {
  const now = core.nowSeconds;
  const tasks = core.parts.todo.snapshotText();
  // The list of an earlier compaction says how things stood then.
  const others = core.parts.todo.isEmpty ? messages : messages.filter((message) => !isTaskList(message));
  const all = tasks === undefined ? others : [...others, { role: "user", content: tasks }];
  const live = new Map(core.parts.transcript.messages.map((message) => [message._id, message]));
  return all.map((message) =>
    isAgentMessage(message) ? asSent(message, live.get(message._id)) : newMessage(message, now),
  );
}

/** Undoes `asStored` for a message that stays: the model may not have seen yet what was added for it alone. */
function asSent(message: AgentMessage, live: AgentMessage | undefined): AgentMessage {
  if (live === undefined || !("_stored_content" in live)) return message;
  const { content: sent, _stored_content: stored } = live;
  const { content: kept } = message;
  if (kept === stored) return { ...message, content: sent, _stored_content: stored };
  if (typeof kept !== "string" || typeof sent !== "string" || typeof stored !== "string") return message;
  // A handoff may stand in front of it.
  if (stored === "" || !kept.endsWith(stored)) return message;
  return { ...message, content: kept.slice(0, -stored.length) + sent, _stored_content: kept };
}

function isAgentMessage(message: ContextMessage): message is AgentMessage {
  return typeof message._id === "string" && typeof message.timestamp === "number";
}
