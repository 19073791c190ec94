// The agent's tools: the table, how calls are checked and run, and what makes tools out of memory, engines and strangers.
export {
  type CallCheck,
  type CheckedCall,
  checkCalls,
} from "./calls.ts";
export { engineTools } from "./engine-tools.ts";
export { connectMcpServers, type McpConnections, type McpNotice } from "./mcp-tools.ts";
export { memoryAgentTool } from "./memory.ts";
export { providerTools } from "./provider-tools.ts";
export { READ_RESULT, readResultAgentTool } from "./read-result.ts";
export { fits, type ResultLimits } from "./result-limits.ts";
export { runBatch, toolMessage } from "./run-batch.ts";
export type { BatchContext, PreToolCall, PreToolCallAnswer, ToolEvent } from "./run-call.ts";
export { sessionSearchAgentTool } from "./session-search.ts";
export { skillAgentTools } from "./skills.ts";
export { ToolTable } from "./table.ts";
export { todoAgentTool, todoToolSchema } from "./todo.ts";
export { TodoStore } from "./todo-store.ts";
export type { AgentTool, ToolArguments, ToolCallContext, ToolOutcome } from "./tool.ts";
export {
  knownToolsets,
  mcpToolset,
  resolveToolset,
  selectTools,
  type ToolsetChoice,
  unknownToolsets,
} from "./toolsets.ts";
export { userTools } from "./user-tools.ts";
