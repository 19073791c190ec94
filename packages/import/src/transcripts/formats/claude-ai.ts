// Claude.ai: the data export of a user, as ZIP, unpacked folder or `conversations.json`.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import {
  type Conversation,
  type ExportFiles,
  type MessageNode,
  NO_CONVERSATION,
  treeExport,
} from "../kit/exports.ts";
import { jsonText } from "../kit/parts.ts";
import type { TurnPart } from "../kit/turn-parts.ts";
import { type Json, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";

/** Files of the export that hold no conversations but may be worth a look. */
const OTHER_FILES = ["projects.json", "memories.json"];
/** Stands in `text` where the web page could not show a tool's block. */
const PLACEHOLDER = /(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?/g;

export const claudeAi = treeExport({
  source: "claude-ai",
  title: "Claude.ai export",
  evidence: "P",
  isMember: (name) => /^conversations(?:-.+)?\.json$/.test(basename(name)),
  looksRight: (head) => /^\s*[[{]/.test(head) && /"chat_messages"\s*:\s*\[/.test(head),
  beside: (path, files, reading) => {
    for (const name of OTHER_FILES)
      if (isBeside(name, path, files)) reading.unknown(`${name} (not a transcript, not imported)`);
  },
  treeOf: ({ uuid, name, model, created_at: created, chat_messages: messages, ...rest }, malformed) => {
    const nativeId = textOf(uuid);
    if (nativeId === undefined || !Array.isArray(messages)) return NO_CONVERSATION;
    const facts = { nativeId, title: textOf(name), model: textOf(model), startedAt: timeOf(created) };
    return { facts, nodes: nodesOf(messages, malformed), leaf: textOf(rest.current_leaf_message_uuid) };
  },
  turnOf: (message, reading) => {
    const sender = textOf(message.sender) ?? "";
    if (sender === "assistant") return { role: sender, parts: partsOf(message, reading) };
    if (sender === "human")
      return { role: "user", parts: [...partsOf(message, reading), ...attachments(message)] };
    reading.unknown(`sender ${sender || "missing"}`);
    return undefined;
  },
});

function isBeside(name: string, path: string, files: ExportFiles): boolean {
  if (files.pathOf(name) === undefined) return existsSync(join(dirname(path), name));
  return files.names.some((other) => basename(other) === name);
}

/** Exports before branches were recorded are a plain list: each message answers the one before. The root's parent is no message. */
function nodesOf(messages: readonly unknown[], malformed: Conversation["malformed"]): MessageNode[] {
  const nodes: MessageNode[] = [];
  for (const value of messages) {
    const message = recordOf(value);
    const id = textOf(message?.uuid);
    if (message === undefined || id === undefined) {
      malformed("a message without id");
      continue;
    }
    const parent = textOf(message.parent_message_uuid) ?? nodes.at(-1)?.id;
    nodes.push({ id, parent, at: timeOf(message.created_at), message });
  }
  return nodes;
}

function partsOf(message: Json, reading: Reading): TurnPart[] {
  const blocks = Array.isArray(message.content) ? message.content : [];
  const parts = blocks.flatMap((block) => [...partsOfBlock(recordOf(block) ?? {}, reading)]);
  if (parts.some((part) => part.kind === "text" && part.text.trim() !== "")) return parts;
  return [...parts, { kind: "text", text: (textOf(message.text) ?? "").replaceAll(PLACEHOLDER, "") }];
}

function* partsOfBlock(block: Json, reading: Reading): Generator<TurnPart> {
  const type = textOf(block.type);
  if (type === "token_budget") return;
  if (type === "tool_use") {
    const name = textOf(block.name) ?? "unknown";
    yield { kind: "call", id: textOf(block.id), name, arguments: jsonText(block.input) };
  } else if (type === "tool_result") {
    const { text } = blocksOf(block.content, reading.unknown);
    yield { kind: "result", id: textOf(block.tool_use_id), name: textOf(block.name), text };
  } else if (type === "voice_note") yield { kind: "text", text: textOf(block.text) ?? "[audio]" };
  else {
    const { text, reasoning } = blocksOf([block], reading.unknown);
    if (text !== "") yield { kind: "text", text };
    if (reasoning !== undefined) yield { kind: "reasoning", text: reasoning };
  }
}

/** A long paste becomes an attachment, and its text is the message. */
function attachments(message: Json): TurnPart[] {
  const names = new Set<unknown>();
  const attached = recordsOf(message.attachments).map(({ file_name: name, extracted_content: content }) => {
    const title = textOf(name) ?? "untitled";
    names.add(title);
    const text = textOf(content);
    return text === undefined ? `[file: ${title}]` : `[Attachment: ${title}]\n${text}`;
  });
  const files = recordsOf(message.files).flatMap(({ file_name: name }) =>
    textOf(name) === undefined || names.has(name) ? [] : [`[file: ${name}]`],
  );
  return [...attached, ...files].map((text) => ({ kind: "text", text }));
}
