// ChatGPT: the data export of a user, as ZIP, unpacked folder or `conversations.json`. Each conversation is a tree of messages.
import { basename } from "node:path";
import type { Draft } from "../declare.ts";
import { type MessageNode, NO_CONVERSATION, type NodesById, treeExport } from "../kit/exports.ts";
import { joined, jsonText } from "../kit/parts.ts";
import { type Json, listOf, names, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";

export const chatgpt = treeExport({
  source: "chatgpt",
  title: "ChatGPT export",
  evidence: "P",
  // Large exports are cut into `conversations-000.json`, `conversations-001.json` and so on.
  isMember: (name) => /^conversations(?:-.+)?\.json$/.test(basename(name)),
  looksRight: (head) => /^\s*[[{]/.test(head) && /"mapping"\s*:\s*\{/.test(head),
  treeOf: (conversation, _, reading) => {
    const mapping = recordOf(conversation.mapping);
    const nativeId = textOf(conversation.conversation_id) ?? textOf(conversation.id);
    if (mapping === undefined || nativeId === undefined) return NO_CONVERSATION;
    const nodes = nodesOf(mapping);
    if (nodes.some(({ message }) => contentType(message) === "user_editable_context"))
      reading.unknown("custom instructions of the user (not imported)");
    const facts = {
      nativeId,
      title: textOf(conversation.title),
      model: textOf(conversation.default_model_slug),
      startedAt: timeOf(conversation.create_time),
    };
    return { facts, nodes, leaf: textOf(conversation.current_node) };
  },
  modelOf,
  draftOf,
});

/** A node without a message only joins branches. */
function nodesOf(mapping: Json): MessageNode[] {
  return Object.entries(mapping).flatMap(([id, value]) => {
    const node = recordOf(value);
    if (node === undefined) return [];
    const message = recordOf(node.message) ?? {};
    return [{ id, parent: textOf(node.parent), at: timeOf(message.create_time), message }];
  });
}

function modelOf(message: Json): string | undefined {
  return textOf(recordOf(message.metadata)?.model_slug);
}

function contentType(message: Json): string {
  return textOf(recordOf(message.content)?.content_type) ?? "";
}

/** Undefined for what is not conversation. */
function draftOf(node: MessageNode, reading: Reading, nodes: NodesById): Draft | undefined {
  const { message } = node;
  const content = recordOf(message.content);
  const metadata = recordOf(message.metadata) ?? {};
  const type = contentType(message);
  if (content === undefined || SILENT_TYPES.has(type) || isHidden(metadata)) return undefined;
  const role = textOf(recordOf(message.author)?.role) ?? "";
  const id = textOf(message.id) ?? node.id;
  if (role === "tool") {
    const call = { toolName: toolNameOf(message), toolCallId: callBefore(node, nodes) };
    return { id, role, text: toolText(content, reading), ...call };
  }
  if (role === "system") return { id, role, text: partsText(content, reading) };
  if (role !== "user" && role !== "assistant") return { id, role, text: "" };
  const model = role === "assistant" ? modelOf(message) : undefined;
  if (role === "assistant" && isReasoning(type, message))
    return { id, role, text: "", reasoning: reasoningText(content, reading), model };
  if (!TEXT_TYPES.has(type)) {
    reading.unknown(`content ${type || "without type"}`);
    return undefined;
  }
  const text = role === "assistant" && type === "code" ? fenced(content) : partsText(content, reading);
  if (role === "user") return { id, role, text: joined([text, ...fileNames(metadata)]) };
  const answer = { id, role, model, finishReason: textOf(recordOf(metadata.finish_details)?.type) };
  const name = recipientOf(message);
  if (name === undefined) return { ...answer, text };
  return { ...answer, text: "", toolCalls: [{ id, name, arguments: jsonText(partsText(content, reading)) }] };
}

const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "multimodal_text", "code"]);
/** Known, and never a message. */
const SILENT_TYPES = names("user_editable_context model_editable_context system_error");

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
function callBefore(node: MessageNode, byId: NodesById): string | undefined {
  const name = toolNameOf(node.message);
  const seen = new Set([node.id]);
  let nearest: string | undefined;
  for (let above = byId.get(node.parent ?? ""); above !== undefined; above = byId.get(above.parent ?? "")) {
    const role = recordOf(above.message.author)?.role;
    if (seen.has(above.id) || role === "user") break;
    seen.add(above.id);
    const recipient = role === "assistant" ? recipientOf(above.message) : undefined;
    if (recipient === undefined) continue;
    const id = textOf(above.message.id) ?? above.id;
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
  return recordsOf(metadata.attachments).flatMap(({ name, mime_type: type }) =>
    typeof name === "string" && !textOf(type)?.startsWith("image/") ? [`[file: ${name}]`] : [],
  );
}
