// The tools of the agent: how calls are checked and run, the task list, and the tools of MCP servers and of the program.
export {
  type CallCheck,
  type CheckedCall,
  checkCalls,
} from "./check-calls.ts";
export { connectMcpServers, type McpConnections, type McpNotice } from "./mcp-tools.ts";
export type { BatchContext, PreToolCall, PreToolCallAnswer, ToolEvent } from "./run-calls.ts";
export { fits, runBatch, toolMessage } from "./run-calls.ts";
export { TodoStore, todoEntry, todoToolSchema } from "./todo.ts";
export {
  knownToolsets,
  mcpToolset,
  selectTools,
  type ToolsetChoice,
  unknownToolsets,
} from "./toolsets.ts";
export { userTools } from "./user-tools.ts";
