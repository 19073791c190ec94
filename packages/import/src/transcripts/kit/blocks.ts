// Content in the shape of Anthropic's API: text, or a list of typed blocks. Many agents store it.
import { isRecord } from "@hermes-memory/core/internal/lib";
import type { ToolCall } from "../reader.ts";
import { joined, toolCall } from "./parts.ts";
import { type Json, listOf, recordOf, textOf } from "./values.ts";

export type Blocks = {
  readonly text: string;
  readonly reasoning: string | undefined;
  readonly toolCalls: readonly ToolCall[];
  readonly toolResults: readonly ToolResult[];
};
export type ToolResult = {
  readonly callId: string;
  readonly name?: string | undefined;
  readonly text: string;
};

/**
 * `unknown` is told the type of every block that has no place here. `inForm`: a block of another form in this one, or undefined for one
 * without anything to keep.
 */
export function blocksOf(
  content: unknown,
  unknown: (type: string) => void,
  inForm: (block: Json) => Json | undefined = (block) => block,
): Blocks {
  if (typeof content === "string")
    return { text: content, reasoning: undefined, toolCalls: [], toolResults: [] };
  const texts: string[] = [];
  const thoughts: string[] = [];
  const toolCalls: ToolCall[] = [];
  const toolResults: ToolResult[] = [];
  for (const item of listOf(content)) {
    const record = recordOf(item);
    const block = typeof item === "string" ? { type: "text", text: item } : record && inForm(record);
    if (block === undefined) continue;
    const type = textOf(block.type) ?? "";
    if (TEXT_TYPES.has(type)) texts.push(textOf(block.text) ?? "");
    else if (type === "thinking" || type === "reasoning")
      thoughts.push(textOf(block.thinking) ?? textOf(block.text) ?? "");
    else if (type === "tool_use" || type === "server_tool_use")
      toolCalls.push(toolCall(block.id, block.name, block.input));
    else if (type === "tool_result")
      toolResults.push({
        callId: textOf(block.tool_use_id) ?? "",
        name: textOf(block.name),
        text: resultText(block.content, unknown),
      });
    else if (attachment(type, block) !== undefined) texts.push(attachment(type, block) ?? "");
    else if (!SILENT_TYPES.has(type)) unknown(`block ${type || "without type"}`);
  }
  const reasoning = joined(thoughts);
  return { text: joined(texts), reasoning: reasoning === "" ? undefined : reasoning, toolCalls, toolResults };
}

/** Cline keeps what a tool returned as it is: records that are no blocks. */
function resultText(content: unknown, unknown: (type: string) => void): string {
  const items = Array.isArray(content) ? content : [content];
  const isData = items.some((item) => isRecord(item) && item.type === undefined);
  return isData ? JSON.stringify(content) : blocksOf(content, unknown).text;
}

const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);
/** Known, and nothing to keep. */
const SILENT_TYPES: ReadonlySet<string> = new Set(["redacted_thinking", "tool_reference"]);

/** What stands in the text for an image or a file, whose data is never kept. */
export function attachment(type: string, block: Json): string | undefined {
  if (/^(?:input_|local_)?image(?:_url|_file)?$/.test(type)) return "[image]";
  if (!/^(?:input_|local_)?(?:document|file|audio|video)$/.test(type)) return undefined;
  const name = textOf(block.title) ?? textOf(block.filename) ?? textOf(block.name);
  return name === undefined ? `[${type.replace(/^(?:input_|local_)/, "")}]` : `[file: ${name}]`;
}
