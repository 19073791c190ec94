// One session in the shape of a ChatGPT export: a tree of messages, and the node that the conversation ends at.
import type { ExportedSession } from "@hermes-memory/core/internal/sessions";
import type { ShownMessage } from "./exported-message.ts";

type Node = {
  readonly id: string;
  readonly parent: string | null;
  readonly children: string[];
  readonly message: object | null;
};

/**
 * A tool call is a message of its own in this format, to the tool as recipient. Turns that were taken back are a side branch of the
 * message before them.
 */
export function chatGptConversation(session: ExportedSession, messages: readonly ShownMessage[]): object {
  const root: Node = { id: `${session.id}-root`, parent: null, children: [], message: null };
  const nodes: Node[] = [root];
  let activeTip = root;
  let last = root;
  for (const message of messages) {
    let above = message.isActive ? activeTip : last;
    for (const one of messagesOf(session, message)) {
      const node: Node = { id: one.id, parent: above.id, children: [], message: one };
      above.children.push(node.id);
      nodes.push(node);
      above = node;
    }
    last = above;
    if (message.isActive) activeTip = above;
  }
  return {
    title: session.title ?? "",
    create_time: session.started_at,
    update_time: messages.reduce(
      (latest, { at }) => Math.max(latest, at),
      session.ended_at ?? session.started_at,
    ),
    mapping: Object.fromEntries(nodes.map((node) => [node.id, node])),
    current_node: activeTip.id,
    conversation_id: session.id,
    default_model_slug: session.model,
    id: session.id,
  };
}

function messagesOf(session: ExportedSession, message: ShownMessage): ({ readonly id: string } & object)[] {
  const { id, role, text, at, calls, toolName } = message;
  const name = `${session.id}-${id}`;
  const metadata = role === "assistant" && session.model !== null ? { model_slug: session.model } : {};
  const whole = (key: string, recipient: string, content: string) => ({
    id: key,
    author: { role, name: role === "tool" ? (toolName ?? null) : null, metadata: {} },
    create_time: at,
    update_time: null,
    content: { content_type: "text", parts: [content] },
    status: "finished_successfully",
    end_turn: recipient === "all",
    weight: 1,
    metadata,
    recipient,
  });
  return [
    ...(text !== "" || calls.length === 0 ? [whole(name, "all", text)] : []),
    ...calls.map((call, index) => whole(`${name}-call-${index + 1}`, call.name, call.arguments)),
  ];
}
