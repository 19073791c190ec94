// The Hindsight daemon of mode `local_embedded`: started in the background through `hindsight-embed` or `uvx`, and started once more when
// a request finds it gone. Nothing waits for it but requests, each at most until its own deadline.
import { accessSync, appendFileSync, constants, mkdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  describeCause,
  err,
  errnoCode,
  namesIn,
  ok,
  type Result,
  sha256,
  untilAborted,
  writeFileAtomic,
} from "@hermes-memory/core/internal/lib";
import { type ChildEnd, runChild } from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { clientOf, type HttpCall, type HttpClient, type HttpFailure } from "../kit/http.ts";
import type { ConnectionContext } from "../kit/networked/service.ts";
import type { Environment } from "../kit/networked/settings.ts";

/** Of the daemon that this program starts. */
export type EmbeddedSettings = {
  readonly profile: string;
  readonly llmProvider: string;
  readonly llmModel: string;
  readonly llmBaseUrl: string;
  readonly llmApiKey: string;
  /** Seconds without requests after which the daemon stops; 0: never. */
  readonly idleTimeoutS: number;
  /** `hindsight-embed`, or `uvx` that runs it; undefined: neither is installed. */
  readonly program: Program | undefined;
  /** Holds `.hindsight/profiles`. */
  readonly userHome: string;
};

type Program = { readonly command: string; readonly args: readonly string[] };

/** On the PATH; nothing is run. */
export function findProgram(env: Environment, version: string): Program | undefined {
  const embed = onPath("hindsight-embed", env);
  if (embed !== undefined) return { command: embed, args: [] };
  const uvx = onPath("uvx", env);
  return uvx === undefined ? undefined : { command: uvx, args: [`hindsight-embed@${version}`] };
}

function onPath(name: string, env: Environment): string | undefined {
  const directories = (env.PATH ?? env.Path ?? "").split(delimiter).filter((each) => each !== "");
  const names = process.platform === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  return directories
    .flatMap((directory) => names.map((each) => join(directory, each)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return statSync(path).isFile();
      } catch {
        return false;
      }
    });
}

// ---- The daemon ----

export type DaemonTimes = {
  /** How long a request waits for the start. */
  readonly startMs: number;
  readonly pollMs: number;
  /** The first start downloads the program and its models. */
  readonly commandMs: number;
  /** After a failed start none is tried for this long. */
  readonly pauseMs: number;
};

const TIMES: DaemonTimes = { startMs: 60_000, pollMs: 1_000, commandMs: 15 * 60_000, pauseMs: 30_000 };
const HEALTH_MS = 2_000;
const OUTPUT_BYTES = 256 * 1024;

/** Starts that run now, by profile: a gateway has a connection for each user, and all use one daemon. */
const starts = new Map<string, Promise<Result<void, string>>>();

type DaemonOptions = {
  readonly settings: EmbeddedSettings;
  readonly context: Pick<ConnectionContext, "home" | "env" | "http">;
  /** False for a caller that only looks: it finds a running daemon and starts none. */
  readonly mayStart: boolean;
  readonly times?: Partial<DaemonTimes>;
};

export class EmbeddedDaemon {
  readonly url: string;
  readonly #settings: EmbeddedSettings;
  readonly #context: DaemonOptions["context"];
  readonly #mayStart: boolean;
  readonly #times: DaemonTimes;
  readonly #port: number;
  readonly #http: HttpClient;
  #isUp = false;
  #failure: { readonly reason: string; readonly at: number } | undefined;
  #looking: Promise<Result<void, string>> | undefined;

  constructor({ settings, context, mayStart, times }: DaemonOptions) {
    this.#settings = settings;
    this.#context = context;
    this.#mayStart = mayStart;
    this.#times = { ...TIMES, ...times };
    this.#port = profilePort(settings);
    this.url = `http://127.0.0.1:${this.#port}`;
    this.#http = context.http({ baseUrl: this.url, headers: () => ({}), timeoutMs: HEALTH_MS });
  }

  /** Resolves when the daemon answers, or to why it does not. Never rejects. */
  async ready(signal?: AbortSignal): Promise<Result<void, string>> {
    if (this.#isUp) return ok(undefined);
    const failure = this.#failure;
    if (failure !== undefined && performance.now() - failure.at < this.#times.pauseMs)
      return err(failure.reason);
    this.#looking ??= this.#look().then((found) => {
      this.#looking = undefined;
      this.#isUp = found.ok;
      this.#failure = found.ok ? undefined : { reason: found.error, at: performance.now() };
      return found;
    });
    if (signal === undefined) return await this.#looking;
    const onAbort = () => err("the Hindsight daemon has not started yet");
    return await untilAborted(signal, this.#looking).catch(onAbort);
  }

  /** A request could not connect: the next `ready` looks again. */
  lost(): void {
    this.#isUp = false;
  }

  async #look(): Promise<Result<void, string>> {
    const isHealthy = await this.#isHealthy();
    if (isHealthy && !(this.#mayStart && hasProfileChanged(this.#settings, this.#port))) return ok(undefined);
    if (!this.#mayStart)
      return err(`the Hindsight daemon does not run at ${this.url}. A conversation starts it`);
    let failed: string | undefined;
    let isStarting = true;
    void this.#startOnce(isHealthy).then((outcome) => {
      isStarting = false;
      if (!outcome.ok) failed = outcome.error;
    });
    const until = performance.now() + this.#times.startMs;
    while (failed === undefined && performance.now() < until) {
      await sleep(this.#times.pollMs, undefined, { ref: false });
      // During a restart the old daemon answers until it is stopped.
      const isOldOne = isHealthy && isStarting;
      if (!isOldOne && (await this.#isHealthy())) return ok(undefined);
    }
    const seconds = Math.round(this.#times.startMs / 1000);
    return err(
      `${failed ?? `the Hindsight daemon does not answer at ${this.url} after ${seconds} s; its first start downloads for minutes`}. Its output is in ${this.#logPath()}`,
    );
  }

  async #isHealthy(): Promise<boolean> {
    const call: HttpCall = { method: "GET", path: "/health", expects: "nothing", isRepeatable: false };
    return (await this.#http.request({ ...call, ignoresBreaker: true })).ok;
  }

  #startOnce(isRunning: boolean): Promise<Result<void, string>> {
    const place = profilePath(this.#settings);
    const running = starts.get(place) ?? this.#start(isRunning).finally(() => void starts.delete(place));
    starts.set(place, running);
    return running;
  }

  async #start(isRunning: boolean): Promise<Result<void, string>> {
    const { profile } = this.#settings;
    if (isRunning) await this.#run(["daemon", "--profile", profile, "stop"]);
    if (hasProfileChanged(this.#settings, this.#port)) {
      // The key is not on the command line, where other users of the machine could read it.
      const shown = Object.entries(profileValues(this.#settings)).filter(([key]) => key !== LLM_KEY);
      const env = shown.flatMap(([key, value]) => ["--env", `${key}=${value}`]);
      const port = ["--port", String(this.#port)];
      const created = await this.#run(["profile", "create", profile, "--merge", ...port, ...env]);
      if (!created.ok) return created;
      try {
        writeProfile(this.#settings, this.#port);
      } catch (cause) {
        return err(`the profile of the Hindsight daemon cannot be written: ${describeCause(cause)}`);
      }
    }
    return await this.#run(["daemon", "--profile", profile, "start"]);
  }

  /** The child goes on when this process ends: a download that was begun is finished. */
  async #run(args: readonly string[]): Promise<Result<void, string>> {
    const { program } = this.#settings;
    if (program === undefined) return err("neither hindsight-embed nor uvx is on the PATH");
    const what = `hindsight-embed ${args
      .filter((each) => !each.startsWith("-"))
      .slice(0, 2)
      .join(" ")}`;
    const end = await runChild({
      command: program.command,
      args: [...program.args, ...args],
      env: this.#context.env,
      timeoutMs: this.#times.commandMs,
      outputBytes: OUTPUT_BYTES,
      onOverflow: "ignore",
      isBackground: true,
    });
    this.#log(args, end);
    if (end.kind === "exited" && end.code === 0) return ok(undefined);
    if (end.kind === "exited") return err(`${what} ended with code ${end.code ?? end.killedBy}`);
    if (end.kind === "not-started") return err(`${program.command} cannot be started: ${end.message}`);
    return err(`${what} did not end`);
  }

  #logPath(): string {
    return join(this.#context.home, "logs", "hindsight-embed.log");
  }

  #log(args: readonly string[], end: ChildEnd): void {
    const output = end.kind === "exited" ? `${end.stdout}${end.stderr}` : end.kind;
    const { llmApiKey } = this.#settings;
    const text = `${new Date().toISOString()} ${args.join(" ")}\n${output}\n`;
    const shown = redactSecrets(llmApiKey === "" ? text : text.replaceAll(llmApiKey, "[key]"));
    try {
      mkdirSync(dirname(this.#logPath()), { recursive: true, mode: 0o700 });
      appendFileSync(this.#logPath(), shown, { mode: 0o600 });
    } catch {
      // A log that cannot be written must not keep the daemon from starting.
    }
  }
}

/** Requests wait for the daemon; one that cannot connect starts it again and is sent once more. */
export function throughDaemon(http: HttpClient, daemon: EmbeddedDaemon, waitMs: number): HttpClient {
  const request: HttpClient["request"] = async (call) => {
    const limit = AbortSignal.timeout(waitMs); // its own limit is for the answer of a running server
    const signal = call.signal === undefined ? limit : AbortSignal.any([call.signal, limit]);
    const started = await daemon.ready(signal);
    if (!started.ok) return err(notRunning(started.error));
    const first = await http.request(call);
    if (first.ok || first.error.kind !== "unreachable" || first.error.mayHaveHappened) return first;
    daemon.lost();
    const again = await daemon.ready(signal);
    return again.ok ? await http.request(call) : err(notRunning(again.error));
  };
  return clientOf({ baseUrl: http.baseUrl, request });
}

function notRunning(reason: string): HttpFailure {
  const message = `Hindsight cannot be reached: ${reason}.`;
  return { kind: "unreachable", message, detail: "", mayHaveHappened: false };
}

// ---- The profile: `~/.hindsight/profiles/<profile>.env` ----
// The file also belongs to hindsight-embed, so only own keys are changed; it holds a key, so only its owner may read it.

const PORT_KEY = "HINDSIGHT_API_PORT";
const LLM_KEY = "HINDSIGHT_API_LLM_API_KEY";
/** Taken out of the profile when it is not set: that of another vendor would stay. */
const BASE_URL_KEY = "HINDSIGHT_API_LLM_BASE_URL";
const FIRST_PORT = 8889;
const PORTS = 1000;
const OPENROUTER_URL = "https://openrouter.ai/api/v1";

/** The keys of the profile file that are ours. */
function profileValues(settings: EmbeddedSettings): Readonly<Record<string, string>> {
  const { llmProvider, llmModel, llmBaseUrl, llmApiKey, idleTimeoutS } = settings;
  const isOpenAiLike = llmProvider === "openai_compatible" || llmProvider === "openrouter";
  const baseUrl = llmBaseUrl || (llmProvider === "openrouter" ? OPENROUTER_URL : "");
  const values = {
    HINDSIGHT_API_LLM_PROVIDER: isOpenAiLike ? "openai" : llmProvider,
    HINDSIGHT_API_LLM_MODEL: llmModel,
    [BASE_URL_KEY]: baseUrl,
    [LLM_KEY]: llmApiKey,
    HINDSIGHT_API_LOG_LEVEL: "info",
    HINDSIGHT_EMBED_DAEMON_IDLE_TIMEOUT: String(idleTimeoutS),
  };
  const lines = Object.entries(values).map(([key, value]) => [key, value.replace(/[\r\n]+/g, "")] as const);
  return Object.fromEntries(lines.filter(([, value]) => value !== ""));
}

function profilePath({ userHome, profile }: EmbeddedSettings): string {
  return join(userHome, ".hindsight", "profiles", `${profile}.env`);
}

/** The port in the profile; else one by the profile's name that no other profile has. */
export function profilePort(settings: EmbeddedSettings): number {
  const own = portIn(readProfile(profilePath(settings)));
  if (own !== undefined) return own;
  const directory = dirname(profilePath(settings));
  const others = namesIn(directory).filter((name) => name.endsWith(".env"));
  const taken = new Set(others.map((name) => portIn(readProfile(join(directory, name)))));
  const start = Number.parseInt(sha256(settings.profile).slice(0, 8), 16) % PORTS;
  for (let step = 0; step < PORTS; step += 1) {
    const port = FIRST_PORT + ((start + step) % PORTS);
    if (!taken.has(port)) return port;
  }
  return FIRST_PORT + start;
}

/** Whether the daemon would start with other values than those in the file. */
export function hasProfileChanged(settings: EmbeddedSettings, port: number): boolean {
  const now = readProfile(profilePath(settings));
  const wanted = { ...profileValues(settings), [PORT_KEY]: String(port) };
  const hasOldUrl = now.has(BASE_URL_KEY) && !Object.hasOwn(wanted, BASE_URL_KEY);
  return hasOldUrl || Object.entries(wanted).some(([key, value]) => now.get(key) !== value);
}

/** Sets our keys and the port and keeps all other lines. Throws when the file cannot be written. */
export function writeProfile(settings: EmbeddedSettings, port: number): void {
  const path = profilePath(settings);
  const wanted = new Map(Object.entries({ ...profileValues(settings), [PORT_KEY]: String(port) }));
  const kept = profileLines(path).filter((line) => {
    const key = keyOf(line);
    return !wanted.has(key) && key !== BASE_URL_KEY;
  });
  const lines = [...kept, ...[...wanted].map(([key, value]) => `${key}=${value}`)];
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileAtomic(path, `${lines.join("\n")}\n`, { forceMode: 0o600 });
}

function profileLines(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8")
      .split(/\r?\n/)
      .filter((line) => line.trim() !== "");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return [];
    throw cause; // an unreadable file is not overwritten
  }
}

function readProfile(path: string): ReadonlyMap<string, string> {
  try {
    return new Map(profileLines(path).map((line) => [keyOf(line), textAfterEquals(line)]));
  } catch {
    return new Map(); // writing it will report the reason
  }
}

function keyOf(line: string): string {
  return line
    .slice(0, Math.max(0, line.indexOf("=")))
    .replace(/^\s*export\s+/, "")
    .trim();
}

function textAfterEquals(line: string): string {
  const value = line.slice(line.indexOf("=") + 1).trim();
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value;
}

function portIn(values: ReadonlyMap<string, string>): number | undefined {
  const port = Number(values.get(PORT_KEY));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}
