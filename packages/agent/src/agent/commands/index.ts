// Slash commands: what the person in a chat can do beside talking.
export type { BusyMode, CommandHost, CommandReply } from "./command.ts";
export { completeSlash, RESERVED_COMMANDS, SLASH_COMMANDS } from "./registry.ts";
export { runSlashCommand } from "./run.ts";
