// Models: what a call used and cost, and how much fits into a window.
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
