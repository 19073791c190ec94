// Messages on their way through a compaction: as they are stored going in, as the model is to read them coming out.
import { isTaskList } from "@hermes-memory/core/context";
import { type Message, newMessage, withMeta } from "@hermes-memory/core/message";
import type { AgentCore } from "../core.ts";
import { shownContent } from "../shown-message.ts";

/** What the database has of a message is what a summary and its copy may hold. */
export function asStored(message: Message): Message {
  if (message.meta.storedContent === undefined) return message;
  return withMeta({ ...message, content: shownContent(message) }, { storedContent: undefined });
}

/** The list after a compaction, with what is still to do. */
export function compactedList(core: AgentCore, messages: readonly Message[]): readonly Message[] {
  const now = core.nowSeconds;
  const tasks = core.parts.todo.snapshotText();
  // The list of an earlier compaction says how things stood then.
  const others = core.parts.todo.isEmpty ? messages : messages.filter((message) => !isTaskList(message));
  const all = tasks === undefined ? others : [...others, newMessage({ role: "user", content: tasks })];
  const live = new Map(core.parts.transcript.messages.map((message) => [message.meta.id, message]));
  return all.map((message) => {
    const sent = asSent(message, live.get(message.meta.id));
    return sent.meta.atSeconds > 0 ? sent : withMeta(sent, { atSeconds: now });
  });
}

/** Undoes `asStored` for a message that stays: the model may not have seen yet what was added for it alone. */
function asSent(message: Message, live: Message | undefined): Message {
  const stored = live?.meta.storedContent;
  if (live === undefined || stored === undefined) return message;
  const { content: sent } = live;
  const { content: kept } = message;
  if (kept === stored) return withMeta({ ...message, content: sent }, { storedContent: stored });
  if (typeof kept !== "string" || typeof sent !== "string" || typeof stored !== "string") return message;
  // A handoff may stand in front of it.
  if (stored === "" || !kept.endsWith(stored)) return message;
  const content = kept.slice(0, -stored.length) + sent;
  return withMeta({ ...message, content }, { storedContent: kept });
}
