// The system prompt of a session: built once, kept byte for byte, stored, and taken up again when the session goes on.
import type { HermesConfig } from "@hermes-memory/core/config";
import { MEMORY_TARGETS, type MemoryStore, type MemoryTarget } from "@hermes-memory/core/curated";
import { type Clock, describeCause } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import {
  buildSystemPrompt,
  chooseTimeZone,
  PROMPT_VERSION,
  promptHash,
  readPromptFiles,
  restoreDecision,
  type StoredPrompt,
} from "@hermes-memory/core/prompt";
import type { MemoryManager } from "@hermes-memory/core/providers";
import type { SessionStore } from "@hermes-memory/core/sessions";
import type { ModelIdentity } from "../../models/index.ts";

export type PromptSources = {
  readonly home: string;
  readonly config: HermesConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly profile: { readonly name: string; readonly root: string };
  readonly platform: string;
  readonly platformHint?: string | undefined;
  /** Where context files are looked for. */
  readonly directory: string;
  readonly skipContextFiles: boolean;
  readonly systemMessage?: string | undefined;
  readonly passSessionId: boolean;
  readonly memory: MemoryStore | undefined;
  readonly manager: MemoryManager | undefined;
  readonly store: SessionStore | undefined;
  readonly tools: () => readonly string[];
  /** Read whenever a prompt is built. */
  readonly skillsIndex: () => Promise<string | undefined>;
  readonly model: () => ModelIdentity;
  readonly warn: (cause: string, text: string) => void;
};

export type OwnPrompt = { readonly text: string; readonly version: number };

export type KeptPrompt = {
  readonly text: string | undefined;
  readonly isUnsaved: boolean;
  readonly memoryBlocks: ReadonlyMap<MemoryTarget, string> | undefined;
};

export class PromptKeeper {
  readonly #sources: PromptSources;
  #text: string | undefined;
  /** The database was away when it was built. */
  #isUnsaved = false;
  /** Blocks of the frozen snapshot, kept over a switch of the model. */
  #memoryBlocks: ReadonlyMap<MemoryTarget, string> | undefined;

  constructor(sources: PromptSources) {
    this.#sources = sources;
  }

  /** Undefined before the first turn. */
  get text(): string | undefined {
    return this.#text;
  }

  /** The prompt of this turn: the one at hand, the stored one, or a new one, which is then stored. `isFresh`: it was built now. */
  async ensure(
    sessionId: string,
    hasHistory: boolean,
  ): Promise<{ readonly text: string; readonly isFresh: boolean }> {
    if (this.#text !== undefined) {
      if (this.#isUnsaved) await this.#save(sessionId, this.#text);
      return { text: this.#text, isFresh: false };
    }
    const { config, log } = this.#sources;
    const { model, provider } = this.#sources.model();
    const decision = restoreDecision({
      hasHistory,
      stored: hasHistory ? await this.#stored(sessionId) : { kind: "missing" },
      model,
      provider,
      refreshOnResume: config.memory.refreshOnResume,
    });
    if (decision.action === "reuse") {
      this.#text = decision.text;
      // Frozen now, so that a switch of the model brings in nothing that this conversation adds from here on.
      this.#memoryBlocks ??= await this.#readMemory();
      return { text: decision.text, isFresh: false };
    }
    if (decision.level === "info")
      log.info(`The system prompt is built anew: ${decision.reason}`, { sessionId });
    if (decision.level === "warn")
      log.warn(`The system prompt is built anew: ${decision.reason}`, { sessionId });
    const text = await this.build(sessionId);
    await this.#save(sessionId, text);
    return { text, isFresh: true };
  }

  /** A new one from what is on disk now. Not stored: whoever rotates a session stores it with the rest. */
  async build(sessionId: string): Promise<string> {
    this.#memoryBlocks ??= await this.#readMemory();
    this.#text = await this.#compose(sessionId, this.#memoryBlocks);
    return this.#text;
  }

  /** The next turn builds or restores it, with memory as it is then. */
  drop(): void {
    this.#text = undefined;
    this.#isUnsaved = false;
    this.#memoryBlocks = undefined;
  }

  /** Another model, the same memory: the snapshot stays frozen. */
  dropKeepingMemory(): void {
    this.#text = undefined;
  }

  /** What the transaction of a rotation stores. */
  get own(): OwnPrompt | undefined {
    return this.#text === undefined ? undefined : { text: this.#text, version: PROMPT_VERSION };
  }

  /** For `restore`. */
  get kept(): KeptPrompt {
    return { text: this.#text, isUnsaved: this.#isUnsaved, memoryBlocks: this.#memoryBlocks };
  }

  /** Takes back what `build` made, when the rotation it was made for failed: also the memory it was made from. */
  restore({ text, isUnsaved, memoryBlocks }: KeptPrompt): void {
    this.#text = text;
    this.#isUnsaved = isUnsaved;
    this.#memoryBlocks = memoryBlocks;
  }

  async #readMemory(): Promise<ReadonlyMap<MemoryTarget, string>> {
    const { memory } = this.#sources;
    if (memory === undefined) return new Map();
    await memory.load();
    for (const warning of memory.warnings) this.#sources.warn(`memory:${warning}`, warning);
    return new Map(
      MEMORY_TARGETS.flatMap((target) => {
        const block = memory.isEnabled(target) ? memory.renderSnapshot(target) : undefined;
        return block === undefined ? [] : [[target, block] as const];
      }),
    );
  }

  async #compose(sessionId: string, blocks: ReadonlyMap<MemoryTarget, string>): Promise<string> {
    const { home, config, env, directory, skipContextFiles, manager, clock } = this.#sources;
    const files = readPromptFiles({
      home,
      directory,
      maxChars: config.contextFileMaxChars,
      skipContextFiles,
    });
    const zone = chooseTimeZone({ env, configured: config.timezone });
    for (const { path, message } of files.warnings) this.#sources.warn(`prompt:${path}`, message);
    for (const warning of zone.warnings) this.#sources.warn("timezone", warning);
    const { model, provider } = this.#sources.model();
    return buildSystemPrompt({
      identity: files.identity,
      tools: this.#sources.tools(),
      skillsIndex: await this.#skillsIndex(),
      model,
      provider,
      taskCompletionGuidance: config.agent.taskCompletionGuidance,
      toolUseEnforcement: config.agent.toolUseEnforcement,
      profile: this.#sources.profile,
      platform: this.#sources.platform,
      platformHint: this.#sources.platformHint,
      systemMessage: this.#sources.systemMessage,
      contextFiles: files.contextFiles,
      memoryBlock: blocks.get("memory"),
      userBlock: blocks.get("user"),
      providerBlock: (await manager?.buildSystemPrompt()) ?? "",
      date: { now: clock.now(), timeZone: zone.timeZone },
      ...(this.#sources.passSessionId ? { sessionId } : {}),
    }).text;
  }

  /** Skills are a help; without their list the prompt is still one. */
  async #skillsIndex(): Promise<string | undefined> {
    try {
      return await this.#sources.skillsIndex();
    } catch (cause) {
      this.#sources.log.warn(`The skills could not be listed for the prompt: ${describeCause(cause)}`);
      return undefined;
    }
  }

  async #stored(sessionId: string): Promise<StoredPrompt> {
    const { store } = this.#sources;
    if (store === undefined) return { kind: "missing" };
    try {
      const own = await store.getOwnPrompt(sessionId);
      if (own === null) {
        const row = await store.getSession(sessionId);
        // What another program stored is not ours to use, but it tells why there is none of ours.
        return row === null
          ? { kind: "missing" }
          : { kind: "stored", text: row.system_prompt, mark: undefined };
      }
      return {
        kind: "stored",
        text: own.text,
        mark: { version: own.version, hash: promptHash(own.text) },
      };
    } catch {
      return { kind: "unreadable" };
    }
  }

  async #save(sessionId: string, text: string): Promise<void> {
    const { store, log } = this.#sources;
    try {
      this.#isUnsaved = true;
      await store?.saveOwnPrompt(sessionId, text, PROMPT_VERSION);
      this.#isUnsaved = false;
    } catch (cause) {
      log.warn(`The system prompt could not be stored: ${describeCause(cause)}`, { sessionId });
    }
  }
}
