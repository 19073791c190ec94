// Letta: agent files (`.af`) that its server exports, and the conversations of Letta Code in local mode.
import { basename, dirname, extname, join } from "node:path";
import { type Draft, format, type Said } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { recordAt, wholeJson } from "../kit/json-array.ts";
import { functionCall, joined } from "../kit/parts.ts";
import { type Json, jsonOf, numbered, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";
import type { Reading, ToolCall } from "../reader.ts";
import { readPiFile } from "./pi.ts";

const MESSAGES = "messages.jsonl";
const FORMAT = "pi-session-entry-jsonl";
/** Parts for calls and results repeat the fields `tool_calls` and `tool_returns`. */
const REPEATED = /^(?:redacted_reasoning|omitted_reasoning|summarized_reasoning|tool_call|tool_return)$/;

export const letta = format({
  source: "letta",
  title: "Letta",
  evidence: "S",
  isExperimental: true,
  // Exports lie where the user put them, and Letta Code's folder can be anywhere.
  roots: () => [],
  units: unitsOf((path) => basename(path) === MESSAGES || extname(path) === ".af", {
    stamps: (path) => (basename(path) === MESSAGES ? [path, beside(path, "conversation.json")] : [path]),
  }),
  recognises: ({ path, first }) =>
    (Array.isArray(first.agents) && Array.isArray(first.blocks)) ||
    (basename(path) === MESSAGES && first.type === "session"),
  read: ({ path }, reading) =>
    basename(path) === MESSAGES ? readConversation(path, reading) : readExport(path, reading),
});

function beside(path: string, name: string): string {
  return join(dirname(path), name);
}

async function* readConversation(path: string, reading: Reading): AsyncGenerator<Said> {
  const manifest = await recordAt(beside(path, "manifest.json"));
  const named = textOf(manifest?.message_format) ?? textOf(manifest?.format);
  if (named !== undefined && named !== FORMAT) throw new Error(`is in the unknown format ${named}`);
  const conversation = await recordAt(beside(path, "conversation.json"));
  // Every agent has a conversation named "default".
  const agent = textOf(conversation?.agent_id);
  const prefix = agent === undefined ? "" : `${agent}-`;
  const id = textOf(conversation?.id);
  const nativeIdOf = (header: string): string =>
    prefix + (id ?? (header === "messages" ? basename(dirname(path)) : header));
  yield* readPiFile({ path, nativeIdOf, facts: { title: textOf(conversation?.summary) } }, reading);
}

async function* readExport(path: string, reading: Reading): AsyncGenerator<Said> {
  const agents = recordOf(await wholeJson(path, reading))?.agents;
  if (!Array.isArray(agents) || agents.length === 0) throw new Error("holds no agents");
  for (const value of agents) {
    const agent = recordOf(value) ?? {};
    const id = textOf(agent.id) ?? "agent";
    // Exports number their agents from zero, so only the file name tells two of them apart.
    const nativeId = /\d+$/.test(id) && id.length < 16 ? `${basename(path, ".af")}-${id}` : id;
    const malformed = (line: number, reason: string): void =>
      reading.malformed(line, `${reason} (message of ${id})`);
    yield { nativeId, title: textOf(agent.name) };
    for (const { line, value: record } of numbered(agent.messages, { malformed })) {
      const message = messageOf(record, reading);
      if (message !== undefined) yield { ...message, at: timeOf(record.created_at), line };
    }
    yield { kind: "end" };
  }
}

function messageOf(record: Json, reading: Reading): Draft | undefined {
  const { role } = record;
  const id = textOf(record.id);
  const { text, reasoning } = blocksOf(record.content, reading.unknown, (part) => {
    if (part.type === "reasoning") return { type: "thinking", thinking: part.reasoning };
    return REPEATED.test(textOf(part.type) ?? "") ? undefined : part;
  });
  if (role === "user") {
    const own = userText(text);
    return own === undefined ? undefined : { id, role, text: own };
  }
  if (role === "assistant") {
    const toolCalls = recordsOf(record.tool_calls).map((call) =>
      functionCall({ ...call, id: textOf(call.id) ?? call.tool_call_id }),
    );
    const whole = joined([text, ...toolCalls.map(spokenText)]);
    return { id, role, text: whole, reasoning, toolCalls, model: textOf(record.model) };
  }
  if (role !== "tool") return { id, role, text };
  const results = recordsOf(record.tool_returns).map((result) => ({
    callId: textOf(result.tool_call_id) ?? "",
    text: textOf(result.func_response) ?? textOf(result.tool_return) ?? "",
  }));
  // Calls that ran at once have their results in one record.
  if (results.length > 1) return { id, role, text: "", toolResults: results };
  return {
    id,
    role,
    text: text === "" ? (results[0]?.text ?? "") : text,
    toolCallId: textOf(record.tool_call_id) ?? textOf(results[0]?.callId),
    toolName: textOf(record.name),
  };
}

/** Messages of the user are wrapped in JSON by older servers; in the same form the server tells of logins, timers and recaps. */
function userText(text: string): string | undefined {
  const packed = text.startsWith("{") ? recordOf(jsonOf(text)) : undefined;
  if (typeof packed?.type !== "string") return text;
  return packed.type === "user_message" ? textOf(packed.message) : undefined;
}

/** Older agents answer the user with a tool. */
function spokenText(call: ToolCall): string | undefined {
  return call.name === "send_message" ? textOf(recordOf(jsonOf(call.arguments))?.message) : undefined;
}
