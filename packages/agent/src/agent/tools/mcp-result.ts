// What an MCP server answered, as the text a model reads.
import { isRecord } from "@hermes-memory/core/lib";
import type { ToolOutcome } from "@hermes-memory/core/tools";

/** `answer` is a `CallToolResult`, from a server we do not know. */
export function mcpOutcome(answer: unknown): ToolOutcome {
  const result = isRecord(answer) ? answer : {};
  const parts = Array.isArray(result.content) ? result.content.map(partText) : [];
  const spoken = parts.filter((part) => part !== "").join("\n");
  const rest = result.structuredContent ?? result.toolResult;
  const text = spoken !== "" || rest === undefined ? spoken : JSON.stringify(rest);
  return result.isError === true ? { text, isError: true } : { text };
}

function partText(part: unknown): string {
  if (!isRecord(part)) return "";
  if (typeof part.text === "string") return part.text;
  if (isRecord(part.resource)) {
    const { uri, text, mimeType } = part.resource;
    return typeof text === "string" ? text : `[${shown(mimeType)} resource ${shown(uri)}: not shown]`;
  }
  if (part.type === "resource_link") return `[resource ${shown(part.name)}: ${shown(part.uri)}]`;
  return `[${shown(part.mimeType ?? part.type)}: not shown]`;
}

function shown(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 300) : "unnamed";
}
