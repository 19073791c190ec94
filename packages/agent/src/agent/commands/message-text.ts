// Messages of the live list as a person reads them: what was typed and stored, not what a platform added for the model. Pure.
import type { ContextMessage } from "@hermes-memory/core/context";

/** Text as it is; parts that are no text by their name. */
export function messageText(message: ContextMessage): string {
  const content = shownContent(message);
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map(partText).join("\n") : "";
}

/** The text of a message that is nothing but text, and some of it. */
export function textOnly(message: ContextMessage): string | undefined {
  const content = shownContent(message);
  const isText =
    typeof content === "string" ||
    (Array.isArray(content) && content.every((part) => typeof part === "string" || isTextPart(part)));
  const text = isText ? messageText(message) : "";
  return text === "" ? undefined : text;
}

/** What stands for `content` wherever people look. */
export function shownContent(message: ContextMessage): unknown {
  return "_stored_content" in message ? message._stored_content : message.content;
}

/** Names of the tools an assistant message calls. */
export function calledTools({ tool_calls }: ContextMessage): string[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.map((call: unknown) => {
    const name = field(field(call, "function"), "name");
    return typeof name === "string" ? name : "unknown";
  });
}

function partText(part: unknown): string {
  if (typeof part === "string") return part;
  const text = field(part, "text");
  if (typeof text === "string") return text;
  const type = field(part, "type");
  return `[${typeof type === "string" ? type : "part"}]`;
}

function isTextPart(part: unknown): boolean {
  return field(part, "type") === "text" && typeof field(part, "text") === "string";
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
