// The question before something is deleted: the list first, then 'yes'. No terminal means no.
import { type CommandContext, CommandFailure, type CommandInput, type CommandOutcome } from "../command.ts";

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
  input: CommandInput,
  { io, isJson }: CommandContext,
): Promise<CommandOutcome | undefined> {
  if (input.flags.yes === true) return undefined;
  if (!isJson || io.isInteractive) io.note(`${deletion.list.join("\n")}\n`);
  if (!io.isInteractive) {
    throw new CommandFailure("Nothing was deleted: there is no terminal to ask at. Pass --yes to go on.", {
      details: { kind: "unconfirmed", ...deletion.json },
    });
  }
  if (await io.confirm(deletion.question)) return undefined;
  return { json: { success: false, kind: "cancelled" }, lines: ["Cancelled."], exitCode: 1 };
}
