// Models: choosing one, talking to it, what calls used and cost, and how large its context window is.
export { classifyFailure } from "./access/failures.ts";
export {
  apiAddress,
  fromSdkModel,
  type OpenModelOptions,
  openModel,
  type SdkModelOptions,
} from "./access/open-model.ts";
export { isLoopback, parseBaseUrl, safeAddress } from "./base-url.ts";
export {
  type ApiMode,
  type ChatModel,
  callModel,
  type FinishReason,
  type GivenReply,
  type ModelDelta,
  type ModelFailure,
  type ModelFailureKind,
  type ModelIdentity,
  type ModelReply,
  type ModelRequest,
  type Retry,
  retryWaitMs,
  type TextModelOptions,
  toTextModel,
} from "./chat.ts";
export {
  type AuxiliaryTask,
  auxiliaryModel,
  curatorModel,
  type MainModel,
} from "./choice/auxiliary-model.ts";
export type { ChosenModel, ModelChoiceError, ModelSelection } from "./choice/choose-model.ts";
export { type ChoiceSources, chooseModel } from "./choice/choose-model.ts";
export { type KnownProvider, knownProviders } from "./choice/providers.ts";
export { limitFromError } from "./context-window/error-limit.ts";
export {
  type ContextWindow,
  resolveContextWindow,
  type WindowOptions,
  type WindowQuestion,
  type WindowSource,
} from "./context-window/resolve.ts";
export { rememberWindow, windowCachePath } from "./context-window/window-cache.ts";
export {
  type CacheSavings,
  cacheSavings,
  costOf,
  findPrices,
  frozenSnapshotSavings,
  type ModelPrices,
  type PriceOverride,
  type PriceQuestion,
  type Prices,
} from "./cost.ts";
export { isPlausibleWindow } from "./json-fields.ts";
export {
  findLocalServers,
  type LocalServer,
  type LocalServerKind,
  type LocalServerOptions,
} from "./local-servers.ts";
export {
  addUsage,
  calibrationPath,
  NO_USAGE,
  normalizeUsage,
  promptTokens,
  TokenCalibration,
  totalTokens,
  type Usage,
  type Wire,
} from "./usage.ts";
