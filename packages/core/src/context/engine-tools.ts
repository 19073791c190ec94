// The tools of the context engine, such as `lcm_grep`. An engine from a plugin is looked at like any other stranger.

import { runForeign } from "../providers/index.ts";
import {
  argumentPreview,
  described,
  errorOutcome,
  readForeignTools,
  type Tool,
  type ToolDefinition,
  textOutcome,
} from "../tools/index.ts";
import type { ContextEngine } from "./engine.ts";

import type { SelectedEngine } from "./select-engine.ts";

export type EngineTools = {
  readonly tools: readonly Tool[];
  /** One line for the log for each tool of a plugin that was left out. */
  readonly remarks: readonly string[];
};

const CALL_TIMEOUT_MS = 120_000;
const LIST_TIMEOUT_MS = 2_000;

export async function engineTools({
  engine,
  source,
}: Pick<SelectedEngine, "engine" | "source">): Promise<EngineTools> {
  // Without handleToolCall no tool can run, so none is offered.
  if (engine.getToolSchemas === undefined || engine.handleToolCall === undefined)
    return { tools: [], remarks: [] };
  if (source === "built-in")
    return { tools: engine.getToolSchemas().map((definition) => ownTool(engine, definition)), remarks: [] };
  const who = `The context engine '${engine.name}'`;
  const answer = await runForeign<unknown>({ timeoutMs: LIST_TIMEOUT_MS }, () => engine.getToolSchemas?.());
  if (!answer.ok)
    return { tools: [], remarks: [`${who} could not list its tools: it ${answer.error.message}.`] };
  const { definitions, refused } = readForeignTools(answer.value, { who });
  return {
    tools: definitions.map((definition) => pluginTool(engine, definition)),
    remarks: refused.map(({ remark }) => remark),
  };
}

function ownTool(engine: ContextEngine, definition: ToolDefinition): Tool {
  return {
    ...entryOf(engine, definition, "read"), // they look up what a compaction took out
    run: async (args, { messages }) =>
      textOutcome((await engine.handleToolCall?.(definition.name, args, messages)) ?? NO_ANSWER),
  };
}

function pluginTool(engine: ContextEngine, definition: ToolDefinition): Tool {
  const { name } = definition;
  return {
    ...entryOf(engine, definition, "write"), // unknown, so the careful answer
    run: async (args, { messages }) => {
      const answer = await runForeign<unknown>({ timeoutMs: CALL_TIMEOUT_MS }, () =>
        engine.handleToolCall?.(name, args, messages),
      );
      if (!answer.ok)
        return errorOutcome(`The tool '${name}' of the context engine ${answer.error.message}.`);
      return typeof answer.value === "string" ? textOutcome(answer.value) : errorOutcome(NO_TEXT);
    },
  };
}

const NO_TEXT = "The context engine answered with something that is not text.";
const NO_ANSWER = JSON.stringify({ error: NO_TEXT });

function entryOf(
  { name: engine }: ContextEngine,
  definition: ToolDefinition,
  effect: "read" | "write",
): Omit<Tool, "run"> {
  return {
    ...described(definition),
    owner: { kind: "engine", name: engine },
    // Web pages and files that tools had read are among what it answers.
    policy: { toolset: "context_engine", effect, untrustedSource: `${engine}/${definition.name}` },
    preview: argumentPreview,
  };
}
