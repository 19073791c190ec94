// The command lines of brv 3.14 that we use, and how long each may take. Pure.
import { pyStrip, takeCodePoints } from "../../../lib/index.ts";
import { type Limits, NOTE_MAX_CHARS, QUERY_MAX_CHARS } from "./limits.ts";

export type BrvCommand = {
  readonly name: "search" | "query" | "curate" | "status" | "providers" | "login";
  readonly args: readonly string[];
  /** What is promised; named in the message when it is over. */
  readonly limitMs: number;
  /** When the process is ended. */
  readonly killMs: number;
  /** Its last line has a `status`, which must be one of success. */
  readonly isTask: boolean;
};

/** brv refuses a `--timeout` below this. */
const LEAST_TIMEOUT_S = 10;

/** Word search over the tree: no model, no model provider. It has no `--timeout`. */
export function searchCommand(text: string, limit: number, { prefetchMs }: Limits): BrvCommand {
  const args = ["search", "--format", "json", "--limit", String(limit), "--", queryText(text)];
  return { name: "search", args, limitMs: prefetchMs, killMs: prefetchMs, isTask: true };
}

/** An answer put together by a model. */
export function queryCommand(text: string, limitMs: number, { graceMs }: Limits): BrvCommand {
  const args = ["query", "--format", "json", "--timeout", seconds(limitMs), "--", queryText(text)];
  return { name: "query", args, limitMs, killMs: limitMs + graceMs, isTask: true };
}

/** Waits until the note is in the tree. */
export function curateCommand(text: string, { curateMs, graceMs }: Limits): BrvCommand {
  const args = ["curate", "--format", "json", "--timeout", seconds(curateMs), "--", noteText(text)];
  return { name: "curate", args, limitMs: curateMs, killMs: curateMs + graceMs, isTask: true };
}

/** Hands the note to the daemon and returns. */
export function queueCurateCommand(text: string, { queueMs }: Limits): BrvCommand {
  const args = ["curate", "--format", "json", "--detach", "--", noteText(text)];
  return { name: "curate", args, limitMs: queueMs, killMs: queueMs, isTask: true };
}

export function statusCommand({ statusMs }: Limits): BrvCommand {
  const args = ["status", "--format", "json"];
  return { name: "status", args, limitMs: statusMs, killMs: statusMs, isTask: false };
}

/** Which model provider answers queries and curates. */
export function providersCommand({ statusMs }: Limits): BrvCommand {
  const args = ["providers", "--format", "json"];
  return { name: "providers", args, limitMs: statusMs, killMs: statusMs, isTask: false };
}

/**
 * The key stands on the command line: brv 3.14 takes it from nowhere else (no variable, no input), so other users of the
 * machine can see it while the command runs. Setup says so before it asks.
 */
export function loginCommand(key: string, { loginMs }: Limits): BrvCommand {
  const args = ["login", "--format", "json", `--api-key=${argument(key)}`];
  return { name: "login", args, limitMs: loginMs, killMs: loginMs, isTask: false };
}

function queryText(text: string): string {
  return argument(takeCodePoints(pyStrip(text), QUERY_MAX_CHARS));
}

function noteText(text: string): string {
  return argument(takeCodePoints(text, NOTE_MAX_CHARS));
}

/** No argument of a process can hold NUL. */
function argument(text: string): string {
  return text.replaceAll("\0", "");
}

function seconds(ms: number): string {
  return String(Math.max(LEAST_TIMEOUT_S, Math.ceil(ms / 1000)));
}
