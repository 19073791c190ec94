import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { getRequestListener } from "@hono/node-server";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { answerMcp } from "../src/internal.ts";

const QUIET = { info() {}, warn() {}, error() {} };
/** Otherwise `Response` of the whole process would be another one, also for the tests that run after these. */
const OWN_RESPONSES = { overrideGlobalObjects: false };
const NO_PROVIDER = { push() {}, drained: async () => {} };

/** Each user has an address: /ana, /bo. */
async function listening(home: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const memory = await openMemory({ home });
  const server: Server = createServer(
    getRequestListener(async (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const id = new URL(request.url).pathname.slice(1);
      const person = memory.user({ platform: "api", id }).layers;
      return answerMcp(request, await request.clone().json(), {
        person,
        log: QUIET,
        client: "gateway",
        mirror: NO_PROVIDER,
      });
    }, OWN_RESPONSES),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await memory.close();
    },
  };
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

describe("MCP over streamable HTTP", () => {
  it("offers the tools of the stdio server, with schemas of their answers", async () => {
    await using server = await listening(tempDirectory());
    const client = await connected(`${server.url}/ana`);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(["memory", "memory_history", "session_search"]);
    for (const tool of tools) expect(tool.outputSchema).toMatchObject({ type: "object" });
    await client.close();
  });

  it("answers with structured content that the client's validator accepts", async () => {
    await using server = await listening(tempDirectory());
    const client = await connected(`${server.url}/ana`);
    await client.listTools(); // the client validates answers of listed tools
    const added = await client.callTool({
      name: "memory",
      arguments: { action: "add", target: "user", content: "Ana likes the harbour" },
    });
    expect(added.structuredContent).toMatchObject({ success: true, entries: ["Ana likes the harbour"] });
    const refused = await client.callTool({ name: "memory", arguments: { action: "fly" } });
    expect(refused.isError).toBe(true);
    expect(refused.structuredContent).toBeUndefined();
    for (const args of [{}, { query: "harbour" }, { query: '"no such phrase"' }]) {
      const found = await client.callTool({ name: "session_search", arguments: args });
      if (!found.isError) expect(found.structuredContent).toMatchObject({ success: true });
    }
    const history = await client.callTool({ name: "memory_history", arguments: {} });
    expect(history.structuredContent).toMatchObject({ success: true, count: 1 });
    await client.close();
  });

  it("shows a user nothing of another one", async () => {
    await using server = await listening(tempDirectory());
    const [ana, bo] = [await connected(`${server.url}/ana`), await connected(`${server.url}/bo`)];
    await ana.callTool({
      name: "memory",
      arguments: { action: "add", content: "The vault code is blue-17" },
    });
    const seen = [
      await bo.readResource({ uri: "hermes://memory/memory" }),
      await bo.callTool({ name: "memory_history", arguments: {} }),
      await bo.callTool({ name: "memory", arguments: { action: "remove", old_text: "vault" } }),
      await bo.getPrompt({ name: "memory" }),
    ];
    expect(JSON.stringify(seen)).not.toContain("blue-17");
    expect(JSON.stringify(await ana.readResource({ uri: "hermes://memory/memory" }))).toContain("blue-17");
    await Promise.all([ana.close(), bo.close()]);
  });
});
