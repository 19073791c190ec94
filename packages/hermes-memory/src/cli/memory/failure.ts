// What the store refused, as the command line tells it: a sentence, what helps, and the fields of the memory tool.
import { formatFraction, type MemoryError } from "@hermes-memory/core/curated";
import { areSecretIds } from "@hermes-memory/core/security";
import { CommandFailure } from "../command.ts";
import { oneLine, printable } from "../printing.ts";

export function memoryFailure(error: MemoryError, extraHint?: string): CommandFailure {
  const hint = [hintOf(error), extraHint].filter((line) => line !== undefined).join("\n");
  return new CommandFailure(printable(error.message), {
    exitCode: error.kind === "empty" ? 2 : 1, // an argument without text is a wrong call, not a failed one
    details: { kind: error.kind, ...detailsOf(error) },
    hint: hint === "" ? undefined : hint,
  });
}

/** Only for a person: the answer of the memory tool, which a model reads, says nothing about it. */
export function overrideHint(error: MemoryError): string | undefined {
  return error.kind === "blocked" && areSecretIds(error.ids)
    ? "To store it anyway: --allow-secret, or 'hermes config set memory.allow_secrets true'."
    : undefined;
}

function detailsOf(error: MemoryError): Record<string, unknown> {
  switch (error.kind) {
    case "blocked":
      return { ids: error.ids };
    case "ambiguous":
      return { matches: error.matches };
    case "over_limit":
      return {
        current_entries: error.currentEntries,
        usage: formatFraction({ used: error.usedChars, limit: error.charLimit }),
      };
    case "drift":
      return { drift_backup: error.backup, remediation: error.remediation };
    default:
      return {};
  }
}

const AS_BOTH =
  " It was looked for as a text and as an id; --text or --id says which one is meant, --target user looks in USER.md.";

function hintOf(error: MemoryError): string | undefined {
  if (error.kind === "ambiguous") return listed(error.matches);
  if (error.kind === "over_limit") return listed(error.currentEntries);
  if (error.kind === "drift") return printable(error.remediation);
  if (error.kind === "no_match" && error.message.startsWith("No entry matched"))
    return `'hermes memory show' lists the entries; letter case counts.${/'[0-9a-f]{8,64}'/.test(error.message) ? AS_BOTH : ""}`;
  if (error.kind === "no_match" && error.message.startsWith("No entry has the id"))
    return "For an entry that holds these characters as text: --text.";
  return undefined;
}

function listed(entries: readonly string[]): string {
  return entries.map((entry) => `  ${oneLine(entry)}`).join("\n");
}
