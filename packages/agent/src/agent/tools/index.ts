// The agent's tools: the table, how calls are checked and run, and what makes tools out of memory, engines and strangers.
export {
  type ArgumentProblem,
  type CallCheck,
  type CheckedCall,
  checkCalls,
  type KnownTools,
  type RefusedCall,
} from "./calls.ts";
export { CORE_TOOL_NAMES, isCoreTool } from "./core-names.ts";
export { type EngineTools, engineTools } from "./engine-tools.ts";
export { connectMcpServers, type McpConnections, type McpDeps, type McpNotice } from "./mcp-tools.ts";
export { type MemoryAgentToolDeps, memoryAgentTool } from "./memory.ts";
export { providerTools } from "./provider-tools.ts";
export { READ_RESULT, type ReadResultDeps, readResultAgentTool, readResultSchema } from "./read-result.ts";
export { fits, type ResultLimits, resultLimits } from "./result-limits.ts";
export { type BatchContext, type CallResult, runBatch, type ToolEvent, toolMessage } from "./run-batch.ts";
export type { PreToolCall, PreToolCallAnswer } from "./run-call.ts";
export { type SessionSearchAgentToolDeps, sessionSearchAgentTool } from "./session-search.ts";
export { type SkillAgentToolDeps, skillAgentTools } from "./skills.ts";
export { ToolTable } from "./table.ts";
export { todoAgentTool, todoToolSchema } from "./todo.ts";
export { type TodoItem, type TodoStatus, TodoStore } from "./todo-store.ts";
export type { AgentTool, ToolArguments, ToolCallContext, ToolOutcome, ToolSchema } from "./tool.ts";
export {
  knownToolsets,
  mcpToolset,
  resolveToolset,
  selectTools,
  type ToolsetChoice,
  unknownToolsets,
} from "./toolsets.ts";
export { type UserToolOptions, userTools } from "./user-tools.ts";
