// One response item of Codex as a message, without the text that Codex puts into user messages and no user wrote. All generations of its
// files store the same items.
import { strippedUserText } from "@hermes-memory/core/internal/security";
import type { Draft } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { joined, toolCall } from "../kit/parts.ts";
import { type Json, jsonOf, listOf, names, recordOf, textOf } from "../kit/values.ts";
import type { Reading } from "../reader.ts";

/** Encrypted, or a recap of turns that are still in the file. `other` is what Codex writes for items that it does not know itself. */
const SKIPPED_TYPES = names(`
  additional_tools compaction compaction_summary compaction_trigger context_compaction ghost_snapshot
  other
`);

/** Undefined for items that are no part of the conversation. */
export function itemDraft(item: Json, id: string, isSubagent: boolean, reading: Reading): Draft | undefined {
  const type = textOf(item.type) ?? (item.role === undefined ? "" : "message");
  if (type === "message") {
    if (item.role === "user") return { id, role: "user", text: userText(item.content, reading.unknown) };
    const role = item.role === "developer" ? "system" : item.role;
    return { id, role, text: outputText(item.content, reading) };
  }
  // A message between agents: the task of a subagent, or in its parent's file the report that comes back.
  if (type === "agent_message") {
    const text = outputText(item.content, reading);
    if (isSubagent) return { id, role: "user", text };
    return text === ""
      ? undefined
      : { id, role: "tool", text, toolName: textOf(item.author) ?? "agent_message" };
  }
  const call = callOf(type, item);
  if (call !== undefined) {
    const toolCalls = [toolCall(textOf(item.call_id) ?? textOf(item.id) ?? id, ...call)];
    // `result` is the picture itself.
    return { id, role: "assistant", text: type === "image_generation_call" ? "[image]" : "", toolCalls };
  }
  if (type.endsWith("_output")) {
    const output =
      type === "tool_search_output"
        ? joined(listOf(item.tools).map((tool) => textOf(recordOf(tool)?.name)))
        : resultText(item.output, reading);
    return { id, role: "tool", text: output, toolCallId: textOf(item.call_id) };
  }
  if (!SKIPPED_TYPES.has(type)) reading.unknown(`item ${type || "without type"}`);
  return undefined;
}

/** The name of the tool, and what it was given. */
function callOf(type: string, item: Json): [name: unknown, given: unknown] | undefined {
  if (type === "function_call") return [item.name, item.arguments];
  if (type === "custom_tool_call") return [item.name, { input: item.input ?? "" }];
  if (type === "local_shell_call") return ["local_shell", item.action];
  if (type === "web_search_call") return ["web_search", item.action];
  if (type === "tool_search_call") return ["tool_search", item.arguments];
  if (type === "image_generation_call") return ["image_generation", { prompt: item.revised_prompt ?? "" }];
  return undefined;
}

/** The output is text, a list of blocks, or JSON text with both the output and facts about the run. */
function resultText(output: unknown, reading: Reading): string {
  if (typeof output !== "string")
    return Array.isArray(output)
      ? outputText(output, reading)
      : (textOf(recordOf(output)?.content) ?? textOf(recordOf(output)?.output) ?? "");
  if (!output.startsWith('{"output":')) return output;
  return textOf(recordOf(jsonOf(output))?.output) ?? output;
}

function outputText(content: unknown, reading: Reading): string {
  return blocksOf(content, reading.unknown, (block) => {
    const text = textOf(block.text) ?? textOf(block.refusal);
    if (text !== undefined) return { type: "text", text };
    return /text$|^encrypted/.test(textOf(block.type) ?? "") ? undefined : block;
  }).text;
}

/** Editors put open files before the prompt, and this line between them. */
const REQUEST_MARK = /^## My request for Codex:[ \t]*\n?/m;
/** Codex writes the first around an image that the user attached, the others around what comes from other agents. */
const OWN_TAG = /^\s*(?:<\/?(?:image|audio)\b[^>]*>\s*$|<external_)/;

/** Empty when every block is injected. */
function userText(content: unknown, unknown: (type: string) => void): string {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return blocksOf(blocks, unknown, (block) => {
    const text = textOf(block.text);
    if (text === undefined) return block.type === "input_text" || block.type === "text" ? undefined : block;
    return { type: "text", text: OWN_TAG.test(text) ? "" : requestOf(strippedUserText(text)) };
  }).text;
}

/** The folder in the first message of the releases that record it nowhere else. */
export function contextFolder(content: unknown): string | undefined {
  for (const item of listOf(content)) {
    const text = textOf(recordOf(item)?.text);
    if (text?.startsWith("<environment_context>") !== true) continue;
    return (
      /<cwd>([^<]+)<\/cwd>/.exec(text)?.[1] ?? /^Current working directory: (.+)$/m.exec(text)?.[1]
    )?.trim();
  }
  return undefined;
}

function requestOf(text: string): string {
  const mark = REQUEST_MARK.exec(text);
  return mark === null ? text : text.slice(mark.index + mark[0].length).trim();
}
