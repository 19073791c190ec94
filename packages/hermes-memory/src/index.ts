// The product as a library: the root of core, and the names of the agent that most programs need. The subpaths are in src/public.

export {
  Agent,
  type AgentEvent,
  type AgentHooks,
  type AgentOptions,
  type AgentStream,
  type ChatModel,
  createAgent,
  fromSdkModel,
  type RunOptions,
  type ToolDefinition,
  type TurnResult,
  toTextModel,
  type UserInput,
} from "@hermes-memory/agent";
export * from "@hermes-memory/core";
