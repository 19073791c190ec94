// A plugin's context engine as the agent uses it. What it throws costs a line in the log and never a turn, what it gives back is
// looked at, and an interrupt does not wait for it.
import type {
  CompressOptions,
  CompressOutcome,
  ContextEngine,
  EngineStatus,
  ModelWindow,
  Notice,
  ResponseUsage,
  SessionStartOptions,
} from "@hermes-memory/core/context";
import { estimateMessages } from "@hermes-memory/core/context";
import { describeCause, isRecord } from "@hermes-memory/core/lib";
import type { Logger } from "@hermes-memory/core/lib/logger";
import { isMessage, type Message } from "@hermes-memory/core/message";
import { runForeign } from "@hermes-memory/core/providers";

/** Summaries of a long conversation by a slow model take minutes. */
const COMPRESS_MS = 600_000;
const HOOK_MS = 10_000;

type Numbers = "lastPromptTokens" | "lastCompletionTokens" | "lastTotalTokens" | "thresholdTokens";

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

  /** Once for each member: it is called at every step. */
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
