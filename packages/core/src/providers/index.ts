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
export { checkAvailability } from "./discovery/availability.ts";
export {
  describeProviderCommands,
  loadProviderCommands,
} from "./discovery/cli-commands.ts";
export { type EntryFile, findEntryFile } from "./discovery/entry-file.ts";
export { describeForeign, runForeign } from "./discovery/foreign-code.ts";
export type {
  Availability,
  FoundProvider,
  FoundProviders,
  LoadedProvider,
  LoadFailure,
} from "./discovery/found.ts";
export { importFile, isOwnFault, loadProvider } from "./discovery/load.ts";
export { readManifest } from "./discovery/manifest.ts";
export { activeProviderName, isProviderName } from "./discovery/names.ts";
export { findProvider, findProviders, pluginsDirectory } from "./discovery/scan.ts";
export { findTracesElsewhere, findTracesOfUsers } from "./discovery/traces.ts";
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
  collectAnswers,
  type Existing,
  splitAnswers,
} from "./setup/answers.ts";
export {
  checkExternal,
  installPackages,
  missingPackages,
} from "./setup/dependencies.ts";
export { currentSettings, readExisting } from "./setup/existing.ts";
export {
  type Answers,
  checkAnswer,
  defaultAnswer,
  isAsked,
  labelOf,
  maskSecret,
  preselected,
  setupHint,
  variableOf,
} from "./setup/fields.ts";
export { fieldsOf } from "./setup/read-fields.ts";
export { deactivate, type SetupOutcome, type SetupWrite, saveSetup } from "./setup/save.ts";
