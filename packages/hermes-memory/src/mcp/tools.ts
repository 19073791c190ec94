// The tools of the server: entries of the layers, each with the store it works on and the rule when it is offered, and how a
// client is shown them and their results.
import { existsSync } from "node:fs";
import { type CommittedWrite, curatedTools, memoryHistoryEntry } from "@hermes-memory/core/curated";
import { HermesError } from "@hermes-memory/core/lib";
import { sessionSearchEntry, sessionSearchSettings } from "@hermes-memory/core/sessions";
import { callFromOutside, jsonOutcome, type Tool } from "@hermes-memory/core/tools";
import type { CallToolResult, Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import { isMemoryOn, openCurated } from "./curated.ts";
import type { Dependencies } from "./dependencies.ts";
import { invalidParams, refusal, sentenceFor } from "./refusal.ts";

export async function listTools(deps: Dependencies): Promise<McpTool[]> {
  const [memory, search] = [await isMemoryOn(deps), isSearchOffered(deps)];
  const isOffered = (toolset: string): boolean => (toolset === "session_search" ? search : memory);
  return serverTools(deps)
    .filter(({ policy }) => isOffered(policy.toolset))
    .map(shown);
}

/** Whatever a tool comes across becomes its answer; only a tool that does not exist is an error of the protocol. */
export async function callTool(
  name: string,
  args: Readonly<Record<string, unknown>> | undefined,
  deps: Dependencies,
): Promise<CallToolResult> {
  const tools = serverTools(deps);
  const tool = tools.find((each) => each.name === name);
  if (!tool) {
    const names = tools.map((each) => each.name).join(", ");
    throw invalidParams(`Unknown tool '${name.slice(0, 80)}'. There are: ${names}.`);
  }
  const { text, isError } = await tool.run(args ?? {}, callFromOutside()).catch((cause: unknown) => {
    // What the world did is told; what we did wrong is also worth a trace.
    deps.log.error(`The tool ${name} failed`, { cause });
    const isOurs = !(cause instanceof HermesError);
    return jsonOutcome(refusal(isOurs ? `${name} failed: ${sentenceFor(cause)}` : sentenceFor(cause)));
  });
  return { content: [{ type: "text", text }], ...(isError ? { isError } : {}) };
}

export function isSearchOffered({ memory }: Pick<Dependencies, "memory">): boolean {
  return existsSync(memory.home);
}

/** In the order a client is told them. The names do not depend on config, so that an unknown one can be told from one that is off. */
function serverTools(deps: Dependencies): readonly Tool[] {
  const { memory, inOrder, mirror } = deps;
  const { home, owner } = memory;
  return [
    ...curatedTools((work) =>
      inOrder(async () => {
        const { writeApproval } = await memory.memoryConfig();
        const store = await openCurated(deps);
        const writes: CommittedWrite[] = [];
        const context = {
          home,
          writeApproval,
          origin: "tool",
          onCommitted: (write: CommittedWrite) => void writes.push(write),
        } as const;
        const outcome = await work({ store, context });
        mirror.push(writes);
        return outcome;
      }),
    ),
    // Without summaries: a client brings its own model, and this server has none. Without a database the tool itself says so.
    sessionSearchEntry({ summarize: false }, async (work) => {
      const config = await memory.config(); // it may forbid to look into other profiles
      const settings = { ...sessionSearchSettings(config), summarize: "off" as const };
      return owner.withSessions((store) => work({ store, context: { home, settings } }));
    }),
    // Reading does not make a home.
    memoryHistoryEntry((work) =>
      inOrder(async () => work(existsSync(home) ? await openCurated(deps) : { history: () => [] })),
    ),
  ];
}

/** Titles that say more than the name. */
const TITLES: Readonly<Record<string, string>> = {
  memory: "Remember, correct or forget a fact",
  session_search: "Search past conversations",
  memory_history: "What changed in memory",
};

function shown({ name, description, schema, policy }: Tool): McpTool {
  const title = TITLES[name] ?? name.replaceAll("_", " ");
  const isRead = policy.effect === "read";
  return {
    name,
    title,
    description,
    inputSchema: { ...schema, type: "object" },
    annotations: {
      title,
      readOnlyHint: isRead,
      destructiveHint: !isRead, // `hermes memory undo` takes changes back
      idempotentHint: isRead,
      openWorldHint: false,
    },
  };
}
