// The holographic provider: a local store of facts as a memory plug. What it does is in store.ts; here are the hooks.
import { getConfigValue, loadMemoryConfig, setConfigValue } from "../../../config/index.ts";
import { logPath } from "../../../home.ts";
import { type Clock, describeCause, HermesError, pyStrip, systemClock } from "../../../lib/index.ts";
import { createLogger, type Logger, silentLogger } from "../../../lib/logger.ts";
import type { OpenAiMessage } from "../../../message/index.ts";
import { redactSecrets } from "../../../security/index.ts";
import type { ToolDefinition } from "../../../tools/index.ts";
import type {
  ConfigField,
  ForgetOptions,
  ForgetReport,
  InitializeOptions,
  MemoryProvider,
  MemoryWriteMetadata,
  MemoryWriteReport,
  SelfTestReport,
} from "../../contract.ts";
import { fitChars } from "../../kit/budget.ts";
import { hasContext, hasTools } from "../../kit/mode.ts";
import type { Arguments } from "./arguments.ts";
import { extractFacts } from "./extract.ts";
import { testStore } from "./self-test.ts";
import {
  CONFIG_FIELDS,
  forUser,
  type HolographicSettings,
  knownSettings,
  readSettings,
  SECTION,
  toYaml,
} from "./settings.ts";
import { FactStore } from "./store.ts";
import { promptBlock, recallText } from "./texts.ts";
import { TOOL_SCHEMAS } from "./tool-schemas.ts";
import { runTool } from "./tools.ts";

export type HolographicOptions = {
  /** The log file of the home unless given. */
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
  /** Hooks write only for the agent that talks to the user. */
  readonly mayWrite: boolean;
};

class HolographicProvider implements MemoryProvider {
  readonly contract = 1;
  readonly name = "holographic";
  readonly #options: HolographicOptions;
  #logger: Logger;
  #opened: Opened | undefined;
  #failure = NOT_OPEN;
  /** Until initialised the mode is not known and the tools are offered. */
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
    // A message is no query syntax. Only who asks for the original in both respects gets what the original finds.
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
    this.#logger.debug("A memory entry was not mirrored as a fact.", { why: outcome.error.kind });
    return { stored: false, reason: outcome.error.message };
  }

  async forget(text: string, { dry_run = false }: ForgetOptions = {}): Promise<ForgetReport> {
    if (this.#opened === undefined) throw new HermesError("not-initialised", this.#failure);
    const { store } = this.#opened;
    if (text === "") return { erased: 0 };
    const { erased, remaining } = await (dry_run ? store.traces(text) : store.forget(text));
    return { erased, ...(remaining === undefined ? {} : { remaining }) };
  }

  async onSessionEnd(messages: readonly OpenAiMessage[]): Promise<void> {
    if (this.#opened === undefined || !this.#opened.mayWrite || !this.#opened.settings.autoExtract) return;
    const { store, settings } = this.#opened;
    for (const { content, category } of extractFacts(messages, settings.scoring)) {
      const outcome = await store.add(content, { category });
      if (!outcome.ok) this.#logger.debug("A message was not kept as a fact.", { why: outcome.error.kind });
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
    // Everything is checked before anything is written.
    const settings = Object.entries(values).map(([key, value]) => ({ key, yaml: toYaml(key, value) }));
    for (const { key, yaml } of settings) {
      const outcome = await setConfigValue(hermesHome, `${SECTION}.${key}`, yaml);
      if (!outcome.ok) throw new HermesError("config-not-saved", outcome.error.message);
    }
  }

  async readConfig(hermesHome: string): Promise<Readonly<Record<string, unknown>>> {
    const section = await getConfigValue(hermesHome, SECTION);
    const values = section.ok && section.value.source !== "unset" ? section.value.value : undefined;
    return knownSettings(values);
  }

  async selfTest(signal: AbortSignal): Promise<SelfTestReport> {
    if (this.#opened === undefined) throw new HermesError("not-initialised", this.#failure);
    return testStore(this.#opened.store, signal);
  }

  async #readSettings(home: string): Promise<HolographicSettings> {
    const section = await getConfigValue(home, SECTION);
    if (!section.ok) {
      this.#logger.warn(`The holographic memory runs with its default settings: ${section.error.message}`);
      return readSettings(undefined, home);
    }
    return readSettings(section.value.source === "unset" ? undefined : section.value.value, home);
  }
}

/** A config that cannot be read allows nothing. */
async function allowsSecrets(home: string): Promise<boolean> {
  const config = await loadMemoryConfig(home);
  return config.ok && config.value.allowSecrets;
}

/** What the fact store has to do; undefined: nothing. The original follows additions only. */
function mirrorTexts(
  action: "add" | "replace" | "remove",
  content: string,
  oldText: string | undefined,
  { scoring }: HolographicSettings,
): { content: string | undefined; oldText: string | undefined } | undefined {
  const text = pyStrip(content) === "" ? undefined : content;
  const old = oldText === undefined || pyStrip(oldText) === "" ? undefined : pyStrip(oldText);
  switch (action) {
    case "add":
      return text === undefined ? undefined : { content: text, oldText: undefined };
    case "replace":
      return scoring === "reference" || text === undefined ? undefined : { content: text, oldText: old };
    case "remove":
      return scoring === "reference" || old === undefined ? undefined : { content: undefined, oldText: old };
    default:
      return action satisfies never;
  }
}
