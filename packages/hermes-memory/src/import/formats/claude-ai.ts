// Claude.ai: the data export of a user, as ZIP, unpacked folder or `conversations.json`.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import {
  type Conversation,
  conversationsIn,
  type ExportFiles,
  exportUnits,
  openExport,
  textOfSample,
} from "../kit/exports.ts";
import { branched, type TreeNode } from "../kit/message-tree.ts";
import { messagesOfTurn, type TurnPart } from "../kit/turn-parts.ts";
import { type Json, joined, jsonText, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading, TranscriptEvent, TranscriptReader } from "../reader.ts";

const FORMAT = { isMember, looksRight };
/** Files of the export that hold no conversations but may be worth a look. */
const OTHER_FILES = ["projects.json", "memories.json"];
/** Stands in `text` where the web page could not show a tool's block. */
const PLACEHOLDER = /(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?/g;

type Node = TreeNode & { readonly message: Json };

export const claudeAi: TranscriptReader = {
  source: "claude-ai",
  title: "Claude.ai export",
  evidence: "P",
  version: 1,
  roots: () => [],
  units: (root, walking) => exportUnits(root, walking, FORMAT),
  recognises: (sample) => looksRight(textOfSample(sample, isMember)),
  async *read(unit, reading) {
    await using files = await openExport(unit.path, reading);
    for (const name of OTHER_FILES)
      if (isBeside(name, unit.path, files)) reading.unknown(`${name} (not a transcript, not imported)`);
    const isWanted = files.names.length === 1 ? () => true : isMember;
    for await (const conversation of conversationsIn(files, isWanted, reading))
      yield* readConversation(conversation, reading);
  },
};

function isBeside(name: string, path: string, files: ExportFiles): boolean {
  if (files.pathOf(name) === undefined) return existsSync(join(dirname(path), name));
  return files.names.some((other) => basename(other) === name);
}

function isMember(name: string): boolean {
  return /^conversations(?:-.+)?\.json$/.test(basename(name));
}

function looksRight(head: string): boolean {
  return /^\s*[[{]/.test(head) && /"chat_messages"\s*:\s*\[/.test(head);
}

function* readConversation(
  { value, line, path, malformed }: Conversation,
  reading: Reading,
): Generator<TranscriptEvent> {
  const conversation = recordOf(value);
  const nativeId = textOf(conversation?.uuid);
  if (conversation === undefined || nativeId === undefined || !Array.isArray(conversation.chat_messages))
    return malformed("not a conversation: it has no id or no messages");
  const leaf = textOf(conversation.current_leaf_message_uuid);
  const { nodes, active } = branched(nodesOf(conversation.chat_messages, malformed), leaf);
  if (nodes.length === 0) return;
  yield {
    kind: "session",
    facts: {
      nativeId,
      title: textOf(conversation.name),
      model: textOf(conversation.model),
      startedAt: timeOf(conversation.created_at),
    },
  };
  for (const { id, at, message } of nodes) {
    const shared = { at, line, path, ...(!active.has(id) && { isActive: false }) };
    const sender = textOf(message.sender) ?? "";
    if (sender === "human") {
      const text = joined([
        ...[...partsOf(message, reading)].map((part) => (part.kind === "text" ? part.text : undefined)),
        ...attachments(message),
      ]);
      if (text !== "") yield { kind: "message", message: { id, role: "user", text, ...shared } };
    } else if (sender === "assistant")
      for (const one of messagesOfTurn(id, partsOf(message, reading), shared))
        yield { kind: "message", message: one };
    else reading.unknown(`sender ${sender || "missing"}`);
  }
  yield { kind: "end" };
}

/** Exports before branches were recorded are a plain list: each message answers the one before. The root's parent is no message. */
function nodesOf(messages: readonly unknown[], malformed: Conversation["malformed"]): Node[] {
  const nodes: Node[] = [];
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

function* partsOf(message: Json, reading: Reading): Generator<TurnPart> {
  let hasText = false;
  const rest: TurnPart[] = [];
  for (const value of listOf(message.content)) {
    const block = recordOf(value) ?? {};
    for (const part of partsOfBlock(block, reading)) {
      if (part.kind === "text" && part.text.trim() !== "") hasText = true;
      rest.push(part);
    }
  }
  yield* rest;
  if (!hasText) yield { kind: "text", text: (textOf(message.text) ?? "").replaceAll(PLACEHOLDER, "") };
}

function* partsOfBlock(block: Json, reading: Reading): Generator<TurnPart> {
  const type = textOf(block.type);
  if (type === "token_budget") return;
  if (type === "tool_use")
    return yield {
      kind: "call",
      id: textOf(block.id),
      name: textOf(block.name) ?? "unknown",
      arguments: jsonText(block.input),
    };
  if (type === "tool_result")
    return yield {
      kind: "result",
      id: textOf(block.tool_use_id),
      name: textOf(block.name),
      text: blocksOf(block.content, reading.unknown).text,
    };
  if (type === "voice_note") return yield { kind: "text", text: textOf(block.text) ?? "[audio]" };
  const { text, reasoning } = blocksOf([block], reading.unknown);
  if (text !== "") yield { kind: "text", text };
  if (reasoning !== undefined && reading.options.includeReasoning)
    yield { kind: "reasoning", text: reasoning };
}

/** A long paste becomes an attachment, and its text is the message. */
function attachments(message: Json): string[] {
  const found: string[] = [];
  const names = new Set<string>();
  for (const value of listOf(message.attachments)) {
    const { file_name: name, extracted_content: content } = recordOf(value) ?? {};
    const title = textOf(name) ?? "untitled";
    names.add(title);
    const text = textOf(content);
    found.push(text === undefined ? `[file: ${title}]` : `[Attachment: ${title}]\n${text}`);
  }
  for (const value of listOf(message.files)) {
    const name = textOf(recordOf(value)?.file_name);
    if (name !== undefined && !names.has(name)) found.push(`[file: ${name}]`);
  }
  return found;
}
