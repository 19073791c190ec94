// Tools of MCP servers, with real servers: children that speak in lines, and one that speaks HTTP.
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { McpServerConfig } from "@hermes-memory/core/internal/config";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import type { Tool } from "@hermes-memory/core/internal/tools";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcpServers, type McpConnections } from "../../../../agent/src/agent/tools/mcp-tools.ts";
import { callContext } from "../../../../agent/test/fakes/agent-tools.ts";
import { toolsServer } from "../../../../agent/test/fakes/mcp-tools-server.ts";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";

const SERVER = join(import.meta.dirname, "../../../../agent/test/fakes/mcp-tools-server.ts");
const MAIN = join(import.meta.dirname, "../../../src/cli/main.ts");
const SECRET = "Zq4kLw81mVx0";

function server(name: string, changes: Partial<McpServerConfig>): McpServerConfig {
  return {
    name,
    args: [],
    env: {},
    headers: {},
    enabled: true,
    timeout: 30,
    connectTimeout: 30,
    tools: { exclude: [] },
    ...changes,
  };
}

/** The tools server as a child. */
function child(
  name = "garden",
  args: readonly string[] = [],
  changes: Partial<McpServerConfig> = {},
): McpServerConfig {
  return server(name, {
    command: process.execPath,
    args: [SERVER, ...args],
    env: { GARDEN_TOKEN: SECRET },
    ...changes,
  });
}

type Connected = McpConnections & { readonly notices: string[] };

async function connect(...configs: readonly McpServerConfig[]): Promise<Connected> {
  const notices: string[] = [];
  const connected = await connectMcpServers(configs, {
    log: silentLogger,
    env: { ...process.env, OPENAI_API_KEY: "sk-not-for-children" },
    onNotice: (notice) => notices.push(notice),
  });
  onTestFinished(() => connected.close());
  return { ...connected, notices };
}

function toolOf({ tools }: McpConnections, name: string): Tool {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no ${name} among ${tools.map(({ name }) => name)}`);
  return tool;
}

async function run(connected: McpConnections, name: string, args: Record<string, unknown> = {}) {
  return toolOf(connected, `mcp_garden_${name}`).run(args, callContext());
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("tools of a server that is a child", () => {
  it("have names that vendors take, a toolset and a fence of their own", async () => {
    const connected = await connect(child());
    expect(connected.tools.map(({ name }) => name)).toEqual([
      "mcp_garden_echo",
      "mcp_garden_add_two_numbers",
      "mcp_garden_environment",
      "mcp_garden_pid",
      "mcp_garden_mixed",
      "mcp_garden_fail",
      "mcp_garden_structured",
      "mcp_garden_die",
      "mcp_garden_wait",
    ]);
    expect(toolOf(connected, "mcp_garden_echo")).toMatchObject({
      owner: { kind: "mcp", server: "garden" },
      policy: { toolset: "mcp-garden", effect: "write", untrustedSource: "mcp:garden/echo" },
      description: "Says what it is told.",
      schema: {
        type: "object",
        properties: { text: { type: "string" } },
      },
    });
    // The one that tries to talk the agent into something is not there, and the user learns of it once.
    expect(connected.notices).toEqual([expect.stringContaining("mcp_garden_sly")]);
  });

  it("see only what the server needs of our environment", async () => {
    const names = (await run(await connect(child()), "environment")).text.split(" ");
    const allowed = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "GARDEN_TOKEN"];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(names).toContain("GARDEN_TOKEN");
    expect(names).toContain("PATH");
  });

  it("end with the agent", async () => {
    const connected = await connect(child());
    const pid = Number((await run(connected, "pid")).text);
    expect(isRunning(pid)).toBe(true);
    await connected.close();
    await connected.close();
    expect(isRunning(pid)).toBe(false);
    expect(await run(connected, "echo")).toMatchObject({ isError: true });
  });
});

describe("a server that does not work", () => {
  it("costs one notice without secrets, never the agent", async () => {
    const seen = join(tempDirectory(), "starts");
    await (await connect(child("garden", [seen]))).close();
    const connected = await connect(
      server("nowhere", { command: "/no/such/program" }),
      child("refusing", [seen, "once"]),
      child("garden", [], { tools: { include: ["echo"], exclude: [] } }),
      server("deaf", {
        command: process.execPath,
        args: ["-e", "process.stdin.resume()"],
        connectTimeout: 0.2,
      }),
    );
    expect(connected.tools.map(({ name }) => name)).toEqual(["mcp_garden_echo"]);
    expect(connected.notices).toHaveLength(3);
    const said = connected.notices.join("\n");
    for (const name of ["deaf", "nowhere", "refusing"])
      expect(said).toContain(`The MCP server '${name}' is not available`);
    expect(said).toContain("starting twice is too much");
    expect(said).not.toContain(SECRET);
  });

  it("that dies in a call answers with an error, and is started again for the next one", async () => {
    const starts = join(tempDirectory(), "starts");
    const connected = await connect(child("garden", [starts]));
    const died = await run(connected, "die");
    expect(died.isError).toBe(true);
    expect(died.text).toContain("The MCP server 'garden' did not answer");
    expect(readFileSync(starts, "utf8")).toBe("start\n"); // the call may have had its effect: it is not sent again
    expect((await run(connected, "echo", { text: "again" })).text).toBe("again");
    expect(readFileSync(starts, "utf8")).toBe("start\nstart\n");
  });

  it("says nothing secret when a tool fails", async () => {
    const connected = await connect(child("garden", [], { tools: { exclude: ["sly"] } }));
    const unknown = await toolOf(connected, "mcp_garden_add_two_numbers").run({}, callContext());
    expect(unknown.isError).toBe(true);
    expect(unknown.text).toContain("no tool add.two numbers");
    expect(unknown.text).not.toContain(SECRET);
  });
});

describe("our own server", () => {
  it("works as a server of another agent", async () => {
    const home = tempDirectory();
    const hermes = server("hermes", {
      command: process.execPath,
      args: [MAIN, "mcp"],
      env: { HERMES_HOME: home },
    });
    const connected = await connect(hermes);
    expect(connected.notices).toEqual([]);
    const args = { action: "add", target: "memory", content: "The kiln is blue." };
    const outcome = await toolOf(connected, "mcp_hermes_memory").run(args, callContext());
    expect(JSON.parse(outcome.text)).toMatchObject({ success: true });
    expect(readFileSync(join(home, "memories", "MEMORY.md"), "utf8")).toBe("The kiln is blue.");
  });
});

type HttpServer = { readonly url: string; readonly headers: IncomingHttpHeaders[]; stop(): Promise<void> };

async function listen(port = 0): Promise<HttpServer> {
  const headers: IncomingHttpHeaders[] = [];
  const http: Server = createServer(async (request, response) => {
    headers.push(request.headers);
    const transport = new StreamableHTTPServerTransport({});
    const garden = toolsServer();
    response.on("close", () => void garden.close());
    await garden.connect(transport);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, headers, stop };
}

describe("a server over HTTP", () => {
  it("gets the configured headers and answers", async () => {
    const http = await listen();
    const headers = { Authorization: `Bearer ${SECRET}` };
    const connected = await connect(server("garden", { url: http.url, headers }));
    expect((await run(connected, "echo", { text: "hello" })).text).toBe("hello");
    expect(http.headers.every(({ authorization }) => authorization === `Bearer ${SECRET}`)).toBe(true);
  });
});
