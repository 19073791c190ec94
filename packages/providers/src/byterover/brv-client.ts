// Calling the `brv` command line of ByteRover: its limits, its command lines, finding the program, running it in the provider's directory,
// and parsing its reply.
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
} from "@hermes-memory/core/internal/lib";
import { type ChildEnd, runChild } from "@hermes-memory/core/internal/providers";

export type BrvFailure = {
  readonly kind: "missing" | "timed-out" | "aborted" | "failed";
  /** One line that fits into a sentence. */
  readonly message: string;
};

type BrvClientOptions = {
  readonly finder: BinaryFinder;
  /** Holds the knowledge tree; created when missing. */
  readonly directory: string;
  readonly env: Environment;
  readonly limits: Limits;
};

export type CallRules = { readonly signal?: AbortSignal; readonly isBackground?: boolean };

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
      mkdirSync(directory, { recursive: true, mode: 0o700 }); // otherwise a missing directory would look like a missing program
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
      signal,
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
      return failure("failed", `brv ${command.name} wrote too much output and was stopped`);
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

// ---- Limits. Tests pass smaller times. ----

export type Limits = {
  /** Recall, while the user waits. The manager stops waiting sooner and keeps a late answer for the next turn. */
  readonly prefetchMs: number;
  /** `brv_curate`. Below the 120 s of a tool call, so that the model gets our message about the timeout. */
  readonly curateMs: number;
  /** A curate that is only queued. Without a network, brv gives up after about 100 s. */
  readonly queueMs: number;
  readonly statusMs: number;
  readonly loginMs: number;
  /** brv gets the limit too and is killed this much later, so that it can report the reason itself. */
  readonly graceMs: number;
  /** For stdout and stderr together. */
  readonly outputBytes: number;
  readonly queueLength: number;
  /** Failed recalls in a row after which none is tried for `breakerMs`. */
  readonly breakerFailures: number;
  readonly breakerMs: number;
  /** After this time a missing program is searched for again. */
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

/** For a note to curate. Linux allows 128 KiB for one argument of a command, and a character has up to four bytes. */
export const NOTE_MAX_CHARS = 25_000;

// ---- Command lines of brv 3.14 ----

export type BrvCommand = {
  readonly name: "search" | "query" | "curate" | "status" | "providers" | "login";
  readonly args: readonly string[];
  /** The limit that the message about a timeout names. */
  readonly limitMs: number;
  /** When the process is killed. */
  readonly killMs: number;
  /** The last line of its reply has a `status`, which must be one of `SUCCESS`. */
  readonly isTask: boolean;
};

/** brv refuses a `--timeout` below this. */
const MIN_TIMEOUT_S = 10;

/** Word search over the tree, without a model. It has no `--timeout`. */
export function searchCommand(text: string, limit: number, { prefetchMs }: Limits): BrvCommand {
  const args = ["search", "--format", "json", "--limit", String(limit), "--", queryText(text)];
  return { name: "search", args, limitMs: prefetchMs, killMs: prefetchMs, isTask: true };
}

/** An answer written by a model. */
export function queryCommand(text: string, limitMs: number, { graceMs }: Limits): BrvCommand {
  const args = ["query", "--format", "json", "--timeout", seconds(limitMs), "--", queryText(text)];
  return { name: "query", args, limitMs, killMs: limitMs + graceMs, isTask: true };
}

/** Returns when the note is in the tree. */
export function curateCommand(text: string, { curateMs, graceMs }: Limits): BrvCommand {
  const args = ["curate", "--format", "json", "--timeout", seconds(curateMs), "--", noteText(text)];
  return { name: "curate", args, limitMs: curateMs, killMs: curateMs + graceMs, isTask: true };
}

/** Returns when the daemon has the note in its queue. */
export function queueCurateCommand(text: string, { queueMs }: Limits): BrvCommand {
  const args = ["curate", "--format", "json", "--detach", "--", noteText(text)];
  return { name: "curate", args, limitMs: queueMs, killMs: queueMs, isTask: true };
}

export function statusCommand({ statusMs }: Limits): BrvCommand {
  const args = ["status", "--format", "json"];
  return { name: "status", args, limitMs: statusMs, killMs: statusMs, isTask: false };
}

/** Asks which model provider is connected. */
export function providersCommand({ statusMs }: Limits): BrvCommand {
  const args = ["providers", "--format", "json"];
  return { name: "providers", args, limitMs: statusMs, killMs: statusMs, isTask: false };
}

/**
 * The key is on the command line, because brv 3.14 accepts it from nowhere else (no variable, no input). Other users of the machine can
 * see it while the command runs. Setup says so before it asks for the key.
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

/** An argument of a process cannot contain NUL. */
function argument(text: string): string {
  return text.replaceAll("\0", "");
}

function seconds(ms: number): string {
  return String(Math.max(MIN_TIMEOUT_S, Math.ceil(ms / 1000)));
}

// ---- Finding the program ----

export type Environment = Readonly<Record<string, string | undefined>>;

export type BinaryFinderOptions = {
  readonly env: Environment;
  readonly userHome: string;
  /** Places to look in beside PATH and the user's home. */
  readonly systemPlaces?: readonly string[];
  /** How long a result of "not found" is used. */
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

  /** The remembered place, or a search of the disk when none is remembered. */
  find(): string | undefined {
    if (this.#found !== undefined) return this.#found;
    const elapsed = this.#missingSince === undefined ? undefined : this.#now() - this.#missingSince;
    const isKnownMissing = elapsed !== undefined && elapsed >= 0 && elapsed < this.#options.recheckMs;
    return isKnownMissing ? undefined : this.look();
  }

  /** Searches the disk now. */
  look(): string | undefined {
    this.#found = candidates(this.#options).find(isProgram);
    this.#missingSince = this.#found === undefined ? this.#now() : undefined;
    return this.#found;
  }

  /** The remembered place is wrong: the program could not be started from there. */
  forget(): void {
    this.#found = undefined;
    this.#missingSince = undefined;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

/** The environment for a child, with the program's directory first in PATH, because brv starts `brv` itself. */
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
  // Relative entries of PATH are ignored: they would depend on the working directory.
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
    return false; // missing or not executable: the next place is tried
  }
}

/** Windows spells it `Path`. */
function pathVariable(env: Environment): string {
  return Object.keys(env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
}

// ---- The reply ----
//
// With `--format json` brv prints one object per line, `{command, data, success, timestamp}`, progress first and the outcome last. Failures
// are printed the same way, on stdout and with exit code 0, so only `success: true` in the last line counts as success.

export type BrvData = Readonly<Record<string, unknown>>;

type Exited = Extract<ChildEnd, { kind: "exited" }>;

const MESSAGE_CHARS = 300;
const SUCCESS: readonly unknown[] = ["completed", "queued"];

/** The data of the outcome, or the failure as one line. */
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

/** Messages of brv may have several lines; ours are parts of a sentence. */
function oneLine(text: string): string {
  return preview(pyStrip(text.replace(/\s+/g, " ")).replace(/\.$/, ""), MESSAGE_CHARS);
}

export function firstText(...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && pyStrip(value) !== "");
}

/** The last line that is a complete object; other lines and an incomplete last line are ignored. */
function lastObject(stdout: string): BrvData | undefined {
  for (const line of stdout.split("\n").reverse()) {
    if (!line.trimStart().startsWith("{")) continue;
    const value = outsideJsonOr(line, undefined); // an incomplete line: use the one before it
    if (isRecord(value)) return value;
  }
  return undefined;
}

function exitReason({ code, stdout, stderr }: Exited): string {
  return firstText(stderr, stdout) ?? `brv exited ${code ?? "by a signal"}`;
}
