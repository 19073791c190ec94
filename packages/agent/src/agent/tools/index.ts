// The agent's tools: how calls are checked and run, its own task list, and entries for tools of MCP servers and of the program.
export {
  type CallCheck,
  type CheckedCall,
  checkCalls,
} from "./calls.ts";
export { connectMcpServers, type McpConnections, type McpNotice } from "./mcp-tools.ts";
export { fits } from "./result-limits.ts";
export { runBatch, toolMessage } from "./run-batch.ts";
export type { BatchContext, PreToolCall, PreToolCallAnswer, ToolEvent } from "./run-call.ts";
export { todoEntry, todoToolSchema } from "./todo.ts";
export { TodoStore } from "./todo-store.ts";
export {
  knownToolsets,
  mcpToolset,
  selectTools,
  type ToolsetChoice,
  unknownToolsets,
} from "./toolsets.ts";
export { userTools } from "./user-tools.ts";
