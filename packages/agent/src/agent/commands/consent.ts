// The question before a command that throws something away.
import type { CommandCall, CommandHost, CommandReply } from "./command.ts";
import { takeConsent } from "./parse.ts";
import { told } from "./reply.ts";

export type Asked =
  | { readonly isAgreed: true; readonly rest: string }
  | { readonly isAgreed: false; readonly reply: CommandReply };

/**
 * `rest` is what was typed without the words that skip the question. `question` gets it and is undefined where there is nothing
 * to lose.
 */
export async function askFirst(
  { args, host }: CommandCall,
  name: string,
  question: (rest: string) => string | undefined,
): Promise<Asked> {
  const { isGiven, rest } = takeConsent(args);
  const asked = question(rest);
  const isSettled = isGiven || asked === undefined || !host.config.approvals.destructiveSlashConfirm;
  if (isSettled || (await isConfirmed(host, asked))) return { isAgreed: true, rest };
  const again = [name, rest, "now"].filter((word) => word !== "").join(" ");
  const lines = [`Nothing was changed. '/${again}' does it without a question.`];
  return { isAgreed: false, reply: told(lines, { success: false, kind: "not_confirmed" }) };
}

/** A question that was broken off, with Ctrl-C or because the input ended, was not agreed to. */
export async function isConfirmed(host: CommandHost, question: string): Promise<boolean> {
  try {
    return await host.confirm(question);
  } catch {
    return false;
  }
}
