// Letta: agent files (`.af`) that its server exports, and the conversations of Letta Code in local mode.
import { basename, dirname, extname, join } from "node:path";
import { blocksOf } from "../kit/blocks.ts";
import { wholeJson } from "../kit/json-array.ts";
import { type Json, joined, jsonOf, jsonText, listOf, recordOf, textOf, timeOf } from "../kit/values.ts";
import { filesBelow } from "../kit/walk.ts";
import type { Reading, ToolCall, TranscriptEvent, TranscriptMessage, TranscriptReader } from "../reader.ts";
import { readPiFile } from "./pi/file.ts";

const MESSAGES = "messages.jsonl";
const FORMAT = "pi-session-entry-jsonl";

export const letta: TranscriptReader = {
  source: "letta",
  title: "Letta",
  evidence: "S",
  isExperimental: true,
  version: 1,
  // Exports lie where the user put them, and Letta Code's folder can be anywhere.
  roots: () => [],
  units: async function* (root, walking) {
    const file = (path: string): boolean =>
      path === root || basename(path) === MESSAGES || extname(path) === ".af";
    for await (const path of filesBelow(root, { file }, walking))
      yield basename(path) === MESSAGES
        ? { path, stamps: [path, besides(path, "conversation.json")] }
        : { path };
  },
  recognises: ({ path, first }) => {
    const record = recordOf(first);
    const isExport = Array.isArray(record?.agents) && Array.isArray(record.blocks);
    return isExport || (basename(path) === MESSAGES && record?.type === "session");
  },
  read: ({ path }, reading) =>
    basename(path) === MESSAGES ? readConversation(path, reading) : readExport(path, reading),
};

function besides(path: string, name: string): string {
  return join(dirname(path), name);
}

async function* readConversation(path: string, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const manifest = await optionalJson(besides(path, "manifest.json"), reading);
  const format = textOf(manifest?.message_format) ?? textOf(manifest?.format);
  if (format !== undefined && format !== FORMAT) throw new Error(`is in the unknown format ${format}`);
  const conversation = await optionalJson(besides(path, "conversation.json"), reading);
  // Every agent has a conversation named "default".
  const agent = textOf(conversation?.agent_id);
  const prefix = agent === undefined ? "" : `${agent}-`;
  const id = textOf(conversation?.id);
  const file = {
    path,
    nativeIdOf: (header: string) =>
      prefix + (id ?? (header === "messages" ? basename(dirname(path)) : header)),
    facts: { title: textOf(conversation?.summary) },
  };
  yield* readPiFile(file, reading);
}

async function optionalJson(path: string, reading: Reading): Promise<Json | undefined> {
  try {
    return recordOf(await wholeJson(path, { ...reading, advanced: () => {} }));
  } catch {
    reading.signal.throwIfAborted(); // missing in copied folders
    return undefined;
  }
}

async function* readExport(path: string, reading: Reading): AsyncGenerator<TranscriptEvent> {
  const file = recordOf(await wholeJson(path, reading));
  const agents = listOf(file?.agents);
  if (agents.length === 0) throw new Error("holds no agents");
  for (const value of agents) {
    const agent = recordOf(value) ?? {};
    const id = textOf(agent.id) ?? "agent";
    // Exports number their agents from zero, so only the file name tells two of them apart.
    const nativeId = /\d+$/.test(id) && id.length < 16 ? `${basename(path, ".af")}-${id}` : id;
    const toolNames = new Map<string, string>();
    yield { kind: "session", facts: { nativeId, title: textOf(agent.name) } };
    for (const [index, item] of listOf(agent.messages).entries()) {
      const record = recordOf(item);
      if (record === undefined) {
        reading.malformed(index + 1, `not a JSON object (message of ${id})`);
        continue;
      }
      for (const message of messagesOf(record, toolNames, reading))
        yield { kind: "message", message: { ...message, at: timeOf(record.created_at), line: index + 1 } };
    }
    yield { kind: "end" };
  }
}

function messagesOf(
  record: Json,
  toolNames: Map<string, string>,
  reading: Reading,
): readonly TranscriptMessage[] {
  const role = textOf(record.role) ?? "";
  const id = textOf(record.id);
  const { text, reasoning } = contentOf(record.content, reading);
  if (role === "user") {
    const own = userText(text);
    return own === undefined ? [] : [{ id, role, text: own }];
  }
  if (role === "assistant") {
    const toolCalls = listOf(record.tool_calls).flatMap((call) => callOf(recordOf(call)));
    for (const call of toolCalls) toolNames.set(call.id, call.name);
    const spoken = toolCalls.map((call) => spokenText(call));
    const whole = joined([text, ...spoken]);
    if (whole === "" && toolCalls.length === 0) return [];
    return [
      {
        id,
        role,
        text: whole,
        model: textOf(record.model),
        ...(toolCalls.length > 0 && { toolCalls }),
        ...(reading.options.includeReasoning && reasoning !== undefined && { reasoning }),
      },
    ];
  }
  if (role === "tool") {
    const results = listOf(record.tool_returns).map((one) => recordOf(one) ?? {});
    if (results.length > 1) return results.map((one) => returnedBy(one, id, toolNames));
    const toolCallId = textOf(record.tool_call_id) ?? textOf(results[0]?.tool_call_id);
    const returned = results.map((one) => textOf(one.func_response) ?? textOf(one.tool_return));
    const result = text === "" ? joined(returned) : text;
    const toolName = textOf(record.name) ?? (toolCallId && toolNames.get(toolCallId));
    return [{ id, role, text: result, toolCallId, toolName }];
  }
  if (role !== "system") reading.unknown(`role ${role || "missing"}`);
  else if (reading.options.includeSystem) return [{ id, role, text }];
  return [];
}

/** One of several calls that ran at once, whose results share a record. */
function returnedBy(
  result: Json,
  id: string | undefined,
  toolNames: ReadonlyMap<string, string>,
): TranscriptMessage {
  const toolCallId = textOf(result.tool_call_id);
  return {
    id: id === undefined || toolCallId === undefined ? id : `${id}:${toolCallId}`,
    role: "tool",
    text: textOf(result.func_response) ?? textOf(result.tool_return) ?? "",
    toolCallId,
    toolName: toolCallId && toolNames.get(toolCallId),
  };
}

/** Messages of the user are wrapped in JSON by older servers; in the same form the server tells of logins, timers and recaps. */
function userText(text: string): string | undefined {
  const packed = text.startsWith("{") ? recordOf(jsonOf(text)) : undefined;
  if (typeof packed?.type !== "string") return text;
  return packed.type === "user_message" ? textOf(packed.message) : undefined;
}

function callOf(call: Json | undefined): ToolCall[] {
  const called = recordOf(call?.function) ?? call;
  if (called === undefined) return [];
  return [
    {
      id: textOf(call?.id) ?? textOf(call?.tool_call_id) ?? "",
      name: textOf(called.name) ?? "unknown",
      arguments: jsonText(called.arguments),
    },
  ];
}

/** Older agents answer the user with a tool. */
function spokenText(call: ToolCall): string | undefined {
  return call.name === "send_message" ? textOf(recordOf(jsonOf(call.arguments))?.message) : undefined;
}

/** Parts for calls and results repeat the fields `tool_calls` and `tool_returns`. */
function contentOf(content: unknown, reading: Reading): { text: string; reasoning: string | undefined } {
  if (typeof content === "string") return { text: content, reasoning: undefined };
  const thoughts: string[] = [];
  const others = listOf(content).filter((item) => {
    const part = recordOf(item);
    if (part?.type === "reasoning") thoughts.push(textOf(part.reasoning) ?? "");
    return !/^(?:reasoning|redacted_reasoning|omitted_reasoning|summarized_reasoning|tool_call|tool_return)$/.test(
      textOf(part?.type) ?? "",
    );
  });
  return { text: blocksOf(others, reading.unknown).text, reasoning: joined(thoughts) || undefined };
}
