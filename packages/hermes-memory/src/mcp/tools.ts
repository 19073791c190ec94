// The tools of the server: entries of the opened home, the rule when each is offered, and how a client is shown them and their
// results.
import { existsSync } from "node:fs";
import { HermesError } from "@hermes-memory/core/lib";
import { callFromOutside, jsonOutcome, type Tool } from "@hermes-memory/core/tools";
import type { CallToolResult, Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import { isMemoryOn } from "./curated.ts";
import type { Dependencies } from "./dependencies.ts";
import { invalidParams, refusal, sentenceFor } from "./refusal.ts";

export async function listTools(deps: Dependencies): Promise<McpTool[]> {
  const [memory, search] = [await isMemoryOn(deps), isSearchOffered(deps)];
  const isOffered = (toolset: string): boolean => (toolset === "session_search" ? search : memory);
  const tools = await serverTools(deps);
  return tools.filter(({ policy }) => isOffered(policy.toolset)).map(shown);
}

/** Whatever a tool comes across becomes its answer; only a tool that does not exist is an error of the protocol. */
export async function callTool(
  name: string,
  args: Readonly<Record<string, unknown>> | undefined,
  deps: Dependencies,
): Promise<CallToolResult> {
  const tools = await serverTools(deps);
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

/** Those of the owner but the skills, which clients have of their own. */
async function serverTools({ memory, inOrder, mirror, log }: Dependencies): Promise<readonly Tool[]> {
  const tools = await memory.owner.tools({
    inOrder,
    log: (line) => log.warn(line),
    onWrites: (writes) => mirror.push(writes), // the client does not wait for the provider
  });
  return tools.filter(({ policy }) => policy.toolset !== "skills");
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
