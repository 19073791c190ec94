// One line about the arguments of a tool that has no words of its own for them: `query="kiln glaze"`.
import { preview } from "@hermes-memory/core/lib";
import { redactSecrets } from "@hermes-memory/core/security";
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
  return preview(onOneLine(parts.join(" ")), LINE_CHARS);
}

function shown(value: unknown): string {
  if (typeof value === "string")
    return `"${preview(onOneLine(redactSecrets(preview(value, READ_CHARS))), VALUE_CHARS)}"`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[...]" : "{...}";
  return String(value);
}

/** Without what would move a terminal's cursor. */
function onOneLine(text: string): string {
  return text.replace(/[\s\x00-\x1f\x7f-\x9f]+/g, " ");
}
