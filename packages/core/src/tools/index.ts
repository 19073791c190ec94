// Tools: the one shape, the one table, the checks on tools that others bring.
export type {
  JsonSchema,
  Tool,
  ToolArguments,
  ToolCallContext,
  ToolOutcome,
  ToolOwner,
  ToolPolicy,
} from "./tool.ts";
