// The opened home. Importing it loads no layer.
export { chatIdOfSession, chatSessionId, findChat } from "./chat-id.ts";
export { ConfigFailure, ifUsable, openHome, usable } from "./open-home.ts";
export { memoryIn, openMemory } from "./open-memory.ts";
export type * from "./types.ts";
export type * from "./user-memory.ts";
