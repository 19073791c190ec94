// Tools: the type, the table, and calls from outside.
export {
  callFromOutside,
  type JsonSchema,
  type LeftOutTool,
  type Tool,
  type ToolArguments,
  type ToolCallContext,
  type ToolDefinition,
  type ToolOutcome,
  type ToolOwner,
  type ToolPolicy,
  ToolTable,
} from "../tools/index.ts";
