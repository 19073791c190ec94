// Tools: the type, the table, and the checks for tools of plugins, MCP servers and programs.

export { foreignFlaw, readForeignTools } from "./foreign.ts";
export {
  foldName,
  namesLike,
  OWN_TOOLSETS,
  ownNameLike,
  PROVIDER_RESERVED_NAMES,
  TOOL_NAME,
} from "./names.ts";
export { type LeftOutTool, ToolTable } from "./table.ts";
export {
  argumentPreview,
  callFromOutside,
  definitionOf,
  described,
  errorOutcome,
  type JsonSchema,
  jsonOutcome,
  onOneLine,
  ownerInWords,
  shownText,
  type Tool,
  type ToolArguments,
  type ToolCallContext,
  type ToolDefinition,
  type ToolOutcome,
  type ToolOwner,
  type ToolPolicy,
  textOutcome,
  type UseStore,
} from "./tool.ts";
