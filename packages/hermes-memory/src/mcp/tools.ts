// The tools of the server: what a client is told about each, when it is offered, and what runs.

import { type CommittedWrite, memoryTool, memoryToolSchema } from "@hermes-memory/core/curated";
import { HermesError } from "@hermes-memory/core/lib";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { isMemoryOn, openCurated } from "./curated.ts";
import type { Dependencies } from "./dependencies.ts";
import { memoryHistory, memoryHistorySchema } from "./memory-history.ts";
import { invalidParams, refusal, sentenceFor } from "./refusal.ts";
import { isSearchOffered, runSessionSearch, sessionSearchDescription } from "./session-search.ts";

export async function listTools(deps: Dependencies): Promise<Tool[]> {
  const offered: Tool[] = [];
  for (const { describe, isOffered } of TOOLS.values())
    if (await isOffered(deps)) offered.push(await describe());
  return offered;
}

/** Whatever a tool comes across becomes its answer; only a tool that does not exist is an error of the protocol. */
export async function callTool(name: string, args: unknown, deps: Dependencies): Promise<CallToolResult> {
  const tool = TOOLS.get(name);
  if (!tool)
    throw invalidParams(`Unknown tool '${name.slice(0, 80)}'. There are: ${[...TOOLS.keys()].join(", ")}.`);
  const answer = await tool.run(args, deps).catch((cause: unknown) => {
    // What the world did is told; what we did wrong is also worth a trace.
    deps.log.error(`The tool ${name} failed`, { cause });
    const isOurs = !(cause instanceof HermesError);
    return refusal(isOurs ? `${name} failed: ${sentenceFor(cause)}` : sentenceFor(cause));
  });
  const isError = "success" in answer && answer.success === false;
  return { content: [{ type: "text", text: JSON.stringify(answer) }], ...(isError ? { isError } : {}) };
}

type ToolEntry = {
  readonly describe: () => Tool | Promise<Tool>;
  readonly isOffered: (deps: Dependencies) => boolean | Promise<boolean>;
  readonly run: (args: unknown, deps: Dependencies) => Promise<object>;
};

/** A schema as our tools have it. */
type ToolSchema = {
  readonly name: string;
  readonly description: string;
  readonly parameters: {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
};

const TOOLS: ReadonlyMap<string, ToolEntry> = new Map<string, ToolEntry>([
  [
    "memory",
    {
      describe: () =>
        toTool(memoryToolSchema, "Remember, correct or forget a fact", {
          readOnlyHint: false,
          destructiveHint: true, // replace and remove; `hermes memory undo` takes them back
          idempotentHint: false,
          openWorldHint: false,
        }),
      isOffered: isMemoryOn,
      run: (args, deps) => deps.inOrder(() => changeMemory(args, deps)),
    },
  ],
  [
    "session_search",
    {
      describe: async () => toTool(await sessionSearchDescription(), "Search past conversations", readOnly()),
      isOffered: isSearchOffered,
      run: runSessionSearch,
    },
  ],
  [
    "memory_history",
    {
      describe: () => toTool(memoryHistorySchema, "What changed in memory", readOnly()),
      isOffered: isMemoryOn,
      run: (args, deps) => deps.inOrder(() => memoryHistory(args, deps)),
    },
  ],
]);

async function changeMemory(args: unknown, deps: Dependencies): Promise<object> {
  const { memory } = deps;
  const { writeApproval } = await memory.memoryConfig();
  const writes: CommittedWrite[] = [];
  const answer = await memoryTool(await openCurated(deps), args, {
    home: memory.home,
    writeApproval,
    origin: "tool",
    onCommitted: (write) => writes.push(write),
  });
  deps.mirror.push(writes);
  return answer;
}

function readOnly(): NonNullable<Tool["annotations"]> {
  return { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
}

function toTool(
  { name, description, parameters }: ToolSchema,
  title: string,
  annotations: NonNullable<Tool["annotations"]>,
): Tool {
  const { properties = {}, required = [] } = parameters;
  return {
    name,
    title,
    description,
    inputSchema: { type: "object", properties: { ...properties }, required: [...required] },
    annotations: { title, ...annotations },
  };
}
