// ChatGPT: the data export of a user, as ZIP, unpacked folder or `conversations.json`. Each conversation is a tree of messages.
import { basename } from "node:path";
import { type Conversation, conversationsIn, exportUnits, openExport, textOfSample } from "../kit/exports.ts";
import { branched, type TreeNode } from "../kit/message-tree.ts";
import { type Json, joined, jsonText, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading, TranscriptEvent, TranscriptMessage, TranscriptReader } from "../reader.ts";

const FORMAT = { isMember, looksRight };

/** `message` is undefined for a node that only joins branches. */
type Node = TreeNode & { readonly message: Json | undefined };

export const chatgpt: TranscriptReader = {
  source: "chatgpt",
  title: "ChatGPT export",
  evidence: "P",
  version: 1,
  roots: () => [],
  units: (root, walking) => exportUnits(root, walking, FORMAT),
  recognises: (sample) => looksRight(textOfSample(sample, isMember)),
  async *read(unit, reading) {
    await using files = await openExport(unit.path, reading);
    const isWanted = files.names.length === 1 ? () => true : isMember;
    let hasInstructions = false;
    for await (const conversation of conversationsIn(files, isWanted, reading)) {
      const found = yield* readConversation(conversation, reading);
      hasInstructions ||= found;
    }
    if (hasInstructions) reading.unknown("custom instructions of the user (not imported)");
  },
};

/** Large exports are cut into `conversations-000.json`, `conversations-001.json` and so on. */
function isMember(name: string): boolean {
  return /^conversations(?:-.+)?\.json$/.test(basename(name));
}

function looksRight(head: string): boolean {
  return /^\s*[[{]/.test(head) && /"mapping"\s*:\s*\{/.test(head);
}

/** Returns whether the conversation holds the user's custom instructions. */
function* readConversation(
  { value, line, path, malformed }: Conversation,
  reading: Reading,
): Generator<TranscriptEvent, boolean> {
  const conversation = recordOf(value);
  const mapping = recordOf(conversation?.mapping);
  const nativeId = textOf(conversation?.conversation_id) ?? textOf(conversation?.id);
  if (conversation === undefined || mapping === undefined || nativeId === undefined) {
    malformed("not a conversation: it has no id or no messages");
    return false;
  }
  const { nodes, active } = branched(nodesOf(mapping), textOf(conversation.current_node));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  yield {
    kind: "session",
    facts: {
      nativeId,
      title: textOf(conversation.title),
      model: lastModel(nodes, active) ?? textOf(conversation.default_model_slug),
      startedAt: timeOf(conversation.create_time),
    },
  };
  for (const node of nodes) {
    const message = messageOf(node, byId, reading);
    if (message === undefined) continue;
    const isActive = active.has(node.id);
    yield { kind: "message", message: { ...message, line, path, ...(!isActive && { isActive }) } };
  }
  yield { kind: "end" };
  return nodes.some(({ message }) => contentType(message) === "user_editable_context");
}

function nodesOf(mapping: Json): Node[] {
  return Object.entries(mapping).flatMap(([id, value]) => {
    const node = recordOf(value);
    if (node === undefined) return [];
    const message = recordOf(node.message);
    return [{ id, parent: textOf(node.parent), at: timeOf(message?.create_time), message }];
  });
}

function lastModel(nodes: readonly Node[], active: ReadonlySet<string>): string | undefined {
  const models = nodes.map(({ id, message }) => (active.has(id) ? modelOf(message) : undefined));
  return models.findLast((model) => model !== undefined);
}

function modelOf(message: Json | undefined): string | undefined {
  return textOf(recordOf(message?.metadata)?.model_slug);
}

function contentType(message: Json | undefined): string {
  return textOf(recordOf(message?.content)?.content_type) ?? "";
}

/** Undefined for what is not conversation. */
function messageOf(
  node: Node,
  byId: ReadonlyMap<string, Node>,
  reading: Reading,
): TranscriptMessage | undefined {
  const { message, at } = node;
  const content = recordOf(message?.content);
  if (message === undefined || content === undefined) return undefined;
  const type = contentType(message);
  const metadata = recordOf(message.metadata) ?? {};
  if (SILENT_TYPES.has(type) || isHidden(metadata)) return undefined;
  const role = textOf(recordOf(message.author)?.role) ?? "";
  const shared = { id: textOf(message.id) ?? node.id, at };
  if (role === "tool")
    return {
      ...shared,
      role,
      text: toolText(content, reading),
      toolName: toolNameOf(message),
      toolCallId: callBefore(node, byId),
    };
  if (role === "system") {
    const text = partsText(content, reading);
    return reading.options.includeSystem && text !== "" ? { ...shared, role, text } : undefined;
  }
  if (role !== "user" && role !== "assistant") {
    reading.unknown(`role ${role || "missing"}`);
    return undefined;
  }
  if (role === "assistant" && isReasoning(type, message)) {
    const reasoning = reasoningText(content, reading);
    return reading.options.includeReasoning && reasoning !== ""
      ? { ...shared, role, text: "", reasoning, model: modelOf(message) }
      : undefined;
  }
  if (!TEXT_TYPES.has(type)) {
    reading.unknown(`content ${type || "without type"}`);
    return undefined;
  }
  if (role === "user") {
    const text = joined([partsText(content, reading), ...fileNames(metadata)]);
    return text === "" ? undefined : { ...shared, role, text };
  }
  const answer = {
    ...shared,
    role,
    model: modelOf(message),
    finishReason: textOf(recordOf(metadata.finish_details)?.type),
  } as const;
  const name = recipientOf(message);
  if (name !== undefined)
    return {
      ...answer,
      text: "",
      toolCalls: [{ id: shared.id, name, arguments: jsonText(partsText(content, reading)) }],
    };
  const text = type === "code" ? fenced(content) : partsText(content, reading);
  return text === "" ? undefined : { ...answer, text };
}

const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "multimodal_text", "code"]);
/** Known, and never a message. */
const SILENT_TYPES: ReadonlySet<string> = new Set([
  "user_editable_context",
  "model_editable_context",
  "system_error",
]);

function isHidden(metadata: Json): boolean {
  return metadata.is_visually_hidden_from_conversation === true || metadata.is_user_system_message === true;
}

function isReasoning(type: string, message: Json): boolean {
  if (type === "thoughts" || type === "reasoning_recap") return true;
  return message.channel === "analysis" && recipientOf(message) === undefined;
}

/** The tool that an assistant's message is for; undefined if it is for the user. */
function recipientOf(message: Json): string | undefined {
  const recipient = textOf(message.recipient);
  return recipient === "all" ? undefined : recipient;
}

function toolNameOf(message: Json): string | undefined {
  return textOf(recordOf(message.author)?.name);
}

/** The id of the tool call above a result: the nearest with the tool's name, else the nearest since the user's message. */
function callBefore(node: Node, byId: ReadonlyMap<string, Node>): string | undefined {
  const name = toolNameOf(node.message ?? {});
  const seen = new Set([node.id]);
  let nearest: string | undefined;
  for (let above = byId.get(node.parent ?? ""); above !== undefined; above = byId.get(above.parent ?? "")) {
    const role = recordOf(above.message?.author)?.role;
    if (seen.has(above.id) || role === "user") break;
    seen.add(above.id);
    const recipient = role === "assistant" ? recipientOf(above.message ?? {}) : undefined;
    if (recipient === undefined) continue;
    const id = textOf(above.message?.id) ?? above.id;
    // `container.exec` answers as `container.exec`, or as `container`.
    if (name === undefined || recipient === name || recipient.startsWith(`${name}.`)) return id;
    nearest ??= id;
  }
  return nearest;
}

function toolText(content: Json, reading: Reading): string {
  return joined([
    textOf(content.title),
    textOf(content.url),
    partsText(content, reading),
    textOf(content.result) ?? textOf(content.summary),
  ]);
}

function partsText(content: Json, reading: Reading): string {
  if (!Array.isArray(content.parts)) return textOf(content.text) ?? "";
  return joined(content.parts.map((part) => partText(part, reading)));
}

function partText(part: unknown, reading: Reading): string | undefined {
  if (typeof part === "string") return part;
  const record = recordOf(part);
  const type = textOf(record?.content_type) ?? "";
  if (record === undefined) return undefined;
  if (typeof record.text === "string") return record.text;
  if (type === "image_asset_pointer") return "[image]";
  if (/audio|video/.test(type)) return type.startsWith("audio") ? "[audio]" : "[video]";
  reading.unknown(`part ${type || "without type"}`);
  return undefined;
}

function reasoningText(content: Json, reading: Reading): string {
  const thoughts = listOf(content.thoughts).map((thought) => {
    const { summary, content: text } = recordOf(thought) ?? {};
    return joined([textOf(summary), textOf(text)]);
  });
  return joined([...thoughts, textOf(content.content), partsText(content, reading)]);
}

function fenced(content: Json): string {
  const text = textOf(content.text);
  const language = textOf(content.language);
  if (text === undefined) return "";
  return `\`\`\`${language === undefined || language === "unknown" ? "" : language}\n${text}\n\`\`\``;
}

/** Uploaded files; images are parts of the text already. */
function fileNames(metadata: Json): string[] {
  return listOf(metadata.attachments).flatMap((value) => {
    const { name, mime_type: type } = recordOf(value) ?? {};
    return typeof name === "string" && !textOf(type)?.startsWith("image/") ? [`[file: ${name}]`] : [];
  });
}
