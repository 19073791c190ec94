// Shared by the skill commands: opening the skills of the home, and rendering their errors.
import type { SkillError, SkillStore } from "@hermes-memory/core/internal/skills";
import { type CommandContext, CommandFailure, type CommandInput } from "../command.ts";
import { secretHint } from "../memory/memory-command.ts";
import { oneLine, printable } from "../printing.ts";

export function openSkills(
  { memory }: CommandContext,
  flags: CommandInput["flags"] = {},
): Promise<SkillStore> {
  return memory.administrator.skills({ platform: "cli", allowSecrets: flags["allow-secret"] === true });
}

/** The second argument of `unwrap` for results of the skills layer. */
export function skillFailure({ kind, message, details = {} }: SkillError): CommandFailure {
  return new CommandFailure(printable(message), {
    exitCode: kind === "missing_arg" ? 2 : 1,
    details: { kind, ...details },
    hint: hintOf(details),
  });
}

const LISTS: Readonly<Record<string, string>> = {
  matches: "These fit:",
  available_skills: "There are:",
  available_files: "It has:",
};

function hintOf(details: Readonly<Record<string, unknown>>): string | undefined {
  const override = secretHint(details.findings, "skills");
  if (override !== undefined) return override;
  for (const [field, title] of Object.entries(LISTS)) {
    const items = details[field];
    if (Array.isArray(items) && items.length > 0)
      return [title, ...items.map((item) => `  ${oneLine(String(item), 200)}`)].join("\n");
  }
  return undefined;
}
