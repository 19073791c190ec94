// The agent, and the names of models and curator that most programs need. The rest is in src/public, one file per subpath.

export type { AssistantMessage, Message, OpenAiMessage } from "@hermes-memory/core/internal/message";
export type { ToolArguments, ToolDefinition } from "@hermes-memory/core/internal/tools";
export {
  Agent,
  type AgentEvent,
  type AgentHooks,
  type AgentOptions,
  type AgentStatus,
  type AgentSurface,
  type CommandHost,
  type CommandReply,
  type CompressChoices,
  type CompressReport,
  completeSlash,
  createAgent,
  type EventListener,
  type PreToolCall,
  type PreToolCallAnswer,
  type RunOptions,
  runSlashCommand,
  type SessionChange,
  type SessionProblem,
  type TurnExit,
  type TurnResult,
  type UndoReport,
  type UserInput,
} from "./agent/index.ts";
export { type CuratorOptions, type CuratorRun, maybeRunCurator, runCurator } from "./curator/index.ts";
export {
  type ChatModel,
  chooseModel,
  fromSdkModel,
  type GivenReply,
  type ModelDelta,
  type ModelFailure,
  type ModelIdentity,
  type ModelReply,
  type ModelRequest,
  openModel,
  type SdkModelOptions,
  toTextModel,
  type Usage,
} from "./models/index.ts";
