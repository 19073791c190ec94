// The agent: turns, tools, sessions, slash commands.
export { Agent, type AgentStream, type AgentSurface } from "./agent.ts";
export type { AgentHooks, AgentOptions, ChatIdentity } from "./agent-options.ts";
export type { BusyMode, CommandHost, CommandReply } from "./commands/command.ts";
export { completeSlash, runSlashCommand } from "./commands/slash-commands.ts";
export { createAgent } from "./create/create-agent.ts";
export { delegateToolSchema } from "./delegation/delegate-task.ts";
export type { AgentEvent, EventListener } from "./events.ts";
export { withMaskedArguments } from "./session/transcript.ts";
export {
  lastUserInput,
  type UIChunk,
  type UIResponseOptions,
  type UIStreamOptions,
} from "./stream/ui-message-stream.ts";
export type {
  AgentStatus,
  ClientToolResult,
  CloseOptions,
  CompressChoices,
  CompressReport,
  RunOptions,
  SessionChange,
  SessionProblem,
  UndoReport,
  UserInput,
} from "./surface.ts";
export type { PreToolCall, PreToolCallAnswer } from "./tools/run-calls.ts";
export { todoToolSchema } from "./tools/todo.ts";
export type { ClientToolCall, TurnExit, TurnResult } from "./turn-result.ts";
