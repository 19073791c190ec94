// The holographic provider: a local store of facts as a memory provider. Here are its hooks; the store is in store.ts.
import { loadMemoryConfig, setConfigValue } from "@hermes-memory/core/internal/config";
import { logPath } from "@hermes-memory/core/internal/home";
import {
  type Clock,
  describeCause,
  HermesError,
  pyStrip,
  randomHex,
  systemClock,
} from "@hermes-memory/core/internal/lib";
import { createLogger, type Logger, silentLogger } from "@hermes-memory/core/internal/logger";
import type { OpenAiMessage } from "@hermes-memory/core/internal/message";
import type {
  ConfigField,
  ForgetOptions,
  ForgetReport,
  InitializeOptions,
  MemoryProvider,
  MemoryWriteMetadata,
  MemoryWriteReport,
  SelfTestReport,
} from "@hermes-memory/core/internal/providers";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import type { ToolDefinition } from "@hermes-memory/core/internal/tools";
import { fitChars, hasContext, hasTools, modeSentence, type ProviderMode } from "../kit/provider-mode.ts";
import type { FactRow } from "./database.ts";
import { extractFacts } from "./extract.ts";
import {
  CONFIG_FIELDS,
  forUser,
  type HolographicSettings,
  knownSettings,
  readSection,
  readSettings,
  SECTION,
  toYaml,
} from "./settings.ts";
import { FactStore } from "./store.ts";
import { type Arguments, runTool, TOOL_SCHEMAS } from "./tools.ts";

export type HolographicOptions = {
  /** Default: the log file of the home. */
  readonly logger?: Logger;
  readonly clock?: Clock;
};

const PREFETCH_LIMIT = 5;
const NOT_OPEN = "The holographic memory is not open: it was not initialised, or it was shut down.";

export function createHolographicProvider(options: HolographicOptions = {}): MemoryProvider {
  return new HolographicProvider(options);
}

type Opened = {
  readonly store: FactStore;
  readonly settings: HolographicSettings;
  /** Only the agent that talks to the user stores facts by its hooks. */
  readonly mayWrite: boolean;
};

class HolographicProvider implements MemoryProvider {
  readonly contract = 1;
  readonly name = "holographic";
  readonly #options: HolographicOptions;
  #logger: Logger;
  #opened: Opened | undefined;
  #failure = NOT_OPEN;
  /** True until `initialize` has read the mode. */
  #hasTools = true;

  constructor(options: HolographicOptions) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
  }

  isAvailable(): boolean {
    return true;
  }

  async initialize(_sessionId: string, options: InitializeOptions): Promise<void> {
    await this.shutdown();
    const home = options.hermes_home;
    this.#logger = this.#options.logger ?? createLogger({ path: logPath(home), redact: redactSecrets });
    const { platform = "cli", user_id } = options;
    const common = await this.#readSettings(home);
    const settings = user_id === undefined ? common : forUser(common, platform, user_id);
    this.#hasTools = hasTools(settings.mode);
    try {
      const store = await FactStore.open(settings, {
        clock: this.#options.clock ?? systemClock,
        warn: (message) => this.#logger.warn(message),
        allowSecrets: await allowsSecrets(home),
      });
      this.#opened = { store, settings, mayWrite: (options.agent_context ?? "primary") === "primary" };
    } catch (cause) {
      this.#failure = describeCause(cause);
      throw cause;
    }
  }

  async systemPromptBlock(): Promise<string> {
    if (this.#opened === undefined) return "";
    const { store, settings } = this.#opened;
    return promptBlock(await store.count(), settings.mode);
  }

  async prefetch(query: string): Promise<string> {
    if (this.#opened === undefined || pyStrip(query) === "") return "";
    const { store, settings, mayWrite } = this.#opened;
    if (!hasContext(settings.mode)) return "";
    const { minTrust, scoring, querySyntax, maxChars } = settings;
    // A message is not query syntax. It is treated as such only if both settings ask for the behaviour of the Python original.
    const isSafe = scoring === "structural" || querySyntax === "safe";
    try {
      const hits = await store.search({
        query,
        category: undefined,
        minTrust,
        limit: PREFETCH_LIMIT,
        isSafe,
      });
      if (mayWrite && scoring === "structural") store.countRetrieval(hits);
      return fitChars(recallText(hits), maxChars);
    } catch (cause) {
      this.#logger.warn(`No facts for this turn: ${describeCause(cause)}`);
      return "";
    }
  }

  getToolSchemas(): readonly ToolDefinition[] {
    return this.#hasTools ? TOOL_SCHEMAS : [];
  }

  async handleToolCall(name: string, args: Arguments): Promise<string> {
    const opened = this.#opened;
    return JSON.stringify(
      opened === undefined ? { error: this.#failure } : await runTool(opened, name, args),
    );
  }

  async onMemoryWrite(
    action: "add" | "replace" | "remove",
    target: "memory" | "user",
    content: string,
    metadata: MemoryWriteMetadata = {},
  ): Promise<MemoryWriteReport> {
    if (this.#opened === undefined) return { stored: false, reason: this.#failure };
    if (!this.#opened.mayWrite)
      return { stored: false, reason: "Only the agent that talks to the user writes facts." };
    const { store, settings } = this.#opened;
    const texts = mirrorTexts(action, content, metadata.old_text, settings);
    if (texts === undefined)
      return {
        stored: false,
        reason:
          settings.scoring === "reference"
            ? "With scoring: reference, facts follow additions only."
            : "It had no text to follow.",
      };
    const outcome = await store.mirror(target === "user" ? "user" : "memory", texts);
    if (outcome.ok) return { stored: true };
    this.#logger.debug("A memory entry was not mirrored as a fact.", { why: outcome.error });
    return { stored: false, reason: outcome.error };
  }

  async forget(text: string, { dry_run = false }: ForgetOptions = {}): Promise<ForgetReport> {
    if (this.#opened === undefined) throw new HermesError("not-initialised", this.#failure);
    const { store } = this.#opened;
    if (text === "") return { erased: 0 };
    return dry_run ? store.traces(text) : store.forget(text);
  }

  async eraseUser({ dry_run = false }: ForgetOptions = {}): Promise<ForgetReport> {
    if (this.#opened === undefined) throw new HermesError("not-initialised", this.#failure);
    const { store } = this.#opened;
    return dry_run ? { erased: await store.count() } : store.eraseAll();
  }

  async onSessionEnd(messages: readonly OpenAiMessage[]): Promise<void> {
    if (this.#opened === undefined || !this.#opened.mayWrite || !this.#opened.settings.autoExtract) return;
    const { store, settings } = this.#opened;
    for (const { content, category } of extractFacts(messages, settings.scoring)) {
      const outcome = await store.add(content, { category });
      if (!outcome.ok) this.#logger.debug("A message was not kept as a fact.", { why: outcome.error });
    }
  }

  async shutdown(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#failure = NOT_OPEN;
    await opened?.store.close();
  }

  getConfigSchema(): readonly ConfigField[] {
    return CONFIG_FIELDS;
  }

  async saveConfig(values: Readonly<Record<string, string>>, hermesHome: string): Promise<void> {
    // All values are checked before the first one is written.
    const settings = Object.entries(values).map(([key, value]) => ({ key, yaml: toYaml(key, value) }));
    for (const { key, yaml } of settings) {
      const outcome = await setConfigValue(hermesHome, `${SECTION}.${key}`, yaml);
      if (!outcome.ok) throw new HermesError("config-not-saved", outcome.error.message);
    }
  }

  async readConfig(hermesHome: string): Promise<Readonly<Record<string, unknown>>> {
    return knownSettings((await readSection(hermesHome)).values);
  }

  async selfTest(signal: AbortSignal): Promise<SelfTestReport> {
    if (this.#opened === undefined) throw new HermesError("not-initialised", this.#failure);
    return testStore(this.#opened.store, signal);
  }

  async #readSettings(home: string): Promise<HolographicSettings> {
    const { values, problem } = await readSection(home);
    if (problem !== undefined)
      this.#logger.warn(`The holographic memory runs with its default settings: ${problem}`);
    return readSettings(values, home);
  }
}

/** False when config cannot be read. */
async function allowsSecrets(home: string): Promise<boolean> {
  const config = await loadMemoryConfig(home);
  return config.ok && config.value.allowSecrets;
}

/** The texts that the store has to add and remove; undefined for nothing. The Python original copies additions only. */
function mirrorTexts(
  action: "add" | "replace" | "remove",
  content: string,
  oldText: string | undefined,
  { scoring }: HolographicSettings,
): { content: string | undefined; oldText: string | undefined } | undefined {
  const text = action === "remove" || pyStrip(content) === "" ? undefined : content;
  const old = action === "add" ? undefined : pyStrip(oldText ?? "") || undefined;
  if (action !== "add" && scoring === "reference") return undefined;
  const isEmpty = action === "remove" ? old === undefined : text === undefined;
  return isEmpty ? undefined : { content: text, oldText: old };
}

// ---- Texts for prompts ----

function promptBlock(factCount: number, mode: ProviderMode): string {
  const state =
    factCount === 0
      ? "Active, and empty so far."
      : `Active, with ${factCount} ${factCount === 1 ? "fact" : "facts"}; names are resolved to entities and every fact has a trust score.`;
  const use = !hasTools(mode)
    ? ""
    : factCount === 0
      ? "Add facts the user would expect you to remember with fact_store(action='add', content='...'). Rate facts you have used with fact_feedback."
      : "Use fact_store to search, probe an entity, reason across several, or add. Rate facts you have used with fact_feedback.";
  return ["# Holographic Memory", state, modeSentence(mode), use].filter((line) => line !== "").join("\n");
}

/** "" without facts. */
function recallText(facts: readonly FactRow[]): string {
  if (facts.length === 0) return "";
  const lines = facts.map(({ trust_score, content }) => `- [${oneDecimal(trust_score)}] ${content}`);
  return ["## Holographic Memory", ...lines].join("\n");
}

/** As Python formats it: an exact half is rounded to the even neighbour, so 0.25 becomes 0.2. `toFixed` rounds it up. */
export function oneDecimal(value: number): string {
  const tenths = value * 10;
  const below = Math.floor(tenths);
  // Multiples of a quarter are the only halves of a tenth that a double represents exactly.
  const isHalf = Number.isInteger(value * 4) && tenths - below === 0.5;
  return isHalf && below % 2 === 0 ? (below / 10).toFixed(1) : value.toFixed(1);
}

// ---- `hermes memory test`: a fact is written, found and removed in the real store ----

async function testStore(store: FactStore, signal: AbortSignal): Promise<SelfTestReport> {
  const steps: { name: string; ms: number }[] = [];
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const start = performance.now();
    const value = await work();
    steps.push({ name, ms: performance.now() - start });
    return value;
  };
  signal.throwIfAborted();
  const query = `selftest${randomHex(6)}`; // one word that no other fact contains
  const added = await step("write", () => store.add(`hermes memory test ${query}`));
  if (!added.ok) throw failed("write", added.error);
  const { factId } = added.value;
  const request = { query, category: undefined, minTrust: 0, limit: 5, isSafe: true };
  let isFound = false;
  try {
    isFound = (await step("recall", () => store.search(request))).some(({ fact_id }) => fact_id === factId);
  } finally {
    // Also after a failure, so that the test leaves nothing behind.
    await step("clean up", () => store.remove(factId));
  }
  if (!isFound) throw failed("recall", "the fact was not found again");
  return { steps };
}

function failed(step: string, reason: string): HermesError {
  return new HermesError("self-test-failed", `The ${step} step of the test failed: ${reason}.`);
}
