// LibreChat: JSON files exported from a conversation's menu, one conversation each, with all branches or one.
import { type Conversation, type MessageNode, NO_CONVERSATION, treeExport } from "../kit/exports.ts";
import { jsonText } from "../kit/parts.ts";
import type { TurnPart } from "../kit/turn-parts.ts";
import { type Json, listOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";

/** An error of the server, and the recap that LibreChat writes when it drops older messages from the model's context. */
const SILENT_TYPES: ReadonlySet<string> = new Set(["error", "summary"]);

export const librechat = treeExport({
  source: "librechat",
  title: "LibreChat export",
  evidence: "S",
  // Files are named after the title of the conversation.
  isMember: (name) => name.toLowerCase().endsWith(".json"),
  looksRight: (head) =>
    /^\s*\{/.test(head) &&
    /"conversationId"\s*:/.test(head) &&
    /"(?:messagesTree|messageId|exportAt)"\s*:/.test(head),
  treeOf: ({ conversationId, title, endpoint, options, messagesTree, messages = [] }, malformed) => {
    const nativeId = textOf(conversationId);
    const list = messagesTree ?? messages;
    if (nativeId === undefined || !Array.isArray(list)) return NO_CONVERSATION;
    const model = textOf(recordOf(options)?.model);
    const facts = { nativeId, title: textOf(title), model, provider: textOf(endpoint) };
    return { facts, nodes: nodesOf(list, malformed) };
  },
  modelOf: ({ model }) => textOf(model),
  turnOf: (message, reading) =>
    message.error === true // `text` is the server's error, not an answer
      ? undefined
      : {
          role: message.isCreatedByUser === true ? "user" : "assistant",
          parts: partsOf(message, reading),
          model: textOf(message.model),
        },
});

/** The messages of the tree, or of the flat list. The parent of a root is an id of zeros, which is no message. */
function nodesOf(messages: readonly unknown[], malformed: Conversation["malformed"]): MessageNode[] {
  const nodes: MessageNode[] = [];
  const waiting: { value: unknown; parent: string | undefined }[] = messages
    .map((value) => ({ value, parent: undefined }))
    .reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const message = recordOf(next.value);
    const id = textOf(message?.messageId);
    if (message === undefined || id === undefined) {
      malformed("a message without id");
      continue;
    }
    const parent = textOf(message.parentMessageId) ?? next.parent;
    nodes.push({ id, parent, at: timeOf(message.createdAt), message });
    for (const value of listOf(message.children).toReversed()) waiting.push({ value, parent: id });
  }
  // A flat list without any parents is one conversation in its order.
  if (nodes.some(({ parent }) => parent !== undefined)) return nodes;
  return nodes.map((node, index) => ({ ...node, parent: nodes[index - 1]?.id }));
}

function* partsOf(message: Json, reading: Reading): Generator<TurnPart> {
  const content = listOf(message.content);
  if (content.length === 0) yield { kind: "text", text: textOf(message.text) ?? "" };
  for (const value of content) yield* partsOfItem(recordOf(value) ?? {}, reading);
  for (const { filename, type } of recordsOf(message.files)) {
    const isImage = textOf(type)?.startsWith("image/");
    yield { kind: "text", text: isImage ? "[image]" : `[file: ${textOf(filename) ?? "untitled"}]` };
  }
}

function* partsOfItem(item: Json, reading: Reading): Generator<TurnPart> {
  const type = textOf(item.type) ?? "";
  if (type === "text")
    yield { kind: "text", text: textOf(item.text) ?? textOf(recordOf(item.text)?.value) ?? "" };
  else if (type === "think") yield { kind: "reasoning", text: textOf(item.think) ?? "" };
  else if (type === "tool_call") {
    const call = recordOf(item.tool_call) ?? {};
    const id = textOf(call.id);
    const name = textOf(call.name) ?? "unknown";
    yield { kind: "call", id, name, arguments: jsonText(call.args) };
    const output = textOf(call.output);
    if (output !== undefined) yield { kind: "result", id, name, text: output };
  } else if (/^image/.test(type)) yield { kind: "text", text: "[image]" };
  else if (!SILENT_TYPES.has(type)) reading.unknown(`content ${type || "without type"}`);
}
