// The limits for what an MCP server sends: deep and endless answers over a real pipe and a real socket.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { McpServerConfig } from "@hermes-memory/core/internal/config";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it, onTestFinished } from "vitest";
import { MCP_MESSAGE } from "../../../src/agent/tools/mcp-connection.ts";
import { connectMcpServers, type McpConnections } from "../../../src/agent/tools/mcp-tools.ts";
import { callContext } from "../../fakes/agent-tools.ts";

const RAW = join(import.meta.dirname, "../../fakes/mcp-raw-server.ts");
const LIMIT = MCP_MESSAGE.maxBytes;

function server(changes: Partial<McpServerConfig>): McpServerConfig {
  const { name = "raw" } = changes;
  const plain = { args: [], env: {}, headers: {}, enabled: true, timeout: 30, connectTimeout: 30 };
  return { name, ...plain, tools: { exclude: [] }, ...changes };
}

function raw(...args: readonly string[]): McpServerConfig {
  return server({ command: process.execPath, args: [RAW, ...args] });
}

type Connected = McpConnections & { readonly notices: string[] };

async function connect(...configs: readonly McpServerConfig[]): Promise<Connected> {
  const notices: string[] = [];
  const connected = await connectMcpServers(configs, {
    log: silentLogger,
    env: process.env,
    onNotice: (notice) => notices.push(notice),
  });
  onTestFinished(() => connected.close());
  return { ...connected, notices };
}

async function call({ tools }: McpConnections, name: string) {
  const tool = tools.find((tool) => tool.name === `mcp_raw_${name}`);
  if (tool === undefined) throw new Error(`no ${name} among ${tools.map(({ name }) => name)}`);
  return tool.run({}, callContext());
}

describe("a server that is a child", () => {
  it("whose tool has a schema of 3,000 levels loses that tool, and the user is told which", async () => {
    const connected = await connect(raw());
    expect(connected.tools.map(({ name }) => name)).toEqual([
      "mcp_raw_echo",
      "mcp_raw_deep_answer",
      "mcp_raw_long_answer",
      "mcp_raw_endless",
      "mcp_raw_long_text",
    ]);
    expect(connected.notices).toEqual([expect.stringMatching(/MCP server 'raw'.*mcp_raw_deep\./)]);
  });

  it("whose list is nested deeper than any message may be is not used, and the user is told why", async () => {
    const connected = await connect(raw("deep=50000"));
    expect(connected.tools).toEqual([]);
    expect(connected.notices).toEqual([expect.stringMatching(/MCP server 'raw'.*deeper than 10,000 levels/)]);
  });

  it("that answers with 3,000 levels gives an error result, and the next call works", async () => {
    const connected = await connect(raw());
    expect(await call(connected, "deep_answer")).toEqual({
      isError: true,
      text: expect.stringContaining("nested deeper than 100 levels"),
    });
    expect((await call(connected, "echo")).text).toBe("hello");
    expect((await call(connected, "long_text")).text).toHaveLength(7 * 1024 * 1024);
  });

  it("that sends a line without an end is stopped at the limit, and started again for the next call", async () => {
    const connected = await connect(raw());
    for (const name of ["endless", "long_answer"])
      expect(await call(connected, name)).toEqual({
        isError: true,
        text: expect.stringContaining("more than 8,388,608 bytes"),
      });
    // Also after two failures in a row: a restart after a broken limit does not use up the one reconnection.
    expect((await call(connected, "echo")).text).toBe("hello");
  });
});

type Asked = {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
};

function resultOf({ method, params }: Asked): object {
  if (method === "initialize")
    return {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "raw", version: "1" },
    };
  const inputSchema = { type: "object", properties: {} };
  if (method === "tools/list")
    return { tools: ["echo", "endless", "chatter"].map((name) => ({ name, inputSchema })) };
  return { content: [{ type: "text", text: "hello" }] };
}

/** Answers over HTTP as JSON or as an event stream. `counts.sent`: bytes of the answer that does not end. */
async function listen(kind: "json" | "events") {
  const counts = { sent: 0 };
  const type = kind === "json" ? "application/json" : "text/event-stream";
  function* endless(): Iterable<string> {
    yield `${kind === "json" ? "" : "data: "}{"result":{"content":[{"type":"text","text":"`;
    const piece = "x".repeat(256 * 1024);
    for (; counts.sent < 25 * LIMIT; counts.sent += piece.length) yield piece;
  }
  function* chatter(): Iterable<string> {
    const params = { level: "info", data: "x".repeat(256 * 1024) };
    const note = JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params });
    for (; counts.sent < 25 * LIMIT; counts.sent += note.length) yield `event: message\ndata: ${note}\n\n`;
  }
  const http = createServer(async (request, response) => {
    const asked: Asked = JSON.parse((await text(request)) || '{"method":""}');
    const isKnown = ["initialize", "tools/list", "tools/call"].includes(asked.method);
    if (asked.id === undefined || !isKnown) {
      response.writeHead(asked.method.startsWith("notifications/") ? 202 : 405).end();
      return;
    }
    response.writeHead(200, { "content-type": type });
    if (asked.params?.name === "endless") {
      await pipeline(endless(), response).catch(() => undefined); // the client closed the connection
      return;
    }
    if (asked.params?.name === "chatter") {
      await pipeline(chatter(), response).catch(() => undefined);
      return;
    }
    const answer = JSON.stringify({ result: resultOf(asked), jsonrpc: "2.0", id: asked.id });
    response.end(kind === "json" ? answer : `event: message\ndata: ${answer}\n\n`);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, counts };
}

describe.each(["json", "events"] as const)("a server over HTTP that answers with %s", (kind) => {
  it("is cut off at the limit, and the next call works", async () => {
    const { url, counts } = await listen(kind);
    const connected = await connect(server({ url }));
    const outcome = await call(connected, "endless");
    expect(outcome).toEqual({ isError: true, text: expect.stringContaining("more than 8,388,608 bytes") });
    expect(counts.sent).toBeGreaterThan(LIMIT);
    expect(counts.sent).toBeLessThan(6 * LIMIT); // socket buffers included
    expect((await call(connected, "echo")).text).toBe("hello");
  });
});

it("a server over HTTP that sends notifications without an end before its answer is cut off", async () => {
  const { url, counts } = await listen("events");
  const connected = await connect(server({ url }));
  const outcome = await call(connected, "chatter");
  expect(outcome).toEqual({
    isError: true,
    text: expect.stringContaining("more than 67,108,864 bytes for one request"),
  });
  expect(counts.sent).toBeLessThan(13 * LIMIT);
  expect((await call(connected, "echo")).text).toBe("hello");
});
