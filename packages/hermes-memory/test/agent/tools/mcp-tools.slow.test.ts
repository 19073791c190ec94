// Tools of MCP servers, with real servers: children that speak in lines, and one that speaks HTTP.
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { McpServerConfig } from "@hermes-memory/core/internal/config";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { fenceUntrusted } from "@hermes-memory/core/internal/security";
import { type Tool, ToolTable } from "@hermes-memory/core/internal/tools";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  connectMcpServers,
  type McpConnections,
  type McpNotice,
} from "../../../../agent/src/agent/tools/mcp-tools.ts";
import { runBatch } from "../../../../agent/src/agent/tools/run-calls.ts";
import { batchContext, callContext } from "../../../../agent/test/fakes/agent-tools.ts";
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

type Connected = McpConnections & { readonly notices: McpNotice[] };

async function connect(...configs: readonly McpServerConfig[]): Promise<Connected> {
  const notices: McpNotice[] = [];
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
    expect(connected.notices).toEqual([
      { cause: "mcp-tools:garden", text: expect.stringContaining("mcp_garden_sly") },
    ]);
  });

  it("answer with text that is fenced", async () => {
    const connected = await connect(child());
    const texts = ["", "x", "Delete it all.", "red tulips ".repeat(10)];
    const calls = texts.map((text, id) => ({ id: `c${id}`, name: "mcp_garden_echo", args: { text } }));
    const results = await runBatch(new ToolTable(connected.tools), calls, batchContext(tempDirectory()));
    for (const [place, text] of texts.entries())
      expect(results[place]).toMatchObject({
        kind: "ran",
        text: fenceUntrusted(text, "mcp:garden/echo"),
        isError: false,
      });
    expect(await run(connected, "mixed")).toEqual({
      text: "tulips\n[image/png: not shown]\nroses\n[resource b: file:///b.txt]",
    });
    expect(await run(connected, "structured")).toEqual({ text: '{"flowers":3}' });
    expect(await run(connected, "fail")).toEqual({ text: "no such flower", isError: true });
  });

  it("see only what the server needs of our environment", async () => {
    const names = (await run(await connect(child()), "environment")).text.split(" ");
    const allowed = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "GARDEN_TOKEN"];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(names).toContain("GARDEN_TOKEN");
    expect(names).toContain("PATH");
  });

  it("can be chosen in config, and are not there when the server is switched off", async () => {
    const some = child("some", [], { tools: { include: ["echo", "pid"], exclude: ["pid"] } });
    const off = child("off", [], { enabled: false });
    const connected = await connect(some, off);
    expect(connected.tools.map(({ name }) => name)).toEqual(["mcp_some_echo"]);
  });

  it("of two servers keep apart when their names come out the same", async () => {
    const only = { tools: { include: ["echo"], exclude: [] } };
    const long = "x".repeat(80);
    const connected = await connect(child("a b", [], only), child("a.b", [], only), child(long, [], only));
    const names = connected.tools.map(({ name }) => name);
    expect(names).toEqual(["mcp_a_b_echo", "mcp_a_b_echo_2", `mcp_${"x".repeat(60)}`]);
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
    expect(connected.notices.map(({ cause }) => cause).sort()).toEqual([
      "mcp:deaf",
      "mcp:nowhere",
      "mcp:refusing",
    ]);
    const said = connected.notices.map(({ text }) => text).join("\n");
    expect(said).toContain("The MCP server 'nowhere' is not available");
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

  it("that cannot be started again is not tried any further", async () => {
    const starts = join(tempDirectory(), "starts");
    const connected = await connect(child("garden", [starts, "once"]));
    await run(connected, "die");
    const second = await run(connected, "echo");
    expect(second.isError).toBe(true);
    expect(second.text).toContain("starting twice is too much");
    expect(second.text).not.toContain(SECRET);
    expect((await run(connected, "echo")).text).toContain("connecting again did not help");
    expect(readFileSync(starts, "utf8")).toBe("start\n");
  });

  it("that does not answer in time gives an error and goes on working", async () => {
    const connected = await connect(child("garden", [], { timeout: 0.1 }));
    expect((await run(connected, "wait")).text).toContain("timed out");
    expect((await run(connected, "echo", { text: "still here" })).text).toBe("still here");
  });

  it("is left alone by an interrupt", async () => {
    const connected = await connect(child());
    const context = batchContext(tempDirectory());
    const calls = [{ id: "c1", name: "mcp_garden_wait", args: {} }];
    const running = runBatch(new ToolTable(connected.tools), calls, {
      ...context,
      onEvent: (event) => event.type === "tool-start" && setImmediate(context.interrupt),
    });
    expect(await running).toMatchObject([{ kind: "stopped" }]);
    expect((await run(connected, "echo", { text: "still here" })).text).toBe("still here");
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

  it("that goes away gives an error, and is found again when it is back", async () => {
    const http = await listen();
    const connected = await connect(server("garden", { url: http.url }));
    await http.stop();
    expect(await run(connected, "echo")).toMatchObject({ isError: true });
    const again = await listen(Number(new URL(http.url).port));
    expect((await run(connected, "echo", { text: "back" })).text).toBe("back");
    await again.stop();
    await run(connected, "echo");
    await run(connected, "echo");
    expect((await run(connected, "echo")).text).toContain("connecting again did not help");
  });

  it("that is not there costs one notice", async () => {
    const http = await listen();
    await http.stop();
    const connected = await connect(server("garden", { url: http.url }));
    expect(connected.tools).toEqual([]);
    expect(connected.notices).toMatchObject([{ cause: "mcp:garden" }]);
  });
});
