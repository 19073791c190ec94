// Open WebUI: the JSON export of all chats, or of one. Its database is not read: it holds the chats and password hashes of other users.
import { attachment } from "../kit/blocks.ts";
import { type MessageNode, treeExport } from "../kit/exports.ts";
import { joined, jsonText } from "../kit/parts.ts";
import type { TurnPart } from "../kit/turn-parts.ts";
import { type Json, listOf, numberOf, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading, Usage } from "../reader.ts";

export const openWebui = treeExport({
  source: "open-webui",
  title: "Open WebUI export",
  evidence: "S",
  // `chat-export-<milliseconds>.json`, or whatever name the user gave it.
  isMember: (name) => name.toLowerCase().endsWith(".json"),
  looksRight: (head) =>
    /^\s*[[{]/.test(head) && /"history"\s*:\s*\{/.test(head) && /"(?:currentId|childrenIds)"\s*:/.test(head),
  treeOf: (row) => {
    const chat = recordOf(row.chat) ?? row;
    const history = recordOf(chat.history);
    const messages = recordOf(history?.messages);
    if (messages === undefined) return "not a chat: it has no messages";
    const facts = {
      // A chat exported without its row may have no id; its first message stays the same when the chat grows.
      nativeId: textOf(row.id) ?? textOf(chat.id),
      title: textOf(row.title) ?? textOf(chat.title),
      model: textOf(listOf(chat.models)[0]),
      startedAt: timeOf(row.created_at) ?? timeOf(chat.timestamp),
    };
    return { facts, nodes: nodesOf(messages), leaf: textOf(history?.currentId) };
  },
  modelOf: ({ model }) => textOf(model),
  turnOf: (message, reading) => {
    const role = textOf(message.role) ?? "";
    if (role !== "assistant") return { role, parts: [text(contentText(message.content)), ...files(message)] };
    const parts = [...partsOf(message, reading), ...files(message)];
    return { role, parts, model: textOf(message.model), usage: usageOf(message.usage) };
  },
});

function text(value: string): TurnPart {
  return { kind: "text", text: value };
}

function nodesOf(messages: Json): MessageNode[] {
  return Object.entries(messages).flatMap(([id, value]) => {
    const message = recordOf(value);
    if (message === undefined) return [];
    return [{ id, parent: textOf(message.parentId), at: timeOf(message.timestamp), message }];
  });
}

function partsOf(message: Json, reading: Reading): TurnPart[] {
  const output = listOf(message.output);
  if (output.length > 0) return output.flatMap((item) => partsOfItem(recordOf(item) ?? {}, reading));
  const { text: own, reasoning } = withoutDetails(contentText(message.content));
  return [{ kind: "reasoning", text: reasoning }, text(own)];
}

function partsOfItem(item: Json, reading: Reading): TurnPart[] {
  const type = textOf(item.type) ?? "";
  const id = textOf(item.call_id) ?? textOf(item.id);
  if (type === "message") return [text(contentText(item.content))];
  if (type === "reasoning")
    return [{ kind: type, text: joined([contentText(item.summary), contentText(item.content)]) }];
  if (type === "function_call")
    return [{ kind: "call", id, name: textOf(item.name) ?? "unknown", arguments: jsonText(item.arguments) }];
  if (type === "function_call_output") return [{ kind: "result", id, text: contentText(item.output) }];
  reading.unknown(`output ${type || "without type"}`);
  return [];
}

/** Text, or a list of blocks that have text. */
function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return joined(
    listOf(content).map((value) => {
      const block = recordOf(value) ?? {};
      return textOf(block.text) ?? attachment(textOf(block.type) ?? "", block);
    }),
  );
}

function files(message: Json): TurnPart[] {
  return recordsOf(message.files).map((file) => {
    const isImage = file.type === "image" || textOf(file.content_type)?.startsWith("image/");
    return text(isImage ? "[image]" : `[file: ${textOf(file.name) ?? "untitled"}]`);
  });
}

const DETAILS = /<details\b[^>]*>|<\/details>/g;

/**
 * Older versions write the reasoning and the tool calls of an answer into its text as `<details type="...">`, which may hold further
 * `<details>`. A block that is not closed reaches to the end. `<details>` without a type is the model's own.
 */
function withoutDetails(content: string): { text: string; reasoning: string } {
  const kept: string[] = [];
  const thoughts: string[] = [];
  let depth = 0;
  let from = 0;
  let type: string | undefined;
  for (const match of content.matchAll(DETAILS)) {
    const [tag] = match;
    const isOpening = tag !== "</details>";
    if (depth === 0) {
      type = /\btype="([^"]*)"/.exec(tag)?.[1];
      if (type === undefined) continue;
      kept.push(content.slice(from, match.index));
      from = match.index + tag.length;
      depth = 1;
    } else {
      depth += isOpening ? 1 : -1;
      if (depth > 0) continue;
      if (type === "reasoning") thoughts.push(thoughtText(content.slice(from, match.index)));
      from = match.index + tag.length;
    }
  }
  if (depth === 0) kept.push(content.slice(from));
  return { text: joined(kept.map((part) => part.trim())), reasoning: joined(thoughts) };
}

/** The thought is quoted line by line, below a summary such as "Thought for 3 seconds". */
function thoughtText(inner: string): string {
  return inner
    .replace(/<summary>[\s\S]*?<\/summary>/, "")
    .replace(/^> ?/gm, "")
    .trim();
}

function usageOf(value: unknown): Usage | undefined {
  const usage = recordOf(value);
  return (
    usage && {
      inputTokens: numberOf(usage.prompt_tokens) ?? numberOf(usage.input_tokens),
      outputTokens: numberOf(usage.completion_tokens) ?? numberOf(usage.output_tokens),
    }
  );
}
