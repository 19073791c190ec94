// ByteRover as a memory provider: its hooks. Recall is a call of brv while the turn waits; notes to remember go through a queue.
import { existsSync, lstatSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Clock, codePointLength, HermesError, pyStrip } from "@hermes-memory/core/internal/lib";
import { type Logger, silentLogger } from "@hermes-memory/core/internal/logger";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import {
  Breaker,
  type CallOptions,
  type ConfigField,
  type ForgetOptions,
  type ForgetReport,
  type InitializeOptions,
  type JobOutcome,
  type MemoryProvider,
  type PostSetupOptions,
  PROVIDER_CONTRACT,
  type RecallOptions,
  readSettings,
  type SelfTestReport,
  SerialQueue,
} from "@hermes-memory/core/internal/providers";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { hasContext, hasTools, modeSentence } from "../kit/provider-mode.ts";
import {
  BinaryFinder,
  type BinaryFinderOptions,
  BrvClient,
  type Environment,
  INSTALL_HINT,
  LIMITS,
  type Limits,
  QUERY_MIN_CHARS,
  queryCommand,
  queueCurateCommand,
  searchCommand,
} from "./brv-client.ts";
import {
  type ByteroverSettings,
  CONFIG_FIELDS,
  readByteroverSettings,
  SETTINGS_FILE,
  saveSettings,
  setUpByterover,
} from "./setup.ts";
import { mirrorNote, preCompressNote, queryRecall, searchRecall, turnNote } from "./texts.ts";
import { answerTool, TOOL_SCHEMAS, testByterover } from "./tools.ts";
import { directoryOf, eraseTree, findNoteTraces } from "./traces.ts";

/** Where `brv` is searched for, and its environment. Default: those of this process. */
export type ByteroverOptions = Partial<Pick<BinaryFinderOptions, "env" | "userHome" | "systemPlaces">> & {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly limits?: Partial<Limits>;
};

/** Set by `initialize`. */
type Started = {
  readonly client: BrvClient;
  readonly directory: string;
  readonly settings: ByteroverSettings;
  readonly problem: string | undefined;
  /** Only the agent that talks to the user stores notes on its own. */
  readonly isWriting: boolean;
};

const SHUTDOWN_DRAIN_MS = 2_000;

export class ByteroverProvider implements MemoryProvider {
  readonly contract = PROVIDER_CONTRACT;
  readonly name = "byterover";
  readonly #env: Environment;
  readonly #limits: Limits;
  readonly #log: Logger;
  readonly #finder: BinaryFinder;
  readonly #breaker: Breaker;
  readonly #queue: SerialQueue;
  /** Aborted at shutdown, which ends every running call. */
  readonly #closing = new AbortController();
  #started: Started | undefined;

  constructor({ clock, logger, limits, ...places }: ByteroverOptions = {}) {
    this.#env = places.env ?? process.env;
    this.#limits = { ...LIMITS, ...limits };
    this.#log = logger ?? silentLogger;
    const { recheckMs, breakerFailures, breakerMs, queueLength, queueMs } = this.#limits;
    this.#finder = new BinaryFinder({ userHome: homedir(), ...places, env: this.#env, recheckMs, clock });
    const now = clock && (() => clock.now().getTime());
    this.#breaker = new Breaker({ failures: breakerFailures, openMs: breakerMs, now });
    // The child process has the same limit and reports more; the deadline of the queue is for a child that cannot be killed.
    this.#queue = new SerialQueue({ maxWaiting: queueLength, deadlineMs: queueMs + this.#limits.graceMs });
  }

  isAvailable(): boolean {
    return this.#finder.look() !== undefined;
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
    this.#started = {
      client: this.#client(directory),
      directory,
      settings: readByteroverSettings(values),
      problem,
      isWriting: agent_context === "primary",
    };
  }

  systemPromptBlock(): string {
    if (this.#started === undefined || this.#finder.find() === undefined) return "";
    const { mode } = this.#started.settings;
    const tools = hasTools(mode)
      ? " brv_query searches what is known, brv_curate stores something worth keeping, brv_status tells its state."
      : "";
    return `# ByteRover Memory\nActive: a knowledge tree that outlives conversations.${tools} ${modeSentence(mode)}`;
  }

  /** Rejects when brv fails. After two failures in a row it is not called for 120 s, and there is no recall. */
  async prefetch(query: string, { signal }: RecallOptions): Promise<string> {
    const started = this.#started;
    if (started === undefined || !hasContext(started.settings.mode)) return "";
    if (codePointLength(pyStrip(query)) < QUERY_MIN_CHARS) return "";
    // Where there is no tree, brv would search one of a parent directory, which is not ours.
    if (!hasTree(started.directory) || !this.#breaker.tryEnter()) return "";
    const { client, settings } = started;
    const isSearch = settings.prefetchCommand === "search";
    const command = isSearch
      ? searchCommand(query, settings.searchLimit, this.#limits)
      : queryCommand(query, this.#limits.prefetchMs, this.#limits);
    const reply = await client.call(command, { signal: this.#untilClosed(signal) });
    if (!reply.ok) {
      if (reply.error.kind === "aborted") this.#breaker.abandoned();
      else this.#breaker.failed();
      throw new HermesError("byterover-failed", reply.error.message);
    }
    this.#breaker.succeeded();
    const render = isSearch ? searchRecall : queryRecall;
    return render(reply.value, settings.maxChars);
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
    return hasTools(this.#started?.settings.mode ?? "hybrid") ? TOOL_SCHEMAS : [];
  }

  async handleToolCall(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal }: CallOptions = {},
  ): Promise<string> {
    if (this.#started === undefined) return JSON.stringify({ error: "ByteRover has not been started." });
    const { client, settings, problem } = this.#started;
    const context = { client, problem, limits: this.#limits, queryMs: settings.queryTimeoutSeconds * 1000 };
    const rules = { signal: this.#untilClosed(signal) };
    return JSON.stringify(await answerTool(name, args, context, rules));
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
    const client = this.#client(join(hermesHome, "byterover"));
    await setUpByterover(hermesHome, options, {
      client,
      finder: this.#finder,
      env: this.#env,
      limits: this.#limits,
    });
  }

  async selfTest(signal: AbortSignal): Promise<SelfTestReport> {
    if (this.#started === undefined) throw new HermesError("byterover-failed", "It has not been started.");
    return await testByterover(this.#started.client, this.#limits, signal);
  }

  /** Rejects when the note did not reach brv. */
  async #remember(note: string | undefined): Promise<void> {
    if (note === undefined || this.#started?.isWriting !== true) return;
    const { client } = this.#started;
    const outcome = await this.#queue.push(async (signal) => {
      const reply = await client.call(queueCurateCommand(note, this.#limits), { signal, isBackground: true });
      if (!reply.ok) throw new HermesError("byterover-failed", reply.error.message);
    });
    if (outcome.kind !== "done") throw lostNoteError(outcome);
  }

  #client(directory: string): BrvClient {
    return new BrvClient({ finder: this.#finder, directory, env: this.#env, limits: this.#limits });
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }
}

/** `.brv` is a directory with a config once brv has created a tree, or a file that points to a tree elsewhere. */
function hasTree(directory: string): boolean {
  const path = join(directory, ".brv");
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === true) return true;
  return existsSync(join(path, "config.json"));
}

function lostNoteError(outcome: Exclude<JobOutcome, { kind: "done" }>): unknown {
  switch (outcome.kind) {
    case "failed":
      return outcome.cause;
    case "timed-out":
      return new HermesError("byterover-failed", `brv timed out after ${outcome.afterMs / 1000}s`);
    case "dropped":
      return new HermesError(
        "byterover-failed",
        outcome.reason === "full"
          ? "Too many notes wait for brv already; this one is lost"
          : "ByteRover was shut down before the note was stored",
      );
    default:
      return outcome satisfies never;
  }
}

export function createByteroverProvider(options: ByteroverOptions = {}): MemoryProvider {
  return new ByteroverProvider(options);
}
