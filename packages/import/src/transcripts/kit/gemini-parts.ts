// Content in the shape of Google's Gemini API: a text, a part, or a list of parts. Gemini CLI and Qwen Code store it.
import type { ToolCall } from "../reader.ts";
import { type Json, joined, recordOf, textOf, toolCall } from "./values.ts";

export type Parts = {
  readonly text: string;
  readonly reasoning: string | undefined;
  readonly toolCalls: readonly ToolCall[];
  readonly toolResults: readonly PartResult[];
};
type PartResult = {
  readonly callId: string;
  readonly name: string | undefined;
  readonly text: string;
};

/** `unknown` is told the field names of every part that has no place here. */
export function partsOf(content: unknown, unknown: (type: string) => void): Parts {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const toolCalls: ToolCall[] = [];
  const toolResults: PartResult[] = [];
  for (const item of Array.isArray(content) ? content : [content]) {
    const part = typeof item === "string" ? { text: item } : recordOf(item);
    if (part === undefined) continue;
    const call = recordOf(part.functionCall);
    const response = recordOf(part.functionResponse);
    if (typeof part.text === "string") (part.thought === true ? thoughts : texts).push(part.text);
    else if (part.thought === true)
      continue; // its text is encrypted
    else if (call !== undefined) toolCalls.push(toolCall(call.id, call.name, call.args));
    else if (response !== undefined)
      toolResults.push({
        callId: textOf(response.id) ?? "",
        name: textOf(response.name),
        text: responseText(response.response),
      });
    else {
      const stands = attachmentText(part);
      if (stands !== undefined) texts.push(stands);
      else unknown(`part ${Object.keys(part).sort().join(",") || "without fields"}`);
    }
  }
  const reasoning = joined(thoughts);
  return { text: joined(texts), reasoning: reasoning === "" ? undefined : reasoning, toolCalls, toolResults };
}

/** `output` or `error` of a function's response; any other response as JSON. */
function responseText(response: unknown): string {
  if (typeof response === "string") return response;
  const fields = recordOf(response);
  if (fields === undefined) return "";
  for (const value of [fields.output, fields.error]) {
    if (typeof value === "string") return value;
    if (value !== undefined && value !== null) return JSON.stringify(value);
  }
  return Object.keys(fields).length === 0 ? "" : JSON.stringify(fields);
}

function attachmentText(part: Json): string | undefined {
  const data = recordOf(part.inlineData) ?? recordOf(part.fileData);
  if (data === undefined) return undefined;
  const name = textOf(data.displayName);
  if (name !== undefined) return `[file: ${name}]`;
  return textOf(data.mimeType)?.startsWith("image/") === false ? "[file]" : "[image]";
}
