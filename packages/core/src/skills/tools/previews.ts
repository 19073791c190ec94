// One line that shows a person what a call of a skills tool does.
import { preview } from "../../lib/index.ts";

export function skillsListPreview(args: unknown): string {
  const category = field(args, "category");
  return category === "" ? "all skills" : `skills in ${category}`;
}

export function skillViewPreview(args: unknown): string {
  return [field(args, "name"), field(args, "file_path")].filter((part) => part !== "").join(" ");
}

export function skillManagePreview(args: unknown): string {
  const parts = [field(args, "action"), field(args, "name"), field(args, "file_path")];
  return parts.filter((part) => part !== "").join(" ");
}

/** On one line, and without what would move a terminal's cursor. */
function field(args: unknown, name: string): string {
  if (typeof args !== "object" || args === null) return "";
  const value = (args as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? preview(value.replace(/[\x00-\x1f\x7f-\x9f]+/g, " "), 60) : "";
}
