// Open WebUI: the JSON export of all chats, or of one. Its database is not read: it holds the chats and password hashes of other users.
import { attachment } from "../kit/blocks.ts";
import { type Conversation, conversationsIn, exportUnits, openExport, textOfSample } from "../kit/exports.ts";
import { branched, type TreeNode } from "../kit/message-tree.ts";
import { messagesOfTurn, type TurnPart } from "../kit/turn-parts.ts";
import { type Json, joined, jsonText, listOf, numberOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import type { Reading, TranscriptEvent, TranscriptReader, Usage } from "../reader.ts";

const FORMAT = { isMember, looksRight };

type Node = TreeNode & { readonly message: Json };

export const openWebui: TranscriptReader = {
  source: "open-webui",
  title: "Open WebUI export",
  evidence: "S",
  version: 1,
  roots: () => [],
  units: (root, walking) => exportUnits(root, walking, FORMAT),
  recognises: (sample) => looksRight(textOfSample(sample, isMember)),
  async *read(unit, reading) {
    await using files = await openExport(unit.path, reading);
    for await (const conversation of conversationsIn(files, isMember, reading))
      yield* readChat(conversation, reading);
  },
};

/** `chat-export-<milliseconds>.json`, or whatever name the user gave it. */
function isMember(name: string): boolean {
  return name.toLowerCase().endsWith(".json");
}

function looksRight(head: string): boolean {
  return (
    /^\s*[[{]/.test(head) && /"history"\s*:\s*\{/.test(head) && /"(?:currentId|childrenIds)"\s*:/.test(head)
  );
}

function* readChat(
  { value, line, path, malformed }: Conversation,
  reading: Reading,
): Generator<TranscriptEvent> {
  const row = recordOf(value);
  const chat = recordOf(row?.chat) ?? row;
  const history = recordOf(chat?.history);
  const messages = recordOf(history?.messages);
  if (row === undefined || chat === undefined || history === undefined || messages === undefined)
    return malformed("not a chat: it has no messages");
  const { nodes, active } = branched(nodesOf(messages), textOf(history.currentId));
  // A chat exported without its row may have no id; its first message stays the same when the chat grows.
  const nativeId = textOf(row.id) ?? textOf(chat.id) ?? nodes[0]?.id;
  if (nativeId === undefined) return;
  const answered = nodes.findLast(({ id, message }) => active.has(id) && textOf(message.model) !== undefined);
  yield {
    kind: "session",
    facts: {
      nativeId,
      title: textOf(row.title) ?? textOf(chat.title),
      model: textOf(answered?.message.model) ?? textOf(listOf(chat.models)[0]),
      startedAt: timeOf(row.created_at) ?? timeOf(chat.timestamp),
    },
  };
  for (const { id, at, message } of nodes) {
    const shared = { at, line, path, ...(!active.has(id) && { isActive: false }) };
    const role = textOf(message.role) ?? "";
    if (role === "assistant") {
      const about = { ...shared, model: textOf(message.model), usage: usageOf(message.usage) };
      for (const one of messagesOfTurn(id, partsOf(message, reading), about))
        yield { kind: "message", message: one };
    } else if (role === "user" || role === "system") {
      if (role === "system" && !reading.options.includeSystem) continue;
      const text = joined([contentText(message.content), ...fileMarks(message.files)]);
      if (text !== "") yield { kind: "message", message: { id, role, text, ...shared } };
    } else reading.unknown(`role ${role || "missing"}`);
  }
  yield { kind: "end" };
}

function nodesOf(messages: Json): Node[] {
  return Object.entries(messages).flatMap(([id, value]) => {
    const message = recordOf(value);
    if (message === undefined) return [];
    return [{ id, parent: textOf(message.parentId), at: timeOf(message.timestamp), message }];
  });
}

function* partsOf(message: Json, reading: Reading): Generator<TurnPart> {
  const output = listOf(message.output);
  for (const item of output)
    for (const part of partsOfItem(recordOf(item) ?? {}, reading))
      if (part.kind !== "reasoning" || reading.options.includeReasoning) yield part;
  if (output.length === 0) {
    const { text, reasoning } = withoutDetails(contentText(message.content));
    if (reasoning !== "" && reading.options.includeReasoning) yield { kind: "reasoning", text: reasoning };
    yield { kind: "text", text };
  }
  for (const text of fileMarks(message.files)) yield { kind: "text", text };
}

function* partsOfItem(item: Json, reading: Reading): Generator<TurnPart> {
  const type = textOf(item.type) ?? "";
  const id = textOf(item.call_id) ?? textOf(item.id);
  if (type === "message") yield { kind: "text", text: contentText(item.content) };
  else if (type === "reasoning")
    yield { kind: "reasoning", text: joined([contentText(item.summary), contentText(item.content)]) };
  else if (type === "function_call")
    yield { kind: "call", id, name: textOf(item.name) ?? "unknown", arguments: jsonText(item.arguments) };
  else if (type === "function_call_output") yield { kind: "result", id, text: contentText(item.output) };
  else reading.unknown(`output ${type || "without type"}`);
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

function fileMarks(files: unknown): string[] {
  return listOf(files).map((value) => {
    const file = recordOf(value) ?? {};
    const isImage = file.type === "image" || textOf(file.content_type)?.startsWith("image/");
    return isImage ? "[image]" : `[file: ${textOf(file.name) ?? "untitled"}]`;
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
  if (usage === undefined) return undefined;
  return {
    inputTokens: numberOf(usage.prompt_tokens) ?? numberOf(usage.input_tokens),
    outputTokens: numberOf(usage.completion_tokens) ?? numberOf(usage.output_tokens),
  };
}
