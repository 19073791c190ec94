// The opened home. Importing it loads no layer.
export { chatSessionId } from "./chat-id.ts";
export { findChat } from "./chat-session.ts";
export { ConfigFailure, ifUsable, openHome, usable } from "./open-home.ts";
export { openMemory } from "./open-memory.ts";
export type {
  Administrator,
  CuratedInOptions,
  CuratedOptions,
  Home,
  MemoryUser,
  OpenHomeOptions,
  Person,
  PersonProvider,
  SessionsWanted,
  SkillsWanted,
  ToolRules,
} from "./types.ts";
export type {
  AddOptions,
  Chat,
  ChatContext,
  ChatMessage,
  Compacted,
  CompactOptions,
  ContextOptions,
  Entry,
  EntryChange,
  EntryExplanation,
  EntryTarget,
  Erased,
  Extracted,
  ExtractOptions,
  GivenMessage,
  Memory,
  MemoryHit,
  MemorySearchAnswer,
  MemorySearchOptions,
  MessageFormat,
  OpenMemoryOptions,
  Remembered,
  RememberOptions,
  Removed,
  Reply,
  Undone,
  UserMemory,
  WriteOptions,
  Written,
} from "./user-memory.ts";
