// LibreChat: JSON files exported from a conversation's menu, one conversation each, with all branches or one.
import { type Conversation, conversationsIn, exportUnits, openExport, textOfSample } from "../kit/exports.ts";
import { branched, type TreeNode } from "../kit/message-tree.ts";
import { messagesOfTurn, type TurnPart } from "../kit/turn-parts.ts";
import { type Json, joined, jsonText, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading, TranscriptEvent, TranscriptReader } from "../reader.ts";

const FORMAT = { isMember, looksRight };

type Node = TreeNode & { readonly message: Json };

export const librechat: TranscriptReader = {
  source: "librechat",
  title: "LibreChat export",
  evidence: "S",
  version: 1,
  roots: () => [],
  units: (root, walking) => exportUnits(root, walking, FORMAT),
  recognises: (sample) => looksRight(textOfSample(sample, isMember)),
  async *read(unit, reading) {
    await using files = await openExport(unit.path, reading);
    for await (const conversation of conversationsIn(files, isMember, reading))
      yield* readConversation(conversation, reading);
  },
};

/** Files are named after the title of the conversation. */
function isMember(name: string): boolean {
  return name.toLowerCase().endsWith(".json");
}

function looksRight(head: string): boolean {
  return (
    /^\s*\{/.test(head) &&
    /"conversationId"\s*:/.test(head) &&
    /"(?:messagesTree|messageId|exportAt)"\s*:/.test(head)
  );
}

function* readConversation(
  { value, line, path, malformed }: Conversation,
  reading: Reading,
): Generator<TranscriptEvent> {
  const conversation = recordOf(value);
  const nativeId = textOf(conversation?.conversationId);
  const messages = conversation?.messagesTree ?? conversation?.messages;
  if (conversation === undefined || nativeId === undefined || !Array.isArray(messages))
    return malformed("not a conversation: it has no id or no messages");
  const { nodes, active } = branched(nodesOf(messages, malformed), undefined);
  const answered = nodes.findLast(({ id, message }) => active.has(id) && textOf(message.model) !== undefined);
  yield {
    kind: "session",
    facts: {
      nativeId,
      title: textOf(conversation.title),
      model: textOf(answered?.message.model) ?? textOf(recordOf(conversation.options)?.model),
      provider: textOf(conversation.endpoint),
    },
  };
  for (const { id, at, message } of nodes) {
    if (message.error === true) continue; // `text` is the server's error, not an answer
    const shared = { at, line, path, ...(!active.has(id) && { isActive: false }) };
    const parts = [...partsOf(message, reading)];
    if (message.isCreatedByUser === true) {
      const text = joined(parts.map((part) => (part.kind === "text" ? part.text : undefined)));
      if (text !== "") yield { kind: "message", message: { id, role: "user", text, ...shared } };
    } else
      for (const one of messagesOfTurn(id, parts, { ...shared, model: textOf(message.model) }))
        yield { kind: "message", message: one };
  }
  yield { kind: "end" };
}

/** The messages of the tree, or of the flat list. The parent of a root is an id of zeros, which is no message. */
function nodesOf(messages: readonly unknown[], malformed: Conversation["malformed"]): Node[] {
  const nodes: Node[] = [];
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
  for (const value of listOf(message.files)) {
    const { filename, type } = recordOf(value) ?? {};
    const isImage = textOf(type)?.startsWith("image/");
    yield { kind: "text", text: isImage ? "[image]" : `[file: ${textOf(filename) ?? "untitled"}]` };
  }
}

function* partsOfItem(item: Json, reading: Reading): Generator<TurnPart> {
  const type = textOf(item.type) ?? "";
  if (type === "text")
    yield { kind: "text", text: textOf(item.text) ?? textOf(recordOf(item.text)?.value) ?? "" };
  else if (type === "think") {
    const text = textOf(item.think) ?? "";
    if (reading.options.includeReasoning) yield { kind: "reasoning", text };
  } else if (type === "tool_call") {
    const call = recordOf(item.tool_call) ?? {};
    const id = textOf(call.id);
    const name = textOf(call.name) ?? "unknown";
    yield { kind: "call", id, name, arguments: jsonText(call.args) };
    const output = textOf(call.output);
    if (output !== undefined) yield { kind: "result", id, name, text: output };
  } else if (/^image/.test(type)) yield { kind: "text", text: "[image]" };
  else if (!SILENT_TYPES.has(type)) reading.unknown(`content ${type || "without type"}`);
}

/** An error of the server, and the recap that LibreChat writes when it drops older messages from the model's context. */
const SILENT_TYPES: ReadonlySet<string> = new Set(["error", "summary"]);
