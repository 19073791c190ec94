// Models: what a call used and cost, and how much fits into a window.
export { isLoopback, parseBaseUrl } from "./context-window/base-url.ts";
export { type CacheKey, rememberWindow, windowCachePath } from "./context-window/cache.ts";
export { limitFromError } from "./context-window/error-limit.ts";
export {
  type ContextWindow,
  resolveContextWindow,
  type WindowOptions,
  type WindowQuestion,
  type WindowSource,
} from "./context-window/resolve.ts";
export type { ServerKind } from "./context-window/server-answers.ts";
export { DEFAULT_WINDOW } from "./context-window/table.ts";
export {
  costOf,
  findPrices,
  type ModelPrices,
  type PriceOverride,
  type PriceQuestion,
  type Prices,
  writePrice,
} from "./pricing.ts";
export { type CacheSavings, cacheSavings, frozenSnapshotSavings } from "./savings.ts";
export {
  addUsage,
  NO_USAGE,
  normalizeUsage,
  promptTokens,
  totalTokens,
  type Usage,
  type Wire,
} from "./usage.ts";
