// The opened home. Importing it loads no layer.
export { ConfigFailure, ifUsable, openMemory, usable } from "./open-memory.ts";
export type {
  CuratedInOptions,
  CuratedOptions,
  Everyone,
  Memory,
  MemoryUser,
  OpenMemoryOptions,
  Owner,
  Person,
  PersonProvider,
  SessionsWanted,
  SkillsWanted,
  ToolRules,
} from "./types.ts";
