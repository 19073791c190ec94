// The context engine of an agent: a built-in one, or a plugin behind a guard.
import {
  type CompressOptions,
  type CompressOutcome,
  ContextCompressor,
  type ContextEngine,
  compressorSettings,
  type EngineStatus,
  estimateMessages,
  givenEngine,
  LosslessEngine,
  losslessSettings,
  type ModelWindow,
  type Notice,
  type ResponseUsage,
  type SelectedEngine,
  type SessionStartOptions,
  selectEngine,
} from "@hermes-memory/core/internal/context";
import { describeCause, HermesError, isRecord } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { isMessage, type Message } from "@hermes-memory/core/internal/message";
import { runForeign } from "@hermes-memory/core/internal/providers";
import { scopeOfUser } from "@hermes-memory/core/internal/sessions";
import { RESERVED_COMMANDS } from "../commands/slash-commands.ts";
import type { AgentParts } from "../parts.ts";
import type { SummaryModels } from "./side-models.ts";

type EngineInput = Pick<AgentParts, "home" | "config" | "model" | "store" | "user" | "log" | "warn"> & {
  readonly summaries: SummaryModels;
  readonly sessionId: string;
  /** Of the caller, checked. Undefined: config selects. */
  readonly given: ContextEngine | undefined;
};

/** `selected`: with the engine's own tools and commands. `engine`: as the agent calls it. */
export type OpenedEngine = { readonly selected: SelectedEngine; readonly engine: ContextEngine };

export async function openEngine(input: EngineInput): Promise<OpenedEngine> {
  const selected = input.given === undefined ? await fromConfig(input) : await fromCaller(input.given, input);
  const engine =
    selected.source === "plugin" ? new GuardedEngine(selected.engine, input.log) : selected.engine;
  return { selected, engine };
}

/** The caller chose it, so no other one takes its place. */
async function fromCaller(given: ContextEngine, { model }: EngineInput): Promise<SelectedEngine> {
  const selected = await givenEngine(given, model.engineWindow);
  if (selected.ok) return selected.value;
  throw new HermesError(
    "bad-option",
    `The context engine '${given.name}' cannot be used: ${selected.error}`,
    {
      hint: "Repair it, or leave the option contextEngine out for the one that config selects.",
    },
  );
}

async function fromConfig(input: EngineInput): Promise<SelectedEngine> {
  const { home, config, model, summaries, store, sessionId, user, log } = input;
  const tokenFactor = model.currentTokenFactor;
  const contextLength = model.window.tokens;
  const selected = await selectEngine(config, {
    home,
    window: model.engineWindow,
    builtIn: {
      compressor: () =>
        new ContextCompressor({
          ...compressorSettings(config, contextLength),
          ...summaries,
          tokenFactor,
          timeZone: config.timezone || undefined,
        }),
      lcm:
        store === undefined
          ? undefined
          : () =>
              new LosslessEngine({
                ...losslessSettings(config),
                ...summaries,
                tokenFactor,
                contextLength,
                store,
                sessionId,
                ...scopeOfUser(user),
              }),
    },
    summarizer: summaries.summarizer,
    reservedCommands: RESERVED_COMMANDS,
    onStray: (cause) => log.warn("The context engine left work behind that failed", { cause }),
  });
  if (selected.warning !== undefined) input.warn(selected.warning);
  for (const remark of selected.remarks) log.warn(remark);
  return selected;
}

/** A slow model takes minutes for the summary of a long conversation. */
const COMPRESS_MS = 600_000;
const HOOK_MS = 10_000;

type Numbers = "lastPromptTokens" | "lastCompletionTokens" | "lastTotalTokens" | "thresholdTokens";

/**
 * A plugin's engine that cannot break a turn: its exceptions are logged, its answers are checked, and an interrupt does not wait for
 * it.
 */
export class GuardedEngine implements ContextEngine {
  readonly name: string;
  readonly #engine: ContextEngine;
  readonly #log: Logger;
  readonly #told = new Set<string>();

  constructor(engine: ContextEngine, log: Logger) {
    this.#engine = engine;
    this.#log = log;
    this.name = engine.name;
  }

  get lastPromptTokens(): number {
    return this.#number("lastPromptTokens");
  }
  get lastCompletionTokens(): number {
    return this.#number("lastCompletionTokens");
  }
  get lastTotalTokens(): number {
    return this.#number("lastTotalTokens");
  }
  get thresholdTokens(): number {
    return this.#number("thresholdTokens");
  }
  get contextLength(): number {
    return this.#number("contextLength");
  }
  get compressionCount(): number {
    return this.#number("compressionCount");
  }

  updateFromResponse(usage: ResponseUsage): void {
    this.#call("updateFromResponse", (engine) => engine.updateFromResponse(usage));
  }
  shouldCompress(promptTokens?: number): boolean {
    return this.#call("shouldCompress", (engine) => engine.shouldCompress(promptTokens)) === true;
  }
  shouldDeferPreflightToRealUsage(roughTokens: number): boolean {
    return (
      this.#call("shouldDeferPreflightToRealUsage", (engine) =>
        engine.shouldDeferPreflightToRealUsage?.(roughTokens),
      ) === true
    );
  }
  hasContentToCompress(messages: readonly Message[]): boolean {
    return (
      this.#call("hasContentToCompress", (engine) => engine.hasContentToCompress?.([...messages])) !== false
    );
  }
  onCompacted(roughTokens: number): void {
    this.#call("onCompacted", (engine) => engine.onCompacted?.(roughTokens));
  }
  onSessionReset(): void {
    this.#call("onSessionReset", (engine) => engine.onSessionReset?.());
  }
  updateModel(model: ModelWindow): void {
    this.#call("updateModel", (engine) => engine.updateModel?.(model));
  }
  onSessionStart(sessionId: string, options?: SessionStartOptions): Promise<void> {
    return this.#hook("onSessionStart", (engine) => engine.onSessionStart?.(sessionId, options));
  }
  onSessionEnd(sessionId: string, messages: readonly Message[]): Promise<void> {
    return this.#hook("onSessionEnd", (engine) => engine.onSessionEnd?.(sessionId, [...messages]));
  }

  async compress(messages: readonly Message[], options: CompressOptions = {}): Promise<CompressOutcome> {
    const { signal } = options;
    signal?.throwIfAborted();
    const stopped = Promise.withResolvers<never>();
    const stop = (): void => stopped.reject(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const answer = await Promise.race([
        runForeign<unknown>({ timeoutMs: COMPRESS_MS }, () => this.#engine.compress([...messages], options)),
        stopped.promise,
      ]);
      signal?.throwIfAborted();
      if (!answer.ok) return this.#unable(messages, answer.error.message);
      return readOutcome(answer.value) ?? this.#unable(messages, "gave back no usable list of messages");
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  getStatus(): EngineStatus {
    const used = Math.max(0, this.lastPromptTokens);
    return {
      last_prompt_tokens: used,
      threshold_tokens: this.thresholdTokens,
      context_length: this.contextLength,
      usage_percent: this.contextLength > 0 ? Math.min(100, (used / this.contextLength) * 100) : 0,
      compression_count: this.compressionCount,
    };
  }

  #unable(messages: readonly Message[], why: string): CompressOutcome {
    const text = `The conversation was not compacted, because the context engine '${this.name}' ${why}. Set context.engine to compressor to use the built-in one.`;
    const tokens = estimateMessages(messages);
    return {
      kind: "aborted",
      messages,
      leftOut: [],
      prunedResults: 0,
      tokensBefore: tokens,
      tokensAfter: tokens,
      notices: [{ cause: `engine-failed:${why}`, text }],
    };
  }

  #number(member: Numbers | "contextLength" | "compressionCount"): number {
    const value: unknown = this.#call(member, (engine) => engine[member]);
    return typeof value === "number" && Number.isFinite(value) ? value : 0;
  }

  #call<T>(member: string, use: (engine: ContextEngine) => T): T | undefined {
    try {
      return use(this.#engine);
    } catch (cause) {
      this.#tell(member, `failed: ${describeCause(cause)}`);
      return undefined;
    }
  }

  async #hook(member: string, use: (engine: ContextEngine) => void | Promise<void>): Promise<void> {
    const answer = await runForeign({ timeoutMs: HOOK_MS }, () => use(this.#engine));
    if (!answer.ok) this.#tell(member, answer.error.message);
  }

  /** Once for each member: most are called at every step. */
  #tell(member: string, what: string): void {
    if (this.#told.has(member)) return;
    this.#told.add(member);
    this.#log.warn(`'${member}' of the context engine '${this.name}' ${what}`);
  }
}

const KINDS: readonly string[] = ["compacted", "pruned", "unchanged", "aborted"];

/** Undefined when the list cannot be used. */
function readOutcome(value: unknown): CompressOutcome | undefined {
  if (!isRecord(value) || !KINDS.includes(String(value.kind)) || !isList(value.messages)) return undefined;
  const notices: readonly unknown[] = Array.isArray(value.notices) ? value.notices : [];
  const leftOut = Array.isArray(value.leftOut) ? value.leftOut : [];
  return { ...(value as CompressOutcome), leftOut, notices: notices.filter(isNotice) };
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

function isNotice(value: unknown): value is Notice {
  return isRecord(value) && typeof value.cause === "string" && typeof value.text === "string";
}
