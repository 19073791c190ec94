// Slash commands: everything the user of a chat can do besides sending messages.
export type { BusyMode, CommandHost, CommandReply } from "./command.ts";
export { completeSlash, RESERVED_COMMANDS, runSlashCommand, SLASH_COMMANDS } from "./slash-commands.ts";
