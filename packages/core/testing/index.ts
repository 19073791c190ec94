// For tests: a real memory in a temporary home with fakes to pass to it, and the suites that a backend of the session store, a memory
// provider and a context engine have to pass, for any test runner with the `describe`, `it` and `expect` of Jest.

export { contextEngineContract, type OpenEngine, type OpenedEngine } from "./context-engine.ts";
export {
  memoryProviderContract,
  memoryServerContract,
  type ProviderHarness,
  type ServerControls,
} from "./memory-provider.ts";
export type { Expect, TestRunner } from "./runner.ts";
export { type SessionStoreGroup, type SessionStoreHarness, sessionStoreContract } from "./session-store.ts";
export {
  type FakeTextModel,
  fakeTextModel,
  openTestMemory,
  type PreparedAnswers,
  type TestClock,
  type TestEntry,
  type TestMemoryOptions,
  testClock,
} from "./test-memory.ts";
