// One line about the arguments of a tool that has no words of its own for them: `query="kiln glaze"`.
import { preview } from "../lib/index.ts";
import { redactSecrets } from "../security/index.ts";
import type { ToolArguments } from "./tool.ts";

const LINE_CHARS = 100;
const VALUE_CHARS = 40;
/** Read before masking, so that no secret is cut in half and then shown. */
const READ_CHARS = 2_000;
const SECRET_KEY = /key|token|secret|password|passwd|credential|authorization/i;

export function argumentPreview(args: ToolArguments): string {
  const parts = Object.entries(args).map(
    ([key, value]) => `${key}=${SECRET_KEY.test(key) ? "***" : shown(value)}`,
  );
  return preview(collapsed(parts.join(" ")), LINE_CHARS);
}

function shown(value: unknown): string {
  if (typeof value === "string")
    return `"${preview(collapsed(redactSecrets(preview(value, READ_CHARS))), VALUE_CHARS)}"`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[...]" : "{...}";
  return String(value);
}

function collapsed(text: string): string {
  return onOneLine(text).replace(/\s+/g, " ");
}

/** Any value of JSON as text. Never throws, also where an object has a member `toString` that is no function. */
export function shownText(value: unknown): string {
  try {
    return onOneLine(String(value));
  } catch {
    return "{...}";
  }
}

/** Without what would move a terminal's cursor. */
export function onOneLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]+/g, " ");
}
