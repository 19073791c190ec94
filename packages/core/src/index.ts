// The names that most programs need: the door, and the parts of each layer that are used directly. The rest is in src/public, one file
// per subpath.

export {
  applyPromptCaching,
  ContextCompressor,
  type ContextEngine,
  LosslessEngine,
} from "./context/index.ts";
export {
  DEFAULT_MEMORY_CHAR_LIMIT,
  DEFAULT_USER_CHAR_LIMIT,
  ENTRY_DELIMITER,
  type MemoryError,
  type MemoryOp,
  type MemoryOpOutcome,
  MemoryStore,
  type MemoryTarget,
  memoryTool,
  memoryToolSchema,
} from "./curated/index.ts";
export { err, HermesError, ok, type Result, type TextModel } from "./lib/index.ts";
export type { Logger } from "./lib/logger.ts";
export {
  type AddOptions,
  type Chat,
  type ChatContext,
  type ChatMessage,
  type Compacted,
  type CompactOptions,
  type ContextOptions,
  type Entry,
  type EntryChange,
  type EntryExplanation,
  type EntryTarget,
  type Erased,
  type Extracted,
  type ExtractOptions,
  type GivenMessage,
  type Home,
  type Memory,
  type MemoryHit,
  type MemorySearchAnswer,
  type MemorySearchOptions,
  type MessageFormat,
  type OpenMemoryOptions,
  openHome,
  openMemory,
  type Person,
  type Remembered,
  type RememberOptions,
  type Removed,
  type Reply,
  type Transcript,
  type TranscriptOptions,
  type Undone,
  type UserMemory,
  type WriteOptions,
  type Written,
} from "./memory/index.ts";
export { fromAiSdk, type Message, type OpenAiMessage, toAiSdk, toOpenAi } from "./message/index.ts";
export {
  buildMemoryContextBlock,
  MemoryManager,
  type MemoryProvider,
  StreamingContextScrubber,
} from "./providers/index.ts";
export { sanitizeContext, scanThreats } from "./security/index.ts";
export {
  openSessionStore,
  type SessionStore,
  sanitizeFtsQuery,
  sessionSearchTool,
} from "./sessions/index.ts";
