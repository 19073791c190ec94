// Shared by the slash commands: replies, the question before a command that discards something, and how figures, times and
// texts are shown.
import {
  describeCause,
  errnoCode,
  groupThousands,
  HermesError,
  preview,
} from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import type { SessionProblem } from "../surface.ts";
import type { CommandCall, CommandHost, CommandReply, SlashCommand } from "./command.ts";
import { takeConsent } from "./parse-line.ts";

export function told(lines: readonly string[], json: unknown): CommandReply {
  return { kind: "text", lines, json };
}

/** `message` says what happened and why, `hints` say what to do. */
export function failed(kind: string, message: string, ...hints: readonly string[]): CommandReply {
  const hint = hints.length === 0 ? undefined : hints.join("\n");
  return { kind: "error", lines: [message, ...hints], json: { success: false, error: message, kind, hint } };
}

export function problemReply({ kind, message }: SessionProblem): CommandReply {
  return failed(kind, message);
}

export function hasToWait(what: string): CommandReply {
  const hint = "Interrupt it with Ctrl-C, or wait for its end.";
  return failed("busy", `${what} has to wait: a turn is running.`, hint);
}

export function wrongUsage(command: Pick<SlashCommand, "name" | "usage">): CommandReply {
  return failed("usage", `Usage: ${usageLine(command)}`);
}

export function usageLine({ name, usage }: Pick<SlashCommand, "name" | "usage">): string {
  return usage === "" ? `/${name}` : `/${name} ${usage}`;
}

/** The reply for an error that a command threw: disk, database, or a bug of ours. The chat goes on. */
export function thrownReply(cause: unknown): CommandReply {
  const message = redactSecrets(describeCause(cause));
  if (cause instanceof HermesError)
    return failed(cause.code, message, ...(cause.hint === undefined ? [] : [redactSecrets(cause.hint)]));
  if (errnoCode(cause) !== undefined)
    return failed("io", message, "'hermes doctor' checks disk and permissions.");
  return failed("internal", `The command failed: ${message}`);
}

// The question before a command that discards something

type Asked =
  | { readonly isAgreed: true; readonly rest: string }
  | { readonly isAgreed: false; readonly reply: CommandReply };

/**
 * Asks the user, unless the arguments or config say not to. `rest` is the arguments without the words that skip the question.
 * `question` returns undefined when there is nothing to lose.
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

/** False also when the question was broken off: Ctrl-C, or the input ended. */
export async function isConfirmed(host: CommandHost, question: string): Promise<boolean> {
  try {
    return await host.confirm(question);
  } catch {
    return false;
  }
}

// How figures, times and texts are shown

/** The beginning of a text, on one line. */
export function short(text: string, limitChars: number): string {
  return preview(text.replace(/\s+/g, " ").trim(), limitChars);
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${groupThousands(count)} ${count === 1 ? one : many}`;
}

/** `$1.25`, `$0.0042`: cents alone would show most sessions as free. */
export function money(usd: number): string {
  const digits = Math.abs(usd) >= 1 ? 2 : 4;
  return `${usd < 0 ? "-" : ""}$${Math.abs(usd).toFixed(digits)}`;
}

/** `2026-11-15 04:02`, in the local time zone. */
export function localMinute(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "?";
  const [year, month, day, hour, minute] = dateFields(date);
  return `${year}-${month}-${day} ${hour}:${minute}`;
}

/** `20261115_040259`, for file names. */
export function fileStamp(date: Date): string {
  const [year, month, day, ...time] = dateFields(date);
  return `${year}${month}${day}_${time.join("")}`;
}

function dateFields(date: Date): readonly string[] {
  const rest = [date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()];
  return [String(date.getFullYear()).padStart(4, "0"), ...rest.map((each) => String(each).padStart(2, "0"))];
}

/** `name` and its value in two columns. */
export function row(name: string, value: string): string {
  return `${name.padEnd(9)}  ${value}`;
}
