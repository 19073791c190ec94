// A message in the shape of OpenAI's chat API: a role, content, tool calls beside it, and results as messages of their own.
import type { Reading, ToolCall, TranscriptMessage } from "../reader.ts";
import { blocksOf } from "./blocks.ts";
import { type Json, joined, jsonText, listOf, recordOf, textOf } from "./values.ts";

/** Undefined for a message that is not wanted, or that has nothing in it. */
export function chatMessage(
  value: Json,
  told: Pick<Reading, "unknown" | "options">,
): Omit<TranscriptMessage, "id"> | undefined {
  const role = textOf(value.role) === "developer" ? "system" : textOf(value.role);
  if (role !== "user" && role !== "assistant" && role !== "tool" && role !== "system") {
    told.unknown(`role ${role ?? "missing"}`);
    return undefined;
  }
  if (role === "system" && !told.options.includeSystem) return undefined;
  const blocks = blocksOf(value.content, told.unknown);
  const beside = listOf(value.tool_calls).flatMap(callOf);
  const toolCalls = beside.length > 0 ? beside : blocks.toolCalls;
  const thoughts = [value.reasoning_content, value.thinking, value.reasoning].map(textOf);
  const reasoning = told.options.includeReasoning
    ? textOf(joined([...thoughts, blocks.reasoning]))
    : undefined;
  if (blocks.text.trim() === "" && toolCalls.length === 0 && reasoning === undefined && role !== "tool")
    return undefined;
  return {
    role,
    text: blocks.text,
    reasoning,
    model: textOf(value.model),
    toolCalls: toolCalls.length > 0 ? toolCalls : undefined,
    ...(role === "tool" ? { toolCallId: textOf(value.tool_call_id), toolName: textOf(value.name) } : {}),
  };
}

function callOf(value: unknown): readonly ToolCall[] {
  const call = recordOf(value);
  const what = recordOf(call?.function) ?? call;
  const name = textOf(what?.name);
  if (call === undefined || what === undefined || name === undefined) return [];
  return [
    { id: textOf(call.id) ?? "", name, arguments: jsonText(what.arguments ?? what.args ?? what.input) },
  ];
}
