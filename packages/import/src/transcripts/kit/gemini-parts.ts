// Content in the shape of Google's Gemini API: a text, a part, or a list of parts. Gemini CLI and Qwen Code store it.
import { type Blocks, blocksOf } from "./blocks.ts";
import { recordOf, textOf } from "./values.ts";

/** `unknown` is told the field names of every part that has no place here. */
export function partsOf(content: unknown, unknown: (type: string) => void): Blocks {
  const unknownPart = (type: string): void => unknown(type.replace("block", "part"));
  return blocksOf(Array.isArray(content) ? content : [content], unknownPart, (part) => {
    const { text, thought } = part;
    if (typeof text === "string") return { type: thought === true ? "thinking" : "text", text };
    if (thought === true) return undefined; // its text is encrypted
    const call = recordOf(part.functionCall);
    if (call !== undefined) return { type: "tool_use", id: call.id, name: call.name, input: call.args };
    const response = recordOf(part.functionResponse);
    const data = recordOf(part.inlineData) ?? recordOf(part.fileData);
    if (response !== undefined) {
      const result = responseText(response.response);
      return { type: "tool_result", tool_use_id: response.id, name: response.name, content: result };
    }
    if (data === undefined) return { type: Object.keys(part).sort().join(",") };
    const isImage =
      textOf(data.displayName) === undefined && /^(?:$|image\/)/.test(textOf(data.mimeType) ?? "");
    return isImage ? { type: "image" } : { type: "file", name: data.displayName };
  });
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
