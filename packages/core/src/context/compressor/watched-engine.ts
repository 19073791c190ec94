// The half of an engine that watches: what the last replies used, when it is time to compact, what compactions achieved.
// The decisions are in trigger.ts; this keeps their state between calls.
import { ENGINE_CONTRACT, type EngineStatus, type ResponseUsage } from "../engine.ts";
import * as trigger from "./trigger.ts";

export abstract class WatchedEngine {
  readonly contract = ENGINE_CONTRACT;
  #state = trigger.INITIAL_TRIGGER;
  #compressionCount = 0;

  abstract get thresholdTokens(): number;
  abstract get contextLength(): number;

  get lastPromptTokens(): number {
    return this.#state.lastPromptTokens;
  }
  get lastCompletionTokens(): number {
    return this.#state.lastCompletionTokens;
  }
  get lastTotalTokens(): number {
    return this.#state.lastTotalTokens;
  }
  get compressionCount(): number {
    return this.#compressionCount;
  }

  updateFromResponse(usage: ResponseUsage): void {
    this.#state = trigger.afterResponse(this.#state, usage, this.thresholdTokens);
  }

  shouldCompress(promptTokens?: number): boolean {
    return trigger.shouldCompress(this.#state, this.thresholdTokens, promptTokens);
  }

  shouldDeferPreflightToRealUsage(roughTokens: number): boolean {
    const { isDeferred, state } = trigger.deferToRealUsage(this.#state, this.thresholdTokens, roughTokens);
    this.#state = state;
    return isDeferred;
  }

  onCompacted(roughTokens: number): void {
    this.#state = trigger.afterCompaction(this.#state, roughTokens);
  }

  onSessionReset(): void {
    this.#state = trigger.INITIAL_TRIGGER;
    this.#compressionCount = 0;
  }

  getStatus(): EngineStatus {
    const used = Math.max(0, this.lastPromptTokens);
    const window = this.contextLength;
    return {
      last_prompt_tokens: used,
      threshold_tokens: this.thresholdTokens,
      context_length: window,
      usage_percent: window > 0 ? Math.min(100, (used / window) * 100) : 0,
      compression_count: this.#compressionCount,
    };
  }

  /** A list was compacted, or nothing was found worth it. */
  protected noteAttempt(kind: "compacted" | "nothing", tokensBefore: number, tokensAfter: number): void {
    if (kind === "compacted") this.#compressionCount += 1;
    this.#state = trigger.afterAttempt(this.#state, tokensBefore, tokensAfter);
  }

  protected noteModelSwitch(): void {
    this.#state = trigger.afterModelSwitch(this.#state);
  }
}
