// Calling the `brv` command line of ByteRover: finding the program, its command lines, running it in the provider's directory, its reply.
import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import {
  describeCause,
  err,
  isRecord,
  ok,
  outsideJsonOr,
  preview,
  pyStrip,
  type Result,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";
import { type ChildEnd, runChild } from "@hermes-memory/core/internal/providers";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where `brv` is searched for, and its environment. */
export type BrvPlaces = {
  readonly env: Environment;
  readonly userHome: string;
  /** Places to look in beside PATH and the user's home. */
  readonly systemPlaces?: readonly string[];
};

export type BrvFailure = {
  readonly isAborted: boolean;
  /** One line that fits into a sentence. */
  readonly message: string;
};

export type BrvData = Readonly<Record<string, unknown>>;

type CallRules = { readonly signal?: AbortSignal; readonly isBackground?: boolean };

export const INSTALL_HINT = "Install: npm install -g byterover-cli";
const NOT_FOUND = `brv CLI not found. ${INSTALL_HINT}`;
/** For stdout and stderr together. */
const OUTPUT_BYTES = 8 * 1024 * 1024;

/** Runs brv in `directory`, which holds the knowledge tree and is created when missing. Never rejects. */
export async function callBrv(
  places: BrvPlaces,
  directory: string,
  command: BrvCommand,
  { signal, isBackground = false }: CallRules = {},
): Promise<Result<BrvData, BrvFailure>> {
  const binary = findBrv(places);
  if (binary === undefined) return failure(NOT_FOUND);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    return failure(`Cannot create ${directory}: ${describeCause(cause)}`);
  }
  const end = await runChild({
    command: binary,
    args: command.args,
    cwd: directory,
    env: childEnvironment(places.env, dirname(binary)),
    timeoutMs: command.killMs,
    outputBytes: OUTPUT_BYTES,
    isBackground,
    signal,
  });
  switch (end.kind) {
    case "exited": {
      const reply = readReply(command, end);
      return reply.ok ? reply : failure(reply.error);
    }
    case "timed-out":
      return failure(`brv timed out after ${command.limitMs / 1000}s`);
    case "flooded":
      return failure(`brv ${command.name} wrote too much output and was stopped`);
    case "aborted":
      return err({ isAborted: true, message: `brv ${command.name} was called off` });
    case "not-started":
      return failure(`brv cannot be started: ${end.message}`);
    default:
      return end satisfies never;
  }
}

function failure(message: string): Result<never, BrvFailure> {
  return err({ isAborted: false, message });
}

// ---- Command lines of brv 3.14 ----

export type Limits = {
  /** Recall, while the user waits. The manager stops waiting sooner and keeps a late answer for the next turn. */
  readonly prefetchMs: number;
  /** `brv_curate`. Below the 120 s of a tool call, so that the model gets our message about the timeout. */
  readonly curateMs: number;
  /** A curate that is only queued. Without a network, brv gives up after about 100 s. */
  readonly queueMs: number;
  readonly queueLength: number;
  /** Failed recalls in a row after which none is tried for 2 minutes. */
  readonly breakerFailures: number;
};

export const LIMITS: Limits = {
  prefetchMs: 10_000,
  curateMs: 115_000,
  queueMs: 120_000,
  queueLength: 50,
  breakerFailures: 2,
};

const QUERY_MS = 10_000;
const STATUS_MS = 15_000;
const LOGIN_MS = 30_000;
/** brv gets the limit too and is killed this much later, so that it can report the reason itself. */
const GRACE_MS = 3_000;
const QUERY_MAX_CHARS = 5_000;
/** For a note to curate. Linux allows 128 KiB for one argument of a command, and a character has up to four bytes. */
export const NOTE_MAX_CHARS = 25_000;
const HITS = 5;

export type BrvCommand = {
  readonly name: string;
  readonly args: readonly string[];
  /** The limit that the message about a timeout names. */
  readonly limitMs: number;
  /** When the process is killed. */
  readonly killMs: number;
  /** The last line of its reply has a `status`, which must be one of `SUCCESS`. */
  readonly isTask: boolean;
};

/** Word search over the tree, without a model. */
export function searchCommand(text: string, { prefetchMs }: Limits): BrvCommand {
  return task("search", ["--limit", String(HITS)], queryText(text), prefetchMs);
}

/** An answer written by a model. */
export function queryCommand(text: string): BrvCommand {
  return task("query", ["--timeout", String(QUERY_MS / 1000)], queryText(text), QUERY_MS, GRACE_MS);
}

/** Returns when the note is in the tree. */
export function curateCommand(text: string, { curateMs }: Limits): BrvCommand {
  const flags = ["--timeout", String(Math.max(10, Math.ceil(curateMs / 1000)))]; // brv takes no less
  return task("curate", flags, takeCodePoints(text, NOTE_MAX_CHARS), curateMs, GRACE_MS);
}

/** Returns when the daemon has the note in its queue. */
export function queueCurateCommand(text: string, { queueMs }: Limits): BrvCommand {
  return task("curate", ["--detach"], takeCodePoints(text, NOTE_MAX_CHARS), queueMs);
}

/** `providers` tells which model provider is connected. */
export function reportCommand(name: "status" | "providers"): BrvCommand {
  return { name, args: [name, "--format", "json"], limitMs: STATUS_MS, killMs: STATUS_MS, isTask: false };
}

/**
 * The key is on the command line, because brv 3.14 accepts it from nowhere else (no variable, no input). Other users of the machine can
 * see it while the command runs. Setup says so before it asks for the key.
 */
export function loginCommand(key: string): BrvCommand {
  const args = ["login", "--format", "json", `--api-key=${argument(key)}`];
  return { name: "login", args, limitMs: LOGIN_MS, killMs: LOGIN_MS, isTask: false };
}

/** The text is behind `--`, so that it is never taken for a flag. */
function task(
  name: string,
  flags: readonly string[],
  text: string,
  limitMs: number,
  graceMs = 0,
): BrvCommand {
  const args = [name, "--format", "json", ...flags, "--", argument(text)];
  return { name, args, limitMs, killMs: limitMs + graceMs, isTask: true };
}

function queryText(text: string): string {
  return takeCodePoints(pyStrip(text), QUERY_MAX_CHARS);
}

/** An argument of a process cannot contain NUL. */
function argument(text: string): string {
  return text.replaceAll("\0", "");
}

// ---- The program ----

/** Relative entries of PATH are ignored: they would depend on the working directory. */
export function findBrv({
  env,
  userHome,
  systemPlaces = ["/usr/local/bin/brv"],
}: BrvPlaces): string | undefined {
  const fromPath = (env[pathVariable(env)] ?? "").split(delimiter).filter(isAbsolute);
  return [
    ...fromPath.map((directory) => join(directory, "brv")),
    join(userHome, ".brv-cli", "bin", "brv"),
    ...systemPlaces,
    join(userHome, ".npm-global", "bin", "brv"),
  ].find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // missing or not executable: the next place is tried
  }
}

/** With the program's directory first in PATH, because brv starts `brv` itself. */
function childEnvironment(env: Environment, binaryDirectory: string): Record<string, string> {
  const name = pathVariable(env);
  const entries = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const path = [binaryDirectory, env[name] ?? ""].filter((each) => each !== "").join(delimiter);
  return { ...Object.fromEntries(entries), [name]: path };
}

/** Windows spells it `Path`. */
function pathVariable(env: Environment): string {
  return Object.keys(env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
}

// ---- The reply ----
//
// With `--format json` brv prints one object per line, `{command, data, success, timestamp}`, progress first and the outcome last. Failures
// are printed the same way, on stdout and with exit code 0, so only `success: true` in the last line counts as success.

type Exited = Extract<ChildEnd, { kind: "exited" }>;

const MESSAGE_CHARS = 300;
const SUCCESS: readonly unknown[] = ["completed", "queued"];

/** The data of the outcome, or the failure as one line. */
export function readReply(command: BrvCommand, { code, stdout, stderr }: Exited): Result<BrvData, string> {
  // Notices and half a line after the outcome are passed over.
  const line = stdout
    .split("\n")
    .map((each) => outsideJsonOr(each, undefined))
    .findLast(isRecord);
  const data = isRecord(line?.data) ? line.data : {};
  if (line?.success === false)
    return err(oneLine(firstText(data.error, data.message) ?? `brv ${command.name} failed without a reason`));
  if (code !== 0) return err(oneLine(firstText(stderr, stdout) ?? `brv exited ${code ?? "by a signal"}`));
  if (line?.success !== true)
    return err(`brv ${command.name} gave no answer in JSON. It needs byterover-cli 3.14 or newer`);
  if (command.isTask && !SUCCESS.includes(data.status))
    return err(`brv ${command.name} ended before it was done`);
  return ok(data);
}

/** Messages of brv may have several lines; ours are parts of a sentence. */
function oneLine(text: string): string {
  return preview(pyStrip(text.replace(/\s+/g, " ")).replace(/\.$/, ""), MESSAGE_CHARS);
}

export function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && pyStrip(value) !== "");
}
