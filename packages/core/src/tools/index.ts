// Tools: the one shape, the one table, the checks on tools that others bring.
export { argumentPreview, onOneLine, shownText } from "./argument-preview.ts";
export { foreignFlaw, type RefusedTool, readForeignTools } from "./foreign.ts";
export {
  foldName,
  namesLike,
  OWN_TOOLSETS,
  ownNameLike,
  PROVIDER_RESERVED_NAMES,
  TOOL_NAME,
} from "./names.ts";
export { errorOutcome, jsonOutcome, textOutcome } from "./outcome.ts";
export { type LeftOutTool, ToolTable } from "./table.ts";
export {
  callFromOutside,
  definitionOf,
  described,
  type JsonSchema,
  ownerInWords,
  type Tool,
  type ToolArguments,
  type ToolCallContext,
  type ToolDefinition,
  type ToolOutcome,
  type ToolOwner,
  type ToolPolicy,
  type UseStore,
} from "./tool.ts";
