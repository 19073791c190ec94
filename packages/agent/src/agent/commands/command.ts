// A slash command: what it is given, what it replies, how its line is read, the question before it discards something, and how
// figures, times and texts are shown. The entrance (terminal chat, pipe, gateway) prints the reply's lines and makes them safe for its output.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import {
  type Clock,
  describeCause,
  errnoCode,
  groupThousands,
  HermesError,
  preview,
  pyStrip,
} from "@hermes-memory/core/internal/lib";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import type { AgentSurface } from "../agent.ts";
import type { SessionProblem } from "../surface.ts";

type ReplyOf<Kind extends string> = {
  readonly kind: Kind;
  readonly lines: readonly string[];
  /** The same content as data, with snake case fields. */
  readonly json: unknown;
};

/** What the program that runs a slash command has to do with its outcome. */
export type CommandReply =
  | (ReplyOf<"text"> & { readonly clearScreen?: boolean })
  /** The entrance closes the agent, with `deleteSession` when that is set. */
  | (ReplyOf<"exit"> & { readonly deleteSession?: true })
  /** The entrance puts `text` into the input line, for the user to edit and send again. */
  | (ReplyOf<"edit"> & { readonly text: string })
  /** The entrance sends `text` as the next message. */
  | (ReplyOf<"send"> & { readonly text: string })
  /** The entrance sends `text` as the next message once the running turn has ended; at once when no turn runs. */
  | (ReplyOf<"queue"> & { readonly text: string })
  | ReplyOf<"error">;

/** How a text is handled that the user sends while a turn runs. */
export type BusyMode = HermesConfig["display"]["busyInputMode"];

/** Functions that the chat or gateway provides besides the agent. */
export type CommandHost = {
  readonly config: HermesConfig;
  /** Asks the user. False when the entrance cannot ask. */
  confirm(question: string): Promise<boolean>;
  readonly clock?: Clock;
  /** Absent when the user cannot type while a turn runs. */
  readonly busy?: { mode(): BusyMode; setMode(mode: BusyMode): void };
  /** Runs `hermes curator <words>`. Absent when the entrance has no command line. */
  readonly runCurator?: (words: readonly string[]) => Promise<CommandReply>;
};

export type CommandCall = {
  readonly agent: AgentSurface;
  readonly host: CommandHost;
  /** Everything after the command's name, stripped, line breaks included. */
  readonly args: string;
};

export type MaybeReply = CommandReply | undefined;

export type CommandGroup = "session" | "conversation" | "memory" | "model" | "chat";

export type SlashCommand = {
  /** Without the slash. */
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly group: CommandGroup;
  readonly summary: string;
  /** The arguments, as help shows them; "" when it takes none. */
  readonly usage: string;
  /** Fixed words after the name, for completion. */
  readonly words?: readonly string[];
  /**
   * Refused while a turn runs, because it would change the conversation that the turn works on. `with_arguments`: without
   * arguments the command only shows something, and runs at any time.
   */
  readonly needsIdle?: "always" | "with_arguments";
  /** Undefined for arguments that do not fit `usage`. May reject: `runSlashCommand` turns a rejection into an error reply. */
  run(call: CommandCall): MaybeReply | Promise<MaybeReply>;
};

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

// The line that the user typed: the command's name, its arguments, options and quotes. Pure.

export type TypedCommand = { readonly name: string; readonly args: string };

/** Undefined for a message, which a path (`/etc/hosts`) and a text with a blank before the slash are too. */
export function splitCommand(line: string): TypedCommand | undefined {
  const [, name, args = ""] = /^\/([a-z][a-z0-9_-]*)(?:\s(.*))?$/is.exec(line) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), args: pyStrip(args) };
}

/**
 * `now`, `--yes` or `-y` after the arguments, or one of the two flags before them, skip the question. A title that ends with
 * one of these words has to be in quotes.
 */
export function takeConsent(args: string): { readonly isGiven: boolean; readonly rest: string } {
  const rest = args.replace(/^(?:(?:--yes|-y)(?:\s+|$))+/i, "").replace(/(?:^|\s)(?:now|--yes|-y)$/i, "");
  return { isGiven: rest !== args, rest: pyStrip(rest) };
}

const QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", "`": "`", "“": "”", "‘": "’" };
const BRACKETS: Readonly<Record<string, string>> = { "[": "]", "<": ">", "(": ")", "{": "}" };

/** Removes quotes around the whole text. */
export function withoutQuotes(text: string): string {
  return withoutPair(text, QUOTES) ?? text;
}

/** Removes quotes and brackets around the whole text: help texts write `<id>` and `[title]`, and users copy the brackets. */
export function withoutOuter(text: string): string {
  const inner = withoutPair(text, { ...QUOTES, ...BRACKETS });
  return inner === undefined ? text : withoutOuter(inner);
}

/** Undefined when there is no pair around the whole text, as in `[a] and [b]`. */
function withoutPair(text: string, pairs: Readonly<Record<string, string>>): string | undefined {
  const [first = "", last = ""] = [text[0], text.at(-1)];
  if (text.length < 2 || !Object.hasOwn(pairs, first) || pairs[first] !== last) return undefined;
  const inner = text.slice(1, -1);
  return inner.includes(first) || inner.includes(last) ? undefined : pyStrip(inner);
}

/** A whole number of at least 1; undefined for anything else. */
export function parseCount(text: string): number | undefined {
  if (!/^\d{1,9}$/.test(text)) return undefined;
  return Number(text) >= 1 ? Number(text) : undefined;
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
  return Number.isNaN(date.getTime()) ? "?" : localTime(date).slice(0, 16);
}

/** `20261115_040259`, for file names. */
export function fileStamp(date: Date): string {
  return localTime(date).replace(/[-:]/g, "").replace(" ", "_");
}

/** Sweden writes `2026-11-15 04:02:59`. */
function localTime(date: Date): string {
  return date.toLocaleString("sv-SE");
}

/** `name` and its value in two columns. */
export function row(name: string, value: string): string {
  return `${name.padEnd(9)}  ${value}`;
}
