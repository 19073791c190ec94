// ByteRover as a memory provider: its hooks. Recall is a call of brv while the turn waits; notes to remember go through a queue.
import { existsSync, lstatSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { envFilePath, readEnvFile } from "@hermes-memory/core/internal/config";
import { type Clock, codePointLength, HermesError, pyStrip } from "@hermes-memory/core/internal/lib";
import { type Logger, silentLogger } from "@hermes-memory/core/internal/logger";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import {
  Breaker,
  type CallOptions,
  type ConfigField,
  checkAnswer,
  type ForgetOptions,
  type ForgetReport,
  type InitializeOptions,
  type MemoryProvider,
  type PostSetupOptions,
  PROVIDER_CONTRACT,
  type RecallOptions,
  readSettings,
  type SelfTestReport,
  SerialQueue,
  writeSettings,
} from "@hermes-memory/core/internal/providers";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { activate, askField } from "../kit/networked/setup.ts";
import {
  hasContext,
  hasTools,
  modeSentence,
  PROVIDER_MODES,
  type ProviderMode,
  parseMode,
} from "../kit/provider-mode.ts";
import {
  type BrvPlaces,
  callBrv,
  type Environment,
  findBrv,
  INSTALL_HINT,
  LIMITS,
  type Limits,
  loginCommand,
  queueCurateCommand,
  searchCommand,
} from "./brv.ts";
import { mirrorNote, preCompressNote, searchRecall, turnNote } from "./texts.ts";
import { answerTool, type Call, modelLine, TOOL_SCHEMAS, testByterover } from "./tools.ts";
import { directoryOf, eraseTree, findNoteTraces } from "./traces.ts";

/** Default of the places: those of this process. */
export type ByteroverOptions = Partial<BrvPlaces> & {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly limits?: Partial<Limits>;
};

/** Set by `initialize`. */
type Started = {
  readonly directory: string;
  readonly mode: ProviderMode;
  /** Only the agent that talks to the user stores notes on its own. */
  readonly isWriting: boolean;
};

const QUERY_MIN_CHARS = 10;
const BREAKER_MS = 120_000;
const SHUTDOWN_DRAIN_MS = 2_000;

export class ByteroverProvider implements MemoryProvider {
  readonly contract = PROVIDER_CONTRACT;
  readonly name = "byterover";
  readonly #places: BrvPlaces;
  readonly #limits: Limits;
  readonly #log: Logger;
  readonly #breaker: Breaker;
  readonly #queue: SerialQueue;
  /** Aborted at shutdown, which ends every running call. */
  readonly #closing = new AbortController();
  #started: Started | undefined;

  constructor({ clock, logger, limits, ...places }: ByteroverOptions = {}) {
    this.#places = { env: process.env, userHome: homedir(), ...places };
    this.#limits = { ...LIMITS, ...limits };
    this.#log = logger ?? silentLogger;
    const now = clock && (() => clock.now().getTime());
    this.#breaker = new Breaker({ failures: this.#limits.breakerFailures, openMs: BREAKER_MS, now });
    this.#queue = new SerialQueue({ maxWaiting: this.#limits.queueLength });
  }

  isAvailable(): boolean {
    return findBrv(this.#places) !== undefined;
  }

  unavailableReason(): string {
    return `There is no program 'brv', neither on PATH nor where its installer puts it. ${INSTALL_HINT}`;
  }

  initialize(_sessionId: string, options: InitializeOptions): void {
    const { hermes_home, agent_context = "primary", platform = "cli", user_id } = options;
    const { values, problem } = readSettings(hermes_home, SETTINGS_FILE);
    if (problem !== undefined) this.#log.warn(problem, { provider: this.name });
    // Not below the owner's directory: where there is no tree, brv uses one of a parent directory.
    const directory = directoryOf(
      hermes_home,
      user_id === undefined ? undefined : { platform, userId: user_id },
    );
    this.#started = { directory, mode: parseMode(values.mode), isWriting: agent_context === "primary" };
  }

  systemPromptBlock(): string {
    if (this.#started === undefined || !this.isAvailable()) return "";
    const { mode } = this.#started;
    const tools = hasTools(mode)
      ? " brv_query searches what is known, brv_curate stores something worth keeping, brv_status tells its state."
      : "";
    return `# ByteRover Memory\nActive: a knowledge tree that outlives conversations.${tools} ${modeSentence(mode)}`;
  }

  /** Rejects when brv fails. After two failures in a row it is not called for 120 s, and there is no recall. */
  async prefetch(query: string, { signal }: RecallOptions): Promise<string> {
    const started = this.#started;
    if (started === undefined || !hasContext(started.mode)) return "";
    if (codePointLength(pyStrip(query)) < QUERY_MIN_CHARS) return "";
    // Where there is no tree, brv would search one of a parent directory, which is not ours.
    if (!hasTree(started.directory) || !this.#breaker.tryEnter()) return "";
    const reply = await this.#call(signal)(searchCommand(query, this.#limits));
    if (!reply.ok) {
      if (reply.error.isAborted) this.#breaker.abandoned();
      else this.#breaker.failed();
      throw new HermesError("byterover-failed", reply.error.message);
    }
    this.#breaker.succeeded();
    return searchRecall(reply.value);
  }

  async syncTurn(user: string, assistant: string): Promise<void> {
    await this.#remember(turnNote(user, assistant));
  }

  async onMemoryWrite(action: string, target: string, content: string): Promise<void> {
    await this.#remember(mirrorNote(action, target, content));
  }

  /** brv has no command that erases, so this only reports which of its files contain the text. */
  forget(text: string): ForgetReport {
    const directory = this.#started?.directory;
    const found = text === "" || directory === undefined ? undefined : findNoteTraces(directory, text);
    if (found === undefined) return { erased: 0 };
    const remedy =
      "brv cannot erase a note: delete it there, and in ByteRover's cloud if the tree is synced.";
    return { erased: 0, remaining: `${found} ${remedy}` };
  }

  /** brv has no command that erases, but the directory with the tree belongs to one user: it is deleted here. */
  async eraseUser({ dry_run = false }: ForgetOptions = {}): Promise<ForgetReport> {
    if (this.#started === undefined) throw new HermesError("byterover-failed", "It has not been started.");
    return eraseTree(this.#started.directory, dry_run);
  }

  /** Queues a note. Compaction does not wait for it, and nothing is added to the summary request. */
  onPreCompress(messages: readonly OpenAiMessage[]): string {
    this.#remember(preCompressNote(messages)).catch((cause: unknown) => {
      this.#log.warn("The messages before a compaction did not reach ByteRover.", {
        provider: this.name,
        cause,
      });
    });
    return "";
  }

  getToolSchemas(): readonly ToolDefinition[] {
    return hasTools(this.#started?.mode ?? "hybrid") ? TOOL_SCHEMAS : [];
  }

  async handleToolCall(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal }: CallOptions = {},
  ): Promise<string> {
    if (this.#started === undefined) return JSON.stringify({ error: "ByteRover has not been started." });
    return JSON.stringify(await answerTool(name, args, this.#call(signal), this.#limits));
  }

  async shutdown({ signal }: CallOptions = {}): Promise<void> {
    const left = await this.#queue.drain(SHUTDOWN_DRAIN_MS, { signal });
    this.#queue.close();
    this.#closing.abort(new DOMException("ByteRover is shut down.", "AbortError"));
    this.#started = undefined;
    if (left > 0) this.#log.warn("Notes for ByteRover were lost at shutdown.", { provider: this.name, left });
  }

  getConfigSchema(): readonly ConfigField[] {
    return CONFIG_FIELDS;
  }

  saveConfig(values: Readonly<Record<string, string>>, hermesHome: string): void {
    saveSettings(values, hermesHome);
  }

  async postSetup(
    hermesHome: string,
    _config: Readonly<Record<string, unknown>>,
    options: PostSetupOptions,
  ): Promise<void> {
    const directory = join(hermesHome, "byterover");
    await setUpByterover(hermesHome, options, {
      env: this.#places.env,
      isInstalled: this.isAvailable(),
      call: (command) => callBrv(this.#places, directory, command),
    });
  }

  async selfTest(signal: AbortSignal): Promise<SelfTestReport> {
    if (this.#started === undefined) throw new HermesError("byterover-failed", "It has not been started.");
    return await testByterover(this.#call(signal), this.#limits);
  }

  /** Rejects when the note did not reach brv. */
  async #remember(note: string | undefined): Promise<void> {
    if (note === undefined || this.#started?.isWriting !== true) return;
    const { directory } = this.#started;
    const command = queueCurateCommand(note, this.#limits);
    const outcome = await this.#queue.push(async (signal) => {
      const reply = await callBrv(this.#places, directory, command, { signal, isBackground: true });
      if (!reply.ok) throw new HermesError("byterover-failed", reply.error.message);
    });
    if (outcome.kind === "done") return;
    if (outcome.kind === "failed") throw outcome.cause;
    const isFull = outcome.kind === "dropped" && outcome.reason === "full";
    throw new HermesError(
      "byterover-failed",
      isFull
        ? "Too many notes wait for brv already; this one is lost"
        : "ByteRover was shut down before the note was stored",
    );
  }

  /** For callers that wait; after `initialize`. */
  #call(signal: AbortSignal | undefined): Call {
    const until =
      signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    const directory = this.#started?.directory ?? "";
    return (command) => callBrv(this.#places, directory, command, { signal: until });
  }
}

/** `.brv` is a directory with a config once brv has created a tree, or a file that points to a tree elsewhere. */
function hasTree(directory: string): boolean {
  const path = join(directory, ".brv");
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) return true;
  return existsSync(join(path, "config.json"));
}

export function createByteroverProvider(options: ByteroverOptions = {}): MemoryProvider {
  return new ByteroverProvider(options);
}

// ---- Setup ----
// `hermes memory setup byterover`, and its settings in `<home>/byterover.json`. It replaces the generic wizard because of the API key: brv
// reads no variable, so a key in `.env` would have no effect. The key is passed to `brv login` once, which keeps it in brv's own store;
// this program does not store it.

const SETTINGS_FILE = "byterover.json";
const API_KEY_VARIABLE = "BRV_API_KEY";
const KEY_QUESTION = "ByteRover API key, only for sync with the cloud; empty for local use";
const KEY_URL = "https://app.byterover.dev";
const MODE: ConfigField = {
  key: "mode",
  description: "Recall and tools (hybrid), recall only (context), or tools only (tools)",
  default: "hybrid",
  choices: PROVIDER_MODES,
};

const CONFIG_FIELDS: readonly ConfigField[] = [
  { key: "api_key", description: KEY_QUESTION, secret: true, env_var: API_KEY_VARIABLE, url: KEY_URL },
  MODE,
];

async function setUpByterover(
  home: string,
  { ask, print, values }: PostSetupOptions,
  brv: { readonly env: Environment; readonly isInstalled: boolean; readonly call: Call },
): Promise<void> {
  const unknown = Object.keys(values).find((key) => !CONFIG_FIELDS.some((field) => field.key === key));
  if (unknown !== undefined) throw refusal(`${unknown} is no setting of ByteRover`);
  if (!brv.isInstalled) print(`brv CLI not found. ${INSTALL_HINT} (until then ByteRover stays silent)`);

  let mode = values.mode ?? parseMode(readSettings(home, SETTINGS_FILE).values.mode);
  if (ask !== undefined && values.mode === undefined)
    mode = await askField(MODE, mode, { ask, print }, (answer) => checkAnswer(MODE, answer));
  const asked = values.api_key ?? (await askForKey(ask, print));
  const key = pyStrip(values.api_key ?? (asked || knownKey(home, brv.env)));
  saveSettings({ mode }, home);

  if (key !== "" && brv.isInstalled) {
    const login = await brv.call(loginCommand(key));
    print(
      login.ok
        ? "brv is logged in."
        : `brv login failed: ${login.error.message.replaceAll(key, "[the key]")}.`,
    );
  } else if (key !== "") print("The API key was not used. Run 'brv login' once brv is installed.");

  await activate(home, "byterover");
  print(`The settings are in ${join(home, SETTINGS_FILE)}.`);
  if (brv.isInstalled) print(await modelLine(brv.call));
}

/** For setup and `saveConfig`. Saves nothing if one of the values is refused. */
function saveSettings(values: Readonly<Record<string, string>>, home: string): void {
  const unknown = Object.keys(values).find((key) => key !== "mode");
  if (unknown !== undefined) throw refusal(`${unknown} is no setting of ByteRover`);
  const mode = checkAnswer({ ...MODE, required: true }, values.mode ?? "");
  if (!mode.ok) throw refusal(`mode ${mode.error}`);
  const written = writeSettings(home, SETTINGS_FILE, { mode: mode.value });
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}

function refusal(reason: string): HermesError {
  return new HermesError("bad-setting", `${reason}. Nothing was saved.`);
}

async function askForKey(ask: PostSetupOptions["ask"], print: PostSetupOptions["print"]): Promise<string> {
  if (ask === undefined) return "";
  print(
    `A key is made at ${KEY_URL}. It is given to 'brv login' on its command line, where other users of this`,
  );
  print("machine can see it for a moment; 'brv login' in a terminal of your own uses the browser instead.");
  return pyStrip(await ask(KEY_QUESTION, { secret: true }));
}

/** A key in the variable that the Python edition asks for. */
function knownKey(home: string, env: Environment): string {
  const file = readEnvFile(envFilePath(home));
  return env[API_KEY_VARIABLE] ?? (file.ok ? file.value.values.get(API_KEY_VARIABLE) : undefined) ?? "";
}
