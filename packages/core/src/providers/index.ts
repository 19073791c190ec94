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
  activeProviderName,
  type BundledProvider,
  type BundledProviders,
  bundledProviders,
  type FoundProvider,
  type FoundProviders,
  findProvider,
  findProviders,
  ifReadable,
  type KnownEntry,
  type LostOutbox,
  type StoreUser,
  type UserTrace,
  unreachableStores,
} from "./discovery/find-providers.ts";
export {
  type Availability,
  backupPathsOf,
  checkAvailability,
  checkProvider,
  describeProviderCommands,
  isOwnFault,
  type LoadedProvider,
  type LoadFailure,
  loadProvider,
  loadProviderCommands,
} from "./discovery/load-provider.ts";
export {
  cannotInspect,
  checkPlugin,
  EMPTY_MANIFEST,
  entryProblem,
  findEntryFile,
  importFile,
  instantiatePlugin,
  isProviderName,
  type PluginKind,
  type PluginManifest,
  PYTHON_ENTRY,
  pluginFolders,
  pluginsDirectory,
  readManifest,
  registrations,
} from "./discovery/plugins.ts";
export { EchoScrubber } from "./fence/echo-scrubber.ts";
export {
  AnswerScrubber,
  buildMemoryContextBlock,
  injectRecall,
  StreamingContextScrubber,
  scrubAnswer,
} from "./fence/recall-fence.ts";
export { Breaker, LOST_CALL_MS } from "./kit/breaker.ts";
export { type ChildEnd, runChild } from "./kit/child-process.ts";
export { describeForeign, oneLine, runForeign } from "./kit/foreign-code.ts";
export { type JobOutcome, SerialQueue } from "./kit/serial-queue.ts";
export {
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
export {
  checkExternal,
  installPackages,
  missingPackages,
} from "./setup/dependencies.ts";
export {
  type Answers,
  type ConnectionCheck,
  checkAnswer,
  collectAnswers,
  currentSettings,
  deactivate,
  defaultAnswer,
  type Existing,
  fieldsOf,
  inspectConnection,
  isAsked,
  labelOf,
  maskSecret,
  preselected,
  readExisting,
  type SetupOutcome,
  type SetupWrite,
  saveSetup,
  setupHint,
  splitAnswers,
  variableOf,
} from "./setup/setup.ts";
