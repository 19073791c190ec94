// The tools of the MCP servers in config. A server that does not work gives a notice, and the agent starts without its tools.
// Descriptions and answers are untrusted text.
import type { McpServerConfig } from "@hermes-memory/core/internal/config";
import { isRecord, outsideJsonProblem } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import {
  argumentPreview,
  described,
  errorOutcome,
  foldName,
  foreignFlaw,
  type Tool,
  type ToolDefinition,
  type ToolOutcome,
} from "@hermes-memory/core/internal/tools";
import { McpServer, type OfferedTool } from "./mcp-connection.ts";
import { mcpToolset } from "./toolsets.ts";

export type McpDeps = {
  readonly log: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For the user. */
  readonly onNotice: (text: string) => void;
};

export type McpConnections = {
  /** In the order of config and of each server's list. */
  readonly tools: readonly Tool[];
  /** Ends connections and child processes. May be called more than once. */
  close(): Promise<void>;
};

const MAX_NAME_CHARS = 64;
const NAMED_TOOLS = 10;

/** Never rejects. */
export async function connectMcpServers(
  configs: readonly McpServerConfig[],
  deps: McpDeps,
): Promise<McpConnections> {
  const servers = configs
    .filter(({ enabled }) => enabled)
    .map((config) => ({ config, server: new McpServer(config, deps) }));
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(({ server }) => server.close()));
  };
  const offers = await Promise.all(servers.map(({ config, server }) => offered(config, server, deps)));
  const taken = new Map<string, number>();
  const tools: Tool[] = [];
  for (const [place, { server }] of servers.entries()) {
    try {
      tools.push(...toTools(server, offers[place] ?? [], taken, deps));
    } catch (cause) {
      tellFailure(server, cause, deps);
      await server.close();
    }
  }
  return { tools, close };
}

async function offered(
  config: McpServerConfig,
  server: McpServer,
  deps: McpDeps,
): Promise<readonly OfferedTool[]> {
  const { include, exclude } = config.tools;
  try {
    await server.connect();
    const tools = await server.listTools();
    return tools.filter(({ name }) => (include?.includes(name) ?? true) && !exclude.includes(name));
  } catch (cause) {
    tellFailure(server, cause, deps);
    await server.close();
    return [];
  }
}

function tellFailure(server: McpServer, cause: unknown, { log, onNotice }: McpDeps): void {
  const text =
    `The MCP server '${server.name}' is not available: ${server.describe(cause)}. The agent goes on without its tools. ` +
    `Check mcp_servers.${server.name} in config.yaml.`;
  log.warn(text, { server: server.name });
  onNotice(text);
}

function toTools(
  server: McpServer,
  offers: readonly OfferedTool[],
  taken: Map<string, number>,
  { log, onNotice }: McpDeps,
): Tool[] {
  const refused: string[] = [];
  const tools = offers.flatMap((offer): Tool[] => {
    const definition = toDefinition(uniqueName(server.name, offer.name, taken), offer);
    const flaw = foreignFlaw(definition);
    if (flaw === undefined) {
      taken.set(foldName(definition.name), 2);
      return [toTool(server, offer.name, definition)];
    }
    log.warn(`The MCP server '${server.name}' offers a tool ${flaw}. It is left out.`, {
      server: server.name,
    });
    refused.push(definition.name);
    return [];
  });
  if (refused.length > 0) {
    const named = refused.slice(0, NAMED_TOOLS).join(", ");
    const more = refused.length > NAMED_TOOLS ? ` and ${refused.length - NAMED_TOOLS} more` : "";
    onNotice(
      `${refused.length} of the tools of the MCP server '${server.name}' are left out, because their descriptions are not safe to use: ${named}${more}. The log says why.`,
    );
  }
  return tools;
}

function toTool(server: McpServer, name: string, definition: ToolDefinition): Tool {
  return {
    ...described(definition),
    owner: { kind: "mcp", server: server.name },
    policy: {
      toolset: mcpToolset(server.name),
      effect: "write", // even when the server claims that the tool only reads
      untrustedSource: `mcp:${server.name}/${name}`,
    },
    preview: argumentPreview,
    run: async (args, { signal }) => {
      try {
        const answer = await server.call(name, args, signal);
        const problem = outsideJsonProblem(answer);
        if (problem === undefined) return mcpOutcome(answer);
        return errorOutcome(
          `The answer of the MCP server '${server.name}' ${problem.message}, so it is not used.`,
        );
      } catch (cause) {
        if (signal.aborted) throw cause;
        return errorOutcome(`The MCP server '${server.name}' did not answer: ${server.describe(cause)}.`);
      }
    },
  };
}

/** `answer` should be a `CallToolResult`, but comes from an untrusted server. */
function mcpOutcome(answer: unknown): ToolOutcome {
  const result = isRecord(answer) ? answer : {};
  const parts = Array.isArray(result.content) ? result.content.map(partText) : [];
  const spoken = parts.filter((part) => part !== "").join("\n");
  const rest = result.structuredContent ?? result.toolResult;
  const text = spoken !== "" || rest === undefined ? spoken : JSON.stringify(rest);
  return { text, isError: result.isError === true ? true : undefined };
}

function partText(part: unknown): string {
  if (!isRecord(part)) return "";
  if (typeof part.text === "string") return part.text;
  if (isRecord(part.resource)) {
    const { uri, text, mimeType } = part.resource;
    return typeof text === "string" ? text : `[${shown(mimeType)} resource ${shown(uri)}: not shown]`;
  }
  if (part.type === "resource_link") return `[resource ${shown(part.name)}: ${shown(part.uri)}]`;
  return `[${shown(part.mimeType ?? part.type)}: not shown]`;
}

function shown(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 300) : "unnamed";
}

function toDefinition(name: string, { description = "", inputSchema }: OfferedTool): ToolDefinition {
  const { $schema: _dialect, ...parameters } = inputSchema as Record<string, unknown>;
  return { name, description, parameters: { type: "object", properties: {}, ...parameters } };
}

/**
 * A name that model vendors accept, with a number at the end where two names would look the same. `taken` maps each folded name
 * to the number to try next.
 */
function uniqueName(server: string, tool: string, taken: Map<string, number>): string {
  const name = `mcp_${server}_${tool}`.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME_CHARS);
  const next = taken.get(foldName(name));
  if (next === undefined) return name;
  for (let number = next; ; number += 1) {
    const suffix = `_${number}`;
    const other = name.slice(0, MAX_NAME_CHARS - suffix.length) + suffix;
    if (taken.has(foldName(other))) continue;
    taken.set(foldName(name), number + 1);
    return other;
  }
}
