// External memory: the contract, the manager, the fence, finding and setting up providers. Bundled providers and plugins
// are loaded when they are asked for.

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
  type SelfTestReport,
  type SessionSwitchOptions,
  type SyncOptions,
  type TurnStartOptions,
} from "./contract.ts";
export { findTracesElsewhere, findTracesOfUsers } from "./discovery/bundled.ts";
export {
  describeProviderCommands,
  loadProviderCommands,
} from "./discovery/cli-commands.ts";
export {
  activeProviderName,
  findProvider,
  findProviders,
  isProviderName,
  pluginsDirectory,
} from "./discovery/find-providers.ts";
export { describeForeign, runForeign } from "./discovery/foreign-code.ts";
export type {
  Availability,
  FoundProvider,
  FoundProviders,
  LoadedProvider,
  LoadFailure,
} from "./discovery/found.ts";
export { checkAvailability, importFile, isOwnFault, loadProvider } from "./discovery/load-provider.ts";
export { type EntryFile, findEntryFile, readManifest } from "./discovery/plugin-files.ts";
export { buildMemoryContextBlock, injectRecall } from "./fence/block.ts";
export { EchoScrubber } from "./fence/echo-scrubber.ts";
export { StreamingContextScrubber } from "./fence/scrubber.ts";
export { type Activation, type ActivationRequest, activateProvider } from "./manager/activate.ts";
export type { HookCounts, ProviderHealth } from "./manager/health.ts";
export { readProviderHealth, recordAvailability } from "./manager/health-file.ts";
export { MemoryManager } from "./manager/manager.ts";
export {
  type Forgot,
  forgetInProvider,
  type Mirrored,
  mirrorWrites,
  type Scrubbed,
  scrubInProvider,
} from "./manager/one-off.ts";
export type {
  FinishedTurn,
  InitializeAllOptions,
  MemoryManagerOptions,
  SwitchOptions,
} from "./manager/options.ts";
export { type WriteProvenance, writeMetadata } from "./manager/write-metadata.ts";
export {
  checkExternal,
  installPackages,
  missingPackages,
} from "./setup/dependencies.ts";
export {
  type Answers,
  checkAnswer,
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
