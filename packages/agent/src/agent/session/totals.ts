// What a session has used and cost so far, as this agent counted it.
import type { ConfiguredPrice } from "@hermes-memory/core/config";
import type { TokenUpdate } from "@hermes-memory/core/sessions";
import {
  addUsage,
  type CacheSavings,
  cacheSavings,
  costOf,
  findPrices,
  type ModelIdentity,
  type ModelPrices,
  NO_USAGE,
  promptTokens,
  safeAddress,
  type Usage,
} from "../../models/index.ts";

type CostStatus = "estimated" | "included" | "unknown";

export type CallCost = {
  readonly costUsd: number | null;
  readonly status: CostStatus;
  readonly source: string;
};

/** What one call adds to the row of the session it was made in. */
export type OwedUsage = { readonly sessionId: string; readonly update: TokenUpdate };

export class Totals {
  readonly #overrides: Readonly<Record<string, ConfiguredPrice>>;
  #prices: Promise<ModelPrices | undefined> | undefined;
  #owed: readonly OwedUsage[] = [];
  #calls: Usage[] = [];
  #usage: Usage = NO_USAGE;
  #costUsd: number | null = null;
  #last: CallCost = { costUsd: null, status: "unknown", source: "none" };

  constructor(overrides: Readonly<Record<string, ConfiguredPrice>>) {
    this.#overrides = overrides;
  }

  get usage(): Usage {
    return this.#usage;
  }
  get apiCalls(): number {
    return this.#calls.length;
  }
  get costUsd(): number | null {
    return this.#costUsd;
  }
  get lastCost(): CallCost {
    return this.#last;
  }

  /** Not in the database yet. */
  get owed(): readonly OwedUsage[] {
    return this.#owed;
  }

  owe(sessionId: string, update: TokenUpdate): void {
    this.#owed = [...this.#owed, { sessionId, update }];
  }

  /** Hands over what is owed, oldest first; rejects with the first that cannot be stored, which is then owed still. */
  async pay(store: (sessionId: string, update: TokenUpdate) => Promise<void>): Promise<void> {
    for (let [first, ...rest] = this.#owed; first !== undefined; [first, ...rest] = this.#owed) {
      this.#owed = rest; // before the wait: nobody else is to store it as well
      try {
        await store(first.sessionId, first.update);
      } catch (cause) {
        this.#owed = [first, ...this.#owed];
        throw cause;
      }
    }
  }

  /** Another model has other prices. */
  forgetPrices(): void {
    this.#prices = undefined;
  }

  reset(): void {
    this.#calls = [];
    this.#usage = NO_USAGE;
    this.#costUsd = null;
    this.#last = { costUsd: null, status: "unknown", source: "none" };
  }

  async add(usage: Usage, model: ModelIdentity, ttl: "5m" | "1h"): Promise<CallCost> {
    const prices = await this.#pricesOf(model);
    this.#calls.push(usage);
    this.#usage = addUsage(this.#usage, usage);
    this.#last = priced(usage, prices, model, ttl);
    if (this.#last.costUsd !== null) this.#costUsd = (this.#costUsd ?? 0) + this.#last.costUsd;
    return this.#last;
  }

  /** What a child of this agent cost. */
  addForeignCost(costUsd: number | null): void {
    if (costUsd !== null) this.#costUsd = (this.#costUsd ?? 0) + costUsd;
  }

  /** Null before the first call, and for a model nobody knows the prices of. */
  async savings(model: ModelIdentity, ttl: "5m" | "1h"): Promise<CacheSavings | null> {
    const prices = this.#calls.length === 0 ? undefined : await this.#pricesOf(model);
    return prices === undefined ? null : cacheSavings(this.#calls, prices, ttl);
  }

  #pricesOf({ model, provider }: ModelIdentity): Promise<ModelPrices | undefined> {
    this.#prices ??= findPrices({ model, provider, overrides: this.#overrides }).catch(() => undefined);
    return this.#prices;
  }
}

const LOCAL = new Set(["ollama", "lmstudio", "llamacpp", "vllm"]);

function priced(
  usage: Usage,
  prices: ModelPrices | undefined,
  { provider }: ModelIdentity,
  ttl: "5m" | "1h",
): CallCost {
  // What runs on the user's own machine costs nothing per token, whatever others charge for a model of that name.
  if (LOCAL.has(provider) && prices?.source !== "config")
    return { costUsd: 0, status: "included", source: "local" };
  if (prices === undefined) return { costUsd: null, status: "unknown", source: "none" };
  const costUsd = costOf(usage, prices.at(promptTokens(usage)), ttl);
  return { costUsd, status: "estimated", source: prices.source };
}

/** What one call adds to the session's row. */
export function tokenUpdate(usage: Usage, cost: CallCost, model: ModelIdentity): TokenUpdate {
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
    model: model.model,
    billingProvider: model.provider,
    billingBaseUrl: safeAddress(model.baseUrl) || null,
    ...(cost.status === "included" ? { billingMode: "subscription_included" } : {}),
  };
}
