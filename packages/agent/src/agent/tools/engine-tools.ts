// The tools of the context engine, such as `lcm_grep`. An engine from a plugin is looked at like any other stranger.
import type { ContextEngine, SelectedEngine } from "@hermes-memory/core/context";
import { runForeign } from "@hermes-memory/core/providers";
import { argumentPreview } from "./argument-preview.ts";
import { type ReadSchemas, readForeignSchemas } from "./foreign-schema.ts";
import { errorOutcome, textOutcome } from "./outcome.ts";
import type { AgentTool, ToolSchema } from "./tool.ts";

export type EngineTools = {
  readonly tools: readonly AgentTool[];
  /** What a plugin's engine offers and does not get; for the log. */
  readonly remarks: readonly string[];
};

const CALL_TIMEOUT_MS = 120_000;
const LIST_TIMEOUT_MS = 2_000;

export async function engineTools({
  engine,
  source,
}: Pick<SelectedEngine, "engine" | "source">): Promise<EngineTools> {
  // A tool that nobody answers is not offered.
  if (engine.getToolSchemas === undefined || engine.handleToolCall === undefined)
    return { tools: [], remarks: [] };
  if (source === "built-in")
    return { tools: engine.getToolSchemas().map((schema) => ownTool(engine, schema)), remarks: [] };
  const { schemas, remarks } = await pluginSchemas(engine);
  return { tools: schemas.map((schema) => pluginTool(engine, schema)), remarks };
}

function ownTool(engine: ContextEngine, schema: ToolSchema): AgentTool {
  return {
    ...shape(schema),
    isReadOnly: true, // they look up what a compaction took out
    untrustedSource: `${engine.name}/${schema.name}`, // web pages and files that tools had read are among it
    run: async (args, { messages }) =>
      textOutcome((await engine.handleToolCall?.(schema.name, args, messages)) ?? NO_ANSWER),
  };
}

function pluginTool(engine: ContextEngine, schema: ToolSchema): AgentTool {
  return {
    ...shape(schema),
    isReadOnly: false, // nobody knows
    untrustedSource: `${engine.name}/${schema.name}`,
    run: async (args, { messages }) => {
      const answer = await runForeign<unknown>({ timeoutMs: CALL_TIMEOUT_MS }, () =>
        engine.handleToolCall?.(schema.name, args, [...messages]),
      );
      if (!answer.ok)
        return errorOutcome(`The tool '${schema.name}' of the context engine ${answer.error.message}.`);
      return typeof answer.value === "string" ? textOutcome(answer.value) : errorOutcome(NO_TEXT);
    },
  };
}

const NO_TEXT = "The context engine answered with something that is not text.";
const NO_ANSWER = JSON.stringify({ error: NO_TEXT });

function shape(schema: ToolSchema): Pick<AgentTool, "schema" | "toolset" | "preview"> {
  return { schema, toolset: "context_engine", preview: (args) => argumentPreview(args) };
}

async function pluginSchemas(engine: ContextEngine): Promise<ReadSchemas> {
  const owner = `The context engine '${engine.name}'`;
  const answer = await runForeign<unknown>({ timeoutMs: LIST_TIMEOUT_MS }, () => engine.getToolSchemas?.());
  return answer.ok
    ? readForeignSchemas(answer.value, owner)
    : { schemas: [], remarks: [`${owner} could not list its tools: it ${answer.error.message}.`] };
}
