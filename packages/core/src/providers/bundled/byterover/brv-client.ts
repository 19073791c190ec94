// One call of brv from start to outcome: find it, run it in our directory, understand what it says.
import { accessSync, constants, mkdirSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import {
  type Clock,
  describeCause,
  err,
  isRecord,
  ok,
  outsideJsonOr,
  preview,
  pyStrip,
  type Result,
  systemClock,
  takeCodePoints,
} from "../../../lib/index.ts";
import { type ChildEnd, runChild } from "./child.ts";

export type BrvFailure = {
  readonly kind: "missing" | "timed-out" | "aborted" | "failed";
  /** One line that can stand in a sentence. */
  readonly message: string;
};

type BrvClientOptions = {
  readonly finder: BinaryFinder;
  /** Holds the knowledge tree; created when it is not there. */
  readonly directory: string;
  readonly env: Environment;
  readonly limits: Limits;
};

export type CallRules = { readonly signal?: AbortSignal | undefined; readonly isBackground?: boolean };

export class BrvClient {
  readonly #options: BrvClientOptions;

  constructor(options: BrvClientOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async call(command: BrvCommand, rules: CallRules = {}): Promise<Result<BrvData, BrvFailure>> {
    const { finder, directory } = this.#options;
    const binary = finder.find();
    if (binary === undefined) return failure("missing", NOT_FOUND);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 }); // a missing directory looks like a missing program
    } catch (cause) {
      return failure("failed", `Cannot create ${directory}: ${describeCause(cause)}`);
    }
    const end = await this.#run(binary, command, rules);
    if (end.kind !== "not-started" || end.code !== "ENOENT") return outcome(command, end);
    finder.forget();
    const moved = finder.look();
    if (moved === undefined) return failure("missing", NOT_FOUND);
    return outcome(command, moved === binary ? end : await this.#run(moved, command, rules));
  }

  #run(binary: string, command: BrvCommand, { signal, isBackground = false }: CallRules): Promise<ChildEnd> {
    const { directory, env, limits } = this.#options;
    return runChild({
      command: binary,
      args: command.args,
      cwd: directory,
      env: childEnvironment(env, dirname(binary)),
      timeoutMs: command.killMs,
      outputBytes: limits.outputBytes,
      isBackground,
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

function outcome(command: BrvCommand, end: ChildEnd): Result<BrvData, BrvFailure> {
  switch (end.kind) {
    case "exited": {
      const reply = readReply(command, end);
      return reply.ok ? reply : failure("failed", reply.error);
    }
    case "timed-out":
      return failure("timed-out", `brv timed out after ${command.limitMs / 1000}s`);
    case "flooded":
      return failure("failed", `brv ${command.name} wrote more than anybody can use and was ended`);
    case "aborted":
      return failure("aborted", `brv ${command.name} was called off`);
    case "not-started":
      return failure("failed", `brv cannot be started: ${end.message}`);
    default:
      return end satisfies never;
  }
}

function failure(kind: BrvFailure["kind"], message: string): Result<never, BrvFailure> {
  return err({ kind, message });
}

// ----
// The numbers of this provider in one place. Tests hand in smaller times.

export type Limits = {
  /** Recall on the user's path. The manager goes on sooner and keeps a late answer for the next turn. */
  readonly prefetchMs: number;
  /** `brv_curate`. Below the two minutes a tool call has, so that our own message arrives. */
  readonly curateMs: number;
  /** A curate that is only queued. Offline, brv gives up by itself after about 100 s. */
  readonly queueMs: number;
  readonly statusMs: number;
  readonly loginMs: number;
  /** brv is told the limit too; we end it this much later, so that it can say why by itself. */
  readonly graceMs: number;
  /** Of stdout and stderr together. */
  readonly outputBytes: number;
  readonly queueLength: number;
  /** Failed recalls in a row after which none is tried for `breakerMs`. */
  readonly breakerFailures: number;
  readonly breakerMs: number;
  /** A missing binary is looked for again after this time. */
  readonly recheckMs: number;
};

export const LIMITS: Limits = {
  prefetchMs: 10_000,
  curateMs: 115_000,
  queueMs: 120_000,
  statusMs: 15_000,
  loginMs: 30_000,
  graceMs: 3_000,
  outputBytes: 8 * 1024 * 1024,
  queueLength: 50,
  breakerFailures: 2,
  breakerMs: 120_000,
  recheckMs: 60_000,
};

/** Characters, in code points. */
export const QUERY_MIN_CHARS = 10;
const QUERY_MAX_CHARS = 5_000;
export const TURN_MIN_CHARS = 10;
export const TURN_MAX_CHARS = 2_000;
export const MESSAGE_MAX_CHARS = 500;
export const PRE_COMPRESS_MESSAGES = 10;
export const ANSWER_MIN_CHARS = 20;
export const TOOL_RESULT_MAX_CHARS = 8_000;

/** Of a note to curate. Linux takes 128 KiB for one argument of a command, and a character has up to four bytes. */
export const NOTE_MAX_CHARS = 25_000;

// ----
// The command lines of brv 3.14 that we use, and how long each may take. Pure.

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

// ----
// Where the `brv` program is. Found once; when it is missing, the disk is asked again from time to time.

export type Environment = Readonly<Record<string, string | undefined>>;

export type BinaryFinderOptions = {
  readonly env: Environment;
  readonly userHome: string;
  /** Outside PATH and the user's home. */
  readonly systemPlaces?: readonly string[];
  /** How long "not found" is believed. */
  readonly recheckMs: number;
  readonly clock?: Clock;
};

export const INSTALL_HINT = "Install: npm install -g byterover-cli";
export const NOT_FOUND = `brv CLI not found. ${INSTALL_HINT}`;

const SYSTEM_PLACES = ["/usr/local/bin/brv"];

export class BinaryFinder {
  readonly #options: BinaryFinderOptions;
  readonly #clock: Clock;
  #found: string | undefined;
  #missingSince: number | undefined;

  constructor(options: BinaryFinderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** From memory where possible. */
  find(): string | undefined {
    if (this.#found !== undefined) return this.#found;
    const elapsed = this.#missingSince === undefined ? undefined : this.#now() - this.#missingSince;
    const isKnownMissing = elapsed !== undefined && elapsed >= 0 && elapsed < this.#options.recheckMs;
    return isKnownMissing ? undefined : this.look();
  }

  /** From the disk, now. */
  look(): string | undefined {
    this.#found = candidates(this.#options).find(isProgram);
    this.#missingSince = this.#found === undefined ? this.#now() : undefined;
    return this.#found;
  }

  /** It could not be started: what we remember is no longer true. */
  forget(): void {
    this.#found = undefined;
    this.#missingSince = undefined;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

/** The process environment for a child, with the program's own directory first: brv starts `brv` itself. */
export function childEnvironment(env: Environment, binaryDirectory: string): Record<string, string> {
  const name = pathVariable(env);
  const path = env[name];
  const entries = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    ...Object.fromEntries(entries),
    [name]: path === undefined || path === "" ? binaryDirectory : `${binaryDirectory}${delimiter}${path}`,
  };
}

function candidates({ env, userHome, systemPlaces = SYSTEM_PLACES }: BinaryFinderOptions): string[] {
  // Relative entries of PATH mean another directory for each working directory; a program of ours never starts from there.
  const fromPath = (env[pathVariable(env)] ?? "").split(delimiter).filter(isAbsolute);
  return [
    ...fromPath.map((directory) => join(directory, "brv")),
    join(userHome, ".brv-cli", "bin", "brv"),
    ...systemPlaces,
    join(userHome, ".npm-global", "bin", "brv"),
  ];
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // missing or not ours to run: the next place is asked
  }
}

/** Windows spells it `Path`. */
function pathVariable(env: Environment): string {
  return Object.keys(env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
}

// ----
// What brv says with `--format json`: one object per line, `{command, data, success, timestamp}`, progress first and the
// outcome last. Failures arrive the same way, on stdout and with exit code 0, so only a line that says it succeeded counts.

export type BrvData = Readonly<Record<string, unknown>>;

type Exited = Extract<ChildEnd, { kind: "exited" }>;

const MESSAGE_CHARS = 300;
const SUCCESS: readonly unknown[] = ["completed", "queued"];

/** The outcome's data, or what went wrong as one line. */
export function readReply(command: BrvCommand, end: Exited): Result<BrvData, string> {
  const line = lastObject(end.stdout);
  const data = isRecord(line?.data) ? line.data : {};
  const said = firstText(data.error, data.message);
  if (line?.success === false) return err(oneLine(said ?? `brv ${command.name} failed without a reason`));
  if (end.code !== 0) return err(oneLine(exitReason(end)));
  if (line?.success !== true)
    return err(`brv ${command.name} gave no answer in JSON. It needs byterover-cli 3.14 or newer`);
  if (command.isTask && !SUCCESS.includes(data.status))
    return err(`brv ${command.name} ended before it was done`);
  return ok(data);
}

/** Messages of brv have several lines; ours are parts of a sentence. */
function oneLine(text: string): string {
  return preview(pyStrip(text.replace(/\s+/g, " ")).replace(/\.$/, ""), MESSAGE_CHARS);
}

export function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && pyStrip(value) !== "");
}

/** The last complete line that is an object; notices and half a line behind it are passed over. */
function lastObject(stdout: string): BrvData | undefined {
  for (const line of stdout.split("\n").reverse()) {
    if (!line.trimStart().startsWith("{")) continue;
    const value = outsideJsonOr(line, undefined); // half a line: the one before it counts
    if (isRecord(value)) return value;
  }
  return undefined;
}

function exitReason({ code, stdout, stderr }: Exited): string {
  return firstText(stderr, stdout) ?? `brv exited ${code ?? "by a signal"}`;
}
