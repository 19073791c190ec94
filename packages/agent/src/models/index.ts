// Models: which one, how to talk to it, what a call used and cost, and how much fits into a window.
export { classifyFailure } from "./access/failures.ts";
export { type OpenModelOptions, openModel } from "./access/open-model.ts";
export { fromSdkModel, type SdkModelOptions } from "./access/sdk-model.ts";
export { calibrationPath, TokenCalibration } from "./calibration.ts";
export type {
  ApiMode,
  ChatModel,
  FinishReason,
  GivenReply,
  ModelDelta,
  ModelFailure,
  ModelFailureKind,
  ModelIdentity,
  ModelReply,
  ModelRequest,
} from "./chat.ts";
export { type ChoiceSources, chooseModel } from "./choice/choose.ts";
export { type KnownProvider, knownProviders } from "./choice/providers.ts";
export type { ChosenModel, ModelChoiceError, ModelSelection } from "./choice-types.ts";
export { isLoopback, parseBaseUrl, safeAddress } from "./context-window/base-url.ts";
export { rememberWindow, windowCachePath } from "./context-window/cache.ts";
export { limitFromError } from "./context-window/error-limit.ts";
export {
  type ContextWindow,
  resolveContextWindow,
  type WindowOptions,
  type WindowQuestion,
  type WindowSource,
} from "./context-window/resolve.ts";
export {
  findLocalServers,
  type LocalServer,
  type LocalServerKind,
  type LocalServerOptions,
} from "./local-servers.ts";
export {
  costOf,
  findPrices,
  type ModelPrices,
  type PriceOverride,
  type PriceQuestion,
  type Prices,
} from "./pricing.ts";
export { callModel, type Retry, retryWaitMs } from "./retry.ts";
export { type CacheSavings, cacheSavings, frozenSnapshotSavings } from "./savings.ts";
export {
  type AuxiliaryTask,
  auxiliaryModel,
  type MainModel,
  type TextModelOptions,
  toTextModel,
} from "./text-model.ts";
export {
  addUsage,
  NO_USAGE,
  normalizeUsage,
  promptTokens,
  totalTokens,
  type Usage,
  type Wire,
} from "./usage.ts";
