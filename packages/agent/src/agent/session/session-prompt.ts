// The system prompt of a session: built once, unchanged for the whole session so that the model's cache serves it, stored, and
// restored when the session is resumed.
import { MEMORY_TARGETS, type MemoryTarget } from "@hermes-memory/core/internal/curated";
import { describeCause, pyStrip } from "@hermes-memory/core/internal/lib";
import {
  buildSystemPrompt,
  chooseTimeZone,
  PROMPT_VERSION,
  promptHash,
  readPromptFiles,
  restoreDecision,
  type StoredPrompt,
} from "@hermes-memory/core/internal/prompt";
import { buildSkillsIndex } from "@hermes-memory/core/internal/skills";
import type { Tool, ToolTable } from "@hermes-memory/core/internal/tools";
import type { AgentParts } from "../parts.ts";
import { isOfClient } from "../tools/run-calls.ts";

export type PromptSources = Pick<
  AgentParts,
  | ("home" | "config" | "env" | "clock" | "log" | "platform")
  | ("memory" | "manager" | "store" | "skills" | "model" | "events")
> & {
  /** Of the owner's agent only. */
  readonly profile: { readonly name: string; readonly root: string } | undefined;
  readonly platformHint?: string | undefined;
  /** Searched for context files. */
  readonly directory: string;
  readonly skipContextFiles: boolean;
  /** Read SOUL.md also where context files are skipped. */
  readonly loadSoulIdentity: boolean;
  /** Instead of SOUL.md. */
  readonly identity?: string | undefined;
  readonly systemMessage?: string | undefined;
  readonly passSessionId: boolean;
};

export class SessionPrompt {
  readonly #sources: PromptSources;
  /** Of the caller of the newest turn. Undefined: it gave none, and those of the stored prompt stay valid. */
  #instructions: string | undefined;
  #text: string | undefined;
  /** The database could not be written when the prompt was built. */
  #isUnsaved = false;
  /** The memory blocks of the prompt, read when the session began; a switch of the model keeps them. */
  #memoryBlocks: ReadonlyMap<MemoryTarget, string> | undefined;

  constructor(sources: PromptSources) {
    this.#sources = sources;
  }

  /** Undefined before the first turn. */
  get text(): string | undefined {
    return this.#text;
  }

  /** For the requests, behind the prompt: what the caller's instructions are now, if the prompt has others; "" if it has the same. */
  get changedInstructions(): string {
    const [text, now] = [this.#text, this.#instructions];
    if (text === undefined || now === undefined) return "";
    const hasOthers = text.includes(OPENING);
    if (now === "") return hasOthers ? WITHDRAWN : "";
    const block = instructionBlock(now);
    if (text.includes(block)) return "";
    return hasOthers ? `${REPLACED}${block}` : block;
  }

  /** The prompt of this turn: the present one, the stored one, or a new one, which is then stored. `isFresh`: it was built now. */
  async ensure(
    sessionId: string,
    hasHistory: boolean,
    tools: ToolTable,
    { instructions }: { readonly instructions?: string | undefined } = {},
  ): Promise<{ readonly text: string; readonly isFresh: boolean }> {
    if (instructions !== undefined) this.#instructions = pyStrip(instructions);
    if (this.#text !== undefined) {
      if (this.#isUnsaved) await this.#save(sessionId, this.#text);
      return { text: this.#text, isFresh: false };
    }
    const { config, log } = this.#sources;
    const { model, provider } = this.#sources.model.identity;
    const decision = restoreDecision({
      hasHistory,
      stored: hasHistory ? await this.#stored(sessionId) : { kind: "missing" },
      model,
      provider,
      refreshOnResume: config.memory.refreshOnResume,
    });
    if (decision.action === "reuse") {
      this.#text = decision.text;
      // Read now, so that a prompt built after a switch of the model has no memory that this conversation adds from here on.
      this.#memoryBlocks ??= await this.#readMemory();
      return { text: decision.text, isFresh: false };
    }
    if (decision.level !== "none")
      log[decision.level](`The system prompt is built anew: ${decision.reason}`, { sessionId });
    const text = await this.build(sessionId, tools);
    await this.#save(sessionId, text);
    return { text, isFresh: true };
  }

  /** Builds a new prompt from the files on disk. Does not store it: a compaction stores it with the new session. */
  async build(sessionId: string, tools: ToolTable): Promise<string> {
    this.#memoryBlocks ??= await this.#readMemory();
    this.#text = await this.#compose(sessionId, tools, this.#memoryBlocks);
    return this.#text;
  }

  /** The next turn builds or restores the prompt, with memory as it is then. */
  drop(): void {
    this.#text = undefined;
    this.#isUnsaved = false;
    this.#memoryBlocks = undefined;
  }

  /** The same for another model in the same session: the memory blocks are kept. */
  dropKeepingMemory(): void {
    this.#text = undefined;
  }

  /** As it is stored with the continuation of a compacted session. */
  get own() {
    return this.#text === undefined ? undefined : { text: this.#text, version: PROMPT_VERSION };
  }

  /** For `restore`. */
  get kept() {
    return { text: this.#text, isUnsaved: this.#isUnsaved, memoryBlocks: this.#memoryBlocks };
  }

  /** Undoes `build`, after the compaction that it was made for failed: also the memory that it read. */
  restore({ text, isUnsaved, memoryBlocks }: SessionPrompt["kept"]): void {
    this.#text = text;
    this.#isUnsaved = isUnsaved;
    this.#memoryBlocks = memoryBlocks;
  }

  async #readMemory(): Promise<ReadonlyMap<MemoryTarget, string>> {
    const { memory } = this.#sources;
    if (memory === undefined) return new Map();
    await memory.load();
    for (const warning of memory.warnings) this.#sources.events.notice("warn", `memory:${warning}`, warning);
    return new Map(
      MEMORY_TARGETS.flatMap((target) => {
        const block = memory.isEnabled(target) ? memory.renderSnapshot(target) : undefined;
        return block === undefined ? [] : [[target, block] as const];
      }),
    );
  }

  async #compose(
    sessionId: string,
    tools: ToolTable,
    blocks: ReadonlyMap<MemoryTarget, string>,
  ): Promise<string> {
    // Those of a client differ from request to request, and the prompt must not.
    const own = tools.tools.filter((tool) => !isOfClient(tool));
    const { home, config, env, directory, skipContextFiles, identity, manager, clock } = this.#sources;
    const files = readPromptFiles({
      home,
      directory,
      maxChars: config.contextFileMaxChars,
      skipContextFiles,
      loadSoulIdentity: this.#sources.loadSoulIdentity,
    });
    const zone = chooseTimeZone({ env, configured: config.timezone });
    for (const { path, message } of files.warnings)
      this.#sources.events.notice("warn", `prompt:${path}`, message);
    for (const warning of zone.warnings) this.#sources.events.notice("warn", "timezone", warning);
    const { model, provider } = this.#sources.model.identity;
    return buildSystemPrompt({
      identity: identity ?? files.identity,
      isEmbedded: identity !== undefined,
      tools: own.map(({ name }) => name).sort(),
      skillsIndex: await this.#skillsIndex(own),
      model,
      provider,
      taskCompletionGuidance: config.agent.taskCompletionGuidance,
      toolUseEnforcement: config.agent.toolUseEnforcement,
      profile: this.#sources.profile,
      platform: this.#sources.platform,
      platformHint: this.#sources.platformHint,
      systemMessage: withInstructions(this.#sources.systemMessage, this.#instructions),
      contextFiles: files.contextFiles,
      memoryBlock: blocks.get("memory"),
      userBlock: blocks.get("user"),
      providerBlock: (await manager?.buildSystemPrompt()) ?? "",
      date: { now: clock.now(), timeZone: zone.timeZone },
      sessionId: this.#sources.passSessionId ? sessionId : undefined,
    }).text;
  }

  /** A prompt without the list of skills is better than none. */
  async #skillsIndex(tools: readonly Tool[]): Promise<string | undefined> {
    try {
      return await buildSkillsIndex(this.#sources.skills, {
        available: {
          tools: tools.map(({ name }) => name),
          toolsets: tools.map(({ policy }) => policy.toolset),
        },
      });
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
        // A prompt that another program stored is not used, but it explains why there is none of ours.
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

// Instructions of whoever asks for a turn, in a block of their own: a stored prompt then tells which ones it has.

const OPENING = "<client-instructions>\n";
const REPLACED = "The client's instructions have changed. These replace the ones above:\n";
const WITHDRAWN = "The client's instructions above no longer apply.";

function instructionBlock(text: string): string {
  return `${OPENING}${text}\n</client-instructions>`;
}

function withInstructions(given: string | undefined, instructions = ""): string | undefined {
  if (instructions === "") return given;
  return given === undefined
    ? instructionBlock(instructions)
    : `${given}\n\n${instructionBlock(instructions)}`;
}
