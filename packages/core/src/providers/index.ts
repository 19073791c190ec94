// External memory: the contract, the manager, the fence, finding and setting up providers. The code of bundled providers and plugins
// is loaded only when it is needed.

export { flattenContent } from "../message/index.ts";
export {
  type CallOptions,
  type ConfigField,
  type DelegationOptions,
  type ForgetOptions,
  type ForgetReport,
  type InitializeOptions,
  type MemoryProvider,
  type MemoryWriteMetadata,
  type MemoryWriteReport,
  type PostSetupOptions,
  PROVIDER_CONTRACT,
  type RecallOptions,
  type RecallStatus,
  type SelfTestReport,
  type SessionSwitchOptions,
  type SyncOptions,
  type TurnStartOptions,
} from "./contract.ts";
export {
  type BundledProvider,
  type BundledProviders,
  bundledProviders,
  ifReadable,
  type KnownEntry,
  type LostOutbox,
  type StoreUser,
  type UserTrace,
  unreachableStores,
} from "./discovery/bundled.ts";
export {
  describeProviderCommands,
  loadProviderCommands,
} from "./discovery/cli-commands.ts";
export type { FoundProvider, FoundProviders } from "./discovery/find-providers.ts";
export {
  activeProviderName,
  findProvider,
  findProviders,
  isProviderName,
  pluginsDirectory,
} from "./discovery/find-providers.ts";
export type { Availability, LoadedProvider, LoadFailure } from "./discovery/load-provider.ts";
export {
  backupPathsOf,
  checkAvailability,
  checkProvider,
  importFile,
  isOwnFault,
  loadProvider,
} from "./discovery/load-provider.ts";
export {
  EMPTY_MANIFEST,
  type EntryFile,
  findEntryFile,
  type PluginManifest,
  readManifest,
} from "./discovery/plugin-files.ts";
export { AnswerScrubber, scrubAnswer } from "./fence/answer-scrubber.ts";
export { EchoScrubber } from "./fence/echo-scrubber.ts";
export { buildMemoryContextBlock, injectRecall, StreamingContextScrubber } from "./fence/recall-fence.ts";
export { Breaker, LOST_CALL_MS } from "./kit/breaker.ts";
export { type ChildEnd, runChild } from "./kit/child-process.ts";
export { describeForeign, oneLine, runForeign } from "./kit/foreign-code.ts";
export { type JobOutcome, SerialQueue } from "./kit/serial-queue.ts";
export {
  checkAnswer,
  readBoolean,
  readNumber,
  readSettings,
  readText,
  writeSettings,
} from "./kit/settings.ts";
export {
  type Activation,
  type ActivationRequest,
  activateProvider,
  eraseInProvider,
  type Forgot,
  forgetInProvider,
  type Mirrored,
  mirrorWrites,
  type Scrubbed,
  scrubInProvider,
} from "./manager/activate.ts";
export type { HookCounts, ProviderHealth } from "./manager/health.ts";
export { readProviderHealth, recordAvailability, recordConnection } from "./manager/health.ts";
export { MemoryManager } from "./manager/manager.ts";
export { type WriteProvenance, writeMetadata } from "./manager/memory-writes.ts";
export {
  type Checkpoint,
  checkpointMissing,
  type FinishedTurn,
  type InitializeAllOptions,
  type MemoryManagerOptions,
  type SwitchOptions,
} from "./manager/options.ts";
export { blockedReasons, findingsIn, toPromptText } from "./manager/provider-text.ts";
export {
  type CuratedEntry,
  notYetSent,
  type Uploaded,
  type UploadRequest,
  uploadEntries,
} from "./manager/upload.ts";
export { type ConnectionCheck, inspectConnection } from "./setup/connection.ts";
export {
  checkExternal,
  installPackages,
  missingPackages,
} from "./setup/dependencies.ts";
export {
  type Answers,
  collectAnswers,
  defaultAnswer,
  type Existing,
  fieldsOf,
  isAsked,
  labelOf,
  maskSecret,
  preselected,
  setupHint,
  splitAnswers,
  variableOf,
} from "./setup/questions.ts";
export {
  currentSettings,
  deactivate,
  readExisting,
  type SetupOutcome,
  type SetupWrite,
  saveSetup,
} from "./setup/saved-setup.ts";
