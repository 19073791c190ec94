// The question before sessions are deleted: the list first, then y or yes. No terminal means no.
import type { CommandContext, CommandInput, CommandOutcome } from "../command.ts";

export type Deletion = {
  /** What would go, line by line. */
  readonly list: readonly string[];
  readonly question: string;
  /** The same for a program that cannot be asked. */
  readonly json: Readonly<Record<string, unknown>>;
};

/** Undefined: go on. Otherwise this is the outcome, and nothing was touched. */
export async function declined(
  deletion: Deletion,
  { flags }: CommandInput,
  { io, isJson }: CommandContext,
): Promise<CommandOutcome | undefined> {
  if (flags.yes === true) return undefined;
  if (!isJson || io.isInteractive) io.note(`${deletion.list.join("\n")}\n`);
  if (io.isInteractive && (await io.confirm(deletion.question, { short: true }))) return undefined;
  if (io.isInteractive) return cancelled();
  const error = "Nothing was deleted: there is no terminal to ask at. Pass --yes to go on.";
  return {
    ...cancelled({ kind: "unconfirmed", error, ...deletion.json }),
    ...(isJson ? {} : { notes: [error] }),
  };
}

export function cancelled(details: Readonly<Record<string, unknown>> = {}): CommandOutcome {
  return { json: { success: false, kind: "cancelled", ...details }, lines: ["Cancelled."], exitCode: 1 };
}
