// One line that shows a person what a call of the `memory` tool does.
import { preview } from "../lib/index.ts";

export function memoryToolPreview(args: unknown): string {
  const given = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const target = String(given.target ?? "memory");
  const oldText = given.old_text ? `"${preview(String(given.old_text), 20)}"` : '"<missing old_text>"';
  if (given.action === "add") return `+${target}: "${preview(String(given.content ?? ""), 25)}"`;
  if (given.action === "replace") return `~${target}: ${oldText}`;
  if (given.action === "remove") return `-${target}: ${oldText}`;
  return `${String(given.action)} ${target}`;
}
