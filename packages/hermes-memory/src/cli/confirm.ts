// The question before a command deletes something or takes a change back: prints the list of affected things, then asks.
import { Cancelled, type CommandContext, CommandFailure, type CommandInput } from "./command.ts";

export type Confirmation = {
  /** Printed to stderr before the question: what will be deleted or taken back. */
  readonly list: readonly string[];
  readonly question: string;
  /** The same facts as fields of `--json`, printed where no user can be asked. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Accept 'y' as well as 'yes'. */
  readonly isShort?: boolean;
  /** How the error starts where no user can be asked. */
  readonly untouched?: string;
};

/**
 * Returns when the user agreed or passed --yes; throws `Cancelled` when not. Throws where there is no terminal: a 'yes' that is piped in
 * does not count.
 */
export async function confirmed(
  { list, question, json, isShort = false, untouched = "Nothing was deleted" }: Confirmation,
  { flags }: Pick<CommandInput, "flags">,
  { io, isJson }: CommandContext,
): Promise<void> {
  if (flags.yes === true) return;
  if (!isJson || io.isInteractive) io.note(`${list.join("\n")}\n`);
  if (!io.isInteractive)
    throw new CommandFailure(`${untouched}: there is no terminal to ask at. Pass --yes to go on.`, {
      details: { kind: "unconfirmed", ...json },
    });
  if (!(await io.confirm(question, { short: isShort }))) throw new Cancelled("end", "Cancelled.");
}
