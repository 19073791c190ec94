// The model of the conversation: the model object, its window, how its server counts tokens, and its prices. A switch of
// the model, a server that states a smaller window and every reply change it; nothing here is stored in the session.
import type { HermesConfig } from "@hermes-memory/core/internal/config";
import {
  type CachingPolicy,
  cacheTtl,
  cachingPolicy,
  estimateMessages,
  type ModelWindow,
} from "@hermes-memory/core/internal/context";
import type { TextModel } from "@hermes-memory/core/internal/lib";
import type { ResultLimits, TokenUpdate } from "@hermes-memory/core/internal/sessions";
import {
  addUsage,
  type CacheSavings,
  type ChatModel,
  type ContextWindow,
  cacheSavings,
  costOf,
  findPrices,
  isLoopback,
  type MainModel,
  type ModelIdentity,
  type ModelPrices,
  NO_USAGE,
  parseBaseUrl,
  promptTokens,
  resolveContextWindow,
  safeAddress,
  type TextModelOptions,
  TokenCalibration,
  toTextModel,
  type Usage,
} from "../models/index.ts";
import { resultLimits } from "./tools/run-calls.ts";

export type CallCost = {
  readonly costUsd: number | null;
  readonly status: "estimated" | "included" | "unknown";
  readonly source: string;
};

const UNKNOWN_COST: CallCost = { costUsd: null, status: "unknown", source: "none" };

type Settings = {
  readonly home: string;
  readonly config: HermesConfig;
  /** The caller's word on the window of the first model, in tokens. */
  readonly contextLength?: number;
};

type Server = {
  /** Without key or password; "" for a vendor's default address. */
  readonly address: string;
  readonly isOnThisMachine: boolean;
};

export class ModelInUse {
  readonly #settings: Settings;
  #main: MainModel;
  #window: ContextWindow;
  #calibration: TokenCalibration;
  #prices: Promise<ModelPrices | undefined> | undefined;
  /** The window that was known before a server stated a smaller one in this session. */
  #windowBefore: ContextWindow | undefined;
  /** The last request that the server has counted; undefined once the list of messages is another one. */
  #lastSent: { readonly estimate: number; readonly counted: number } | undefined;
  #mostTaken = 0;
  /** The session in which the vendor refused its own earlier reasoning. */
  #withoutReasoningIn: string | undefined;
  #server: Server;
  #caching: CachingPolicy;

  private constructor(
    settings: Settings,
    main: MainModel,
    window: ContextWindow,
    calibration: TokenCalibration,
  ) {
    this.#settings = settings;
    this.#main = main;
    this.#window = window;
    this.#calibration = calibration;
    this.#server = serverAt(main.model.identity.baseUrl);
    this.#caching = cachingPolicy(main.model.identity);
  }

  /** Without the caller's word, asks config, tables and the server for the window. */
  static async open(main: MainModel, settings: Settings): Promise<ModelInUse> {
    const calibration = TokenCalibration.open(settings.home, main.model.identity);
    const { contextLength: tokens } = settings;
    const window: ContextWindow =
      tokens === undefined
        ? await windowOf(main, settings)
        : { tokens, source: "option", isProvisional: false };
    return new ModelInUse(settings, main, window, calibration);
  }

  /** For a background run: later changes of either are not seen by the other. They share the calibration. */
  copy(): ModelInUse {
    const copy = new ModelInUse(this.#settings, this.#main, this.#window, this.#calibration);
    copy.#withoutReasoningIn = this.#withoutReasoningIn;
    return copy;
  }

  /** Another model from the next turn on. */
  async switchTo(main: MainModel): Promise<void> {
    this.#window = await windowOf(main, this.#settings);
    this.#main = main;
    this.#server = serverAt(main.model.identity.baseUrl);
    this.#caching = cachingPolicy(main.model.identity);
    this.#calibration = TokenCalibration.open(this.#settings.home, main.model.identity);
    this.#prices = undefined;
    this.#windowBefore = undefined;
    this.#lastSent = undefined;
    this.#mostTaken = 0;
    this.#withoutReasoningIn = undefined;
  }

  get main(): MainModel {
    return this.#main;
  }
  get chat(): ChatModel {
    return this.#main.model;
  }
  get identity(): ModelIdentity {
    return this.#main.model.identity;
  }
  get address(): string {
    return this.#server.address;
  }
  get isOnThisMachine(): boolean {
    return this.#server.isOnThisMachine;
  }
  get caching(): CachingPolicy {
    return this.#caching;
  }
  get cacheTtl(): "5m" | "1h" {
    return cacheTtl(this.#settings.config.promptCaching.cacheTtl);
  }
  /** How long one tool result may be. */
  get resultLimits(): ResultLimits {
    return resultLimits(this.#settings.config.agent.maxResultChars, this.#window, this.tokenFactor);
  }

  // Counting tokens.

  /** Tokens the model's server counts for each token we estimate; at least 1. */
  get tokenFactor(): number {
    return this.#calibration.factor;
  }
  /** The same as a function: context engines ask for the factor of the moment. */
  readonly currentTokenFactor = (): number => this.tokenFactor;
  /** The tokens that the server is expected to count for an estimate. */
  tokens(estimate: number): number {
    return this.#calibration.tokens(estimate);
  }
  /** The same for a whole request: the server's count of the last one, where this one continues it, and an estimate of the rest. */
  expectedTokens(estimate: number): number {
    const last = this.#lastSent;
    if (last === undefined || estimate < last.estimate) return this.tokens(estimate);
    return last.counted + this.tokens(estimate - last.estimate);
  }
  /** The most tokens the server has taken in one request. */
  get mostTaken(): number {
    return this.#mostTaken;
  }
  /** A server that reports no usage changes nothing but `expectedTokens`. */
  noteReply(estimate: number, usage: Usage | undefined): void {
    const counted = usage === undefined ? 0 : promptTokens(usage);
    this.#lastSent = counted > 0 ? { estimate, counted } : undefined;
    this.#mostTaken = Math.max(this.#mostTaken, counted);
    this.#calibration.observe(estimate, counted);
  }
  /** `counted`: the number in the server's error, where it states one. */
  noteOverflow(estimate: number, counted: number | undefined): void {
    this.#calibration.observeOverflow(estimate, counted);
  }
  /** The list of messages has changed otherwise than at its end. */
  forgetLastSent(): void {
    this.#lastSent = undefined;
  }

  // The window.

  get window(): ContextWindow {
    return this.#window;
  }
  get windowBefore(): ContextWindow | undefined {
    return this.#windowBefore;
  }
  /** In the form that context engines take. */
  get engineWindow(): ModelWindow {
    const { model, provider, baseUrl } = this.identity;
    return { model, contextLength: this.#window.tokens, provider, baseUrl };
  }
  /** The server of this session takes no more than this. */
  useSmallerWindow(tokens: number): void {
    this.#windowBefore ??= this.#window;
    this.#window = { tokens, source: "server", isProvisional: false };
  }
  /** True when another session got the same limit: then the smaller window is kept for later sessions. */
  isWindowConfirmed(tokens: number, sessionId: string): boolean {
    if (!this.#calibration.isStatedTwice(tokens, sessionId)) return false;
    this.#windowBefore = undefined;
    return true;
  }
  /** Back to the window from before `useSmallerWindow`. False when there is none. */
  restoreWindow(): boolean {
    if (this.#windowBefore === undefined) return false;
    this.#window = this.#windowBefore;
    this.#windowBefore = undefined;
    return true;
  }
  /** A server that had not loaded the model when it was asked first is asked once more. True when the window is another one now. */
  async resolveProvisionalWindow(): Promise<boolean> {
    if (!this.#window.isProvisional) return false;
    this.#window = { ...this.#window, isProvisional: false };
    const window = await windowOf(this.#main, this.#settings);
    if (window.source !== "server") return false; // no answer: the first one is better than a guess
    this.#window = { ...window, isProvisional: false };
    return true;
  }

  // Reasoning that the vendor refused.

  leaveOutReasoning(sessionId: string): void {
    this.#withoutReasoningIn = sessionId;
  }
  leavesOutReasoning(sessionId: string): boolean {
    return this.#withoutReasoningIn === sessionId;
  }

  // Prices.

  async costOf(usage: Usage): Promise<CallCost> {
    return priced(usage, await this.#findPrices(), this.identity.provider, this.cacheTtl);
  }
  /** Null before the first call, and for a model without known prices. */
  async savings(calls: readonly Usage[]): Promise<CacheSavings | null> {
    const prices = calls.length === 0 ? undefined : await this.#findPrices();
    return prices === undefined ? null : cacheSavings(calls, prices, this.cacheTtl);
  }
  #findPrices(): Promise<ModelPrices | undefined> {
    const { model, provider } = this.identity;
    const overrides = this.#settings.config.models.prices;
    this.#prices ??= findPrices({ model, provider, overrides }).catch(() => undefined);
    return this.#prices;
  }

  /** For side work such as summaries and titles: always the model of the moment, at this temperature. */
  asTextModel(temperature: number): TextModel {
    return {
      complete: (request) =>
        toTextModel(this.chat, { temperature, ...observedBy(this.#calibration) }).complete(request),
    };
  }
}

function windowOf({ model, chosen }: MainModel, settings: Settings): Promise<ContextWindow> {
  const { model: name, provider, baseUrl } = model.identity;
  return resolveContextWindow({ model: name, provider, baseUrl, apiKey: chosen?.apiKey ?? "" }, settings);
}

function serverAt(baseUrl: string): Server {
  const base = parseBaseUrl(baseUrl);
  return { address: safeAddress(baseUrl), isOnThisMachine: base !== undefined && isLoopback(base) };
}

/** Summary requests are long, so the server's count of them is as good as that of a turn. */
export function observedBy(calibration: TokenCalibration): TextModelOptions {
  return {
    onOutcome: (messages, outcome) => {
      const estimate = estimateMessages(messages);
      if (outcome.ok) {
        const { usage } = outcome.value;
        calibration.observe(estimate, usage === undefined ? 0 : promptTokens(usage));
      } else if (outcome.error.kind === "overflow")
        calibration.observeOverflow(estimate, outcome.error.promptTokens);
    },
  };
}

const LOCAL = new Set(["ollama", "lmstudio", "llamacpp", "vllm"]);

function priced(usage: Usage, prices: ModelPrices | undefined, provider: string, ttl: "5m" | "1h"): CallCost {
  // A model on the user's own machine costs nothing per token, whatever vendors charge for a model of that name.
  if (LOCAL.has(provider) && prices?.source !== "config")
    return { costUsd: 0, status: "included", source: "local" };
  if (prices === undefined) return UNKNOWN_COST;
  const costUsd = costOf(usage, prices.at(promptTokens(usage)), ttl);
  return { costUsd, status: "estimated", source: prices.source };
}

// Usage.

/** The calls of a session so far, as this agent counted them. */
export class UsageTotals {
  calls: readonly Usage[] = [];
  usage: Usage = NO_USAGE;
  costUsd: number | null = null;
  lastCost: CallCost = UNKNOWN_COST;

  get apiCalls(): number {
    return this.calls.length;
  }

  add(usage: Usage, cost: CallCost): void {
    this.calls = [...this.calls, usage];
    this.usage = addUsage(this.usage, usage);
    this.lastCost = cost;
    this.addCost(cost.costUsd);
  }

  /** Also the cost of a delegated task or of a review. */
  addCost(costUsd: number | null): void {
    if (costUsd !== null) this.costUsd = (this.costUsd ?? 0) + costUsd;
  }

  reset(): void {
    Object.assign(this, new UsageTotals());
  }
}

/** The amounts that one call adds to the session's row. */
export function tokenUpdate(usage: Usage, cost: CallCost, { identity, address }: ModelInUse): TokenUpdate {
  return {
    inputTokens: usage.input,
    outputTokens: usage.output,
    cacheReadTokens: usage.cacheRead,
    cacheWriteTokens: usage.cacheWrite,
    reasoningTokens: usage.reasoning,
    apiCallCount: 1,
    estimatedCostUsd: cost.costUsd,
    costStatus: cost.status,
    costSource: cost.source,
    model: identity.model,
    billingProvider: identity.provider,
    billingBaseUrl: address || null,
    billingMode: cost.status === "included" ? "subscription_included" : undefined,
  };
}
