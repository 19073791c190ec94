// One response item of Codex as a message. All generations of its files store the same items.
import { attachment } from "../../kit/blocks.ts";
import { type Json, joined, jsonText, listOf, recordOf, textOf } from "../../kit/values.ts";
import type { Reading, ToolCall, TranscriptMessage } from "../../reader.ts";
import { userText } from "./context.ts";

type Row = TranscriptMessage & { readonly id: string };

/** Encrypted, or a recap of turns that are still in the file. `other` is what Codex writes for items that it does not know itself. */
const SKIPPED_TYPES: ReadonlySet<string> = new Set([
  "additional_tools",
  "compaction",
  "compaction_summary",
  "compaction_trigger",
  "context_compaction",
  "ghost_snapshot",
  "other",
]);

/** Remembers the names of calls for their results, and the reasoning for the answer after it. */
export class CodexItems {
  readonly #reading: Reading;
  readonly #isSubagent: () => boolean;
  readonly #toolNames = new Map<string, string>();
  #reasoning: string[] = [];

  constructor(reading: Reading, isSubagent: () => boolean) {
    this.#reading = reading;
    this.#isSubagent = isSubagent;
  }

  /** Undefined for items that are no part of the conversation. */
  messageOf(item: Json, id: string): Row | undefined {
    const type = textOf(item.type) ?? (item.role === undefined ? "" : "message");
    if (type === "message") return this.#message(item, id);
    if (type === "agent_message") return this.#fromAgent(item, id);
    if (type === "reasoning") {
      const summary = listOf(item.summary).map((part) => textOf(recordOf(part)?.text));
      if (this.#reading.options.includeReasoning) this.#reasoning.push(joined(summary));
      return undefined;
    }
    const call = this.#callOf(type, item, id);
    if (call !== undefined) return call;
    if (type.endsWith("_output")) return this.#result(type, item, id);
    if (!SKIPPED_TYPES.has(type)) this.#reading.unknown(`item ${type || "without type"}`);
    return undefined;
  }

  #message(item: Json, id: string): Row | undefined {
    const role = textOf(item.role) ?? "";
    if (role === "user") {
      const text = userText(item.content, this.#reading.unknown);
      return text === "" ? undefined : { id, role, text };
    }
    const text = outputText(item.content, this.#reading);
    if (role === "assistant") return text === "" ? undefined : this.#answer({ id, role, text });
    if (role === "developer" || role === "system")
      return this.#reading.options.includeSystem && text !== "" ? { id, role: "system", text } : undefined;
    this.#reading.unknown(`role ${role || "missing"}`);
    return undefined;
  }

  /** A message between agents: the task of a subagent, or in its parent's file the report that comes back. */
  #fromAgent(item: Json, id: string): Row | undefined {
    const text = outputText(item.content, this.#reading);
    if (text === "") return undefined;
    return this.#isSubagent()
      ? { id, role: "user", text }
      : { id, role: "tool", text, toolName: textOf(item.author) ?? "agent_message" };
  }

  #callOf(type: string, item: Json, id: string): Row | undefined {
    const callId = textOf(item.call_id) ?? textOf(item.id) ?? id;
    const call = (name: string, args: unknown): ToolCall => ({ id: callId, name, arguments: jsonText(args) });
    if (type === "function_call")
      return this.#calls(call(textOf(item.name) ?? "unknown", item.arguments), id);
    if (type === "custom_tool_call")
      return this.#calls(call(textOf(item.name) ?? "unknown", { input: item.input ?? "" }), id);
    if (type === "local_shell_call") return this.#calls(call("local_shell", item.action), id);
    if (type === "web_search_call") return this.#calls(call("web_search", item.action), id);
    if (type === "tool_search_call") return this.#calls(call("tool_search", item.arguments), id);
    // `result` is the picture itself.
    if (type === "image_generation_call")
      return this.#calls(call("image_generation", { prompt: item.revised_prompt ?? "" }), id, "[image]");
    return undefined;
  }

  #calls(call: ToolCall, id: string, text = ""): Row {
    this.#toolNames.set(call.id, call.name);
    return this.#answer({ id, role: "assistant", text, toolCalls: [call] });
  }

  #result(type: string, item: Json, id: string): Row {
    const callId = textOf(item.call_id);
    const text =
      type === "tool_search_output"
        ? joined(listOf(item.tools).map((tool) => textOf(recordOf(tool)?.name)))
        : resultText(item.output, this.#reading);
    const toolName = callId === undefined ? undefined : this.#toolNames.get(callId);
    return { id, role: "tool", text, toolCallId: callId, toolName };
  }

  #answer(row: Row): Row {
    const reasoning = joined(this.#reasoning);
    this.#reasoning = [];
    return reasoning === "" ? row : { ...row, reasoning };
  }
}

/** The output is text, a list of blocks, or JSON text with both the output and facts about the run. */
function resultText(output: unknown, reading: Reading): string {
  if (typeof output !== "string")
    return Array.isArray(output)
      ? outputText(output, reading)
      : (textOf(recordOf(output)?.content) ?? textOf(recordOf(output)?.output) ?? "");
  if (!output.startsWith('{"output":')) return output;
  try {
    return textOf(recordOf(JSON.parse(output))?.output) ?? output;
  } catch {
    return output;
  }
}

function outputText(content: unknown, reading: Reading): string {
  if (typeof content === "string") return content;
  const parts: string[] = [];
  for (const item of listOf(content)) {
    const block = recordOf(item);
    const type = textOf(block?.type) ?? "";
    const text = textOf(block?.text) ?? textOf(block?.refusal) ?? (block && attachment(type, block));
    if (text !== undefined) parts.push(text);
    else if (!/text$|^encrypted/.test(type)) reading.unknown(`block ${type || "without type"}`);
  }
  return joined(parts);
}
