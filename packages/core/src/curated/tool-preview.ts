// One line that shows a person what a call of the `memory` tool does.
import { preview } from "../lib/index.ts";

export function memoryToolPreview(args: unknown): string {
  const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const target = shown(given.target ?? "memory", 25);
  if (Array.isArray(given.operations) && given.operations.length > 0)
    return `*${target}: ${given.operations.length} operations`;
  const oldText = given.old_text ? `"${shown(given.old_text, 20)}"` : '"<missing old_text>"';
  if (given.action === "add") return `+${target}: "${shown(given.content ?? given.new_text ?? "", 25)}"`;
  if (given.action === "replace") return `~${target}: ${oldText}`;
  if (given.action === "remove") return `-${target}: ${oldText}`;
  if (given.action === "search_archive") return `?${target}: "${shown(given.query ?? "", 25)}"`;
  return `${shown(given.action, 25)} ${target}`;
}

/** On one line, and without what would move a terminal's cursor. */
function shown(value: unknown, chars: number): string {
  return preview(String(value).replace(/[\x00-\x1f\x7f-\x9f]+/g, " "), chars);
}
