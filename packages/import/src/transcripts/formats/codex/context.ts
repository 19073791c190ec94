// Text that Codex puts into user messages and that no user wrote.
import { strippedUserText } from "@hermes-memory/core/internal/security";
import { attachment } from "../../kit/blocks.ts";
import { joined, listOf, recordOf, textOf } from "../../kit/values.ts";

/** Editors put open files before the prompt, and this line between them. */
const REQUEST_MARK = /^## My request for Codex:[ \t]*\n?/m;
/** Codex writes the first around an image that the user attached, the others around what comes from other agents. */
const OWN_TAG = /^\s*(?:<\/?(?:image|audio)\b[^>]*>\s*$|<external_)/;

/** Empty when every block is injected. */
export function userText(content: unknown, unknown: (type: string) => void): string {
  const parts: string[] = [];
  for (const item of typeof content === "string"
    ? [{ type: "input_text", text: content }]
    : listOf(content)) {
    const block = recordOf(item);
    const type = textOf(block?.type) ?? "";
    const text = textOf(block?.text);
    if (text !== undefined) parts.push(OWN_TAG.test(text) ? "" : requestOf(strippedUserText(text)));
    else if (type !== "input_text" && type !== "text")
      parts.push((block && attachment(type, block)) ?? unknownBlock(type, unknown));
  }
  return joined(parts);
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

function unknownBlock(type: string, unknown: (type: string) => void): string {
  unknown(`block ${type || "without type"}`);
  return "";
}
