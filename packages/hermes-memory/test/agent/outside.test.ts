// What comes from outside and exceeds every bound, in a running agent: the turn ends with a plain answer or error, and the next
// one works.
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { call } from "../../../agent/test/agent/turns.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

const RAW = join(import.meta.dirname, "../../../agent/test/fakes/mcp-raw-server.ts");
const DEEP = `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`;

/** `config`: keys of the server's section. */
function rawServer(args: readonly string[] = [], config: object = {}): Record<string, unknown> {
  return { mcp_servers: { raw: { command: process.execPath, args: [RAW, ...args], ...config } } };
}

describe("arguments of 3,000 levels", () => {
  it("are answered with an error at once, run nothing, and leave every later turn usable", async () => {
    const ran: unknown[] = [];
    const look = tool({
      inputSchema: z.looseObject({}),
      execute: async (input) => {
        ran.push(input);
        return "seen";
      },
    });
    const { agent, wire, another } = await agentHome(
      [call("look", DEEP), { text: "Too deep." }, { text: "Still here." }, { text: "And resumed." }],
      { options: { tools: { look } } },
    );
    expect(await agent.run("look")).toMatchObject({
      final_response: "Too deep.",
      completed: true,
      api_calls: 2,
    });
    expect(ran).toEqual([]);
    expect(wire.wireMessages(1).at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("nested deeper than 100 levels"),
    });
    expect(await agent.run("again")).toMatchObject({ final_response: "Still here." });
    const resumed = await another({ resume: agent.sessionId });
    expect(await resumed.run("once more")).toMatchObject({ final_response: "And resumed." });
  });

  it("in a session that was stored before there was a bound do not break it", async () => {
    const home = tempDirectory();
    const id = "20260101_000000_abcdef";
    {
      await using store = await openSessionStore({ path: join(home, "state.db") });
      await store.createSession(id, { source: "cli" });
      const calls = [{ id: "call_1", type: "function", function: { name: "look", arguments: DEEP } }];
      const objects = [
        { id: "call_2", type: "function", function: { name: "look", arguments: JSON.parse(DEEP) } },
      ];
      await store.appendMany(id, [
        { role: "user", content: "look" },
        { role: "assistant", content: "", tool_calls: calls },
        { role: "tool", content: "seen", tool_call_id: "call_1", tool_name: "look" },
        { role: "assistant", content: "", tool_calls: objects },
        { role: "tool", content: "seen", tool_call_id: "call_2", tool_name: "look" },
        { role: "assistant", content: "Seen." },
      ]);
    }
    const { agent, wire } = await agentHome(
      [{ text: "Works again." }, { text: "Compacted." }, { text: "On." }],
      {
        home,
        options: { resume: id },
        wire: { mayRunOut: true },
      },
    );
    expect(await agent.run("and now?")).toMatchObject({ final_response: "Works again.", completed: true });
    expect(JSON.stringify(wire.wireMessages(0))).toContain("could not be read");
    await agent.compress();
    expect((await agent.run("and then?")).completed).toBe(true);
  });
});

describe("an MCP server with a schema of thousands of levels", () => {
  it("costs its tool and a warning, not the agent", async () => {
    const { agent } = await agentHome([call("mcp_raw_echo", {}), { text: "Hello." }], {
      config: rawServer(),
    });
    expect(agent.warnings).toEqual([expect.stringMatching(/MCP server 'raw'.*mcp_raw_deep\./)]);
    expect(await agent.run("hi")).toMatchObject({ final_response: "Hello." });
  });
});

describe("5,000 tools of one MCP server", () => {
  it("end the turn with an error that names the server and the key that restricts it, and nothing is lost", async () => {
    const model = { context_length: 100_000 };
    const config = { ...rawServer(["5000"]), model };
    const full = await agentHome([], { config, wire: { mayRunOut: true } });
    const result = await full.agent.run("hi");
    expect(result).toMatchObject({ exit: "context_overflow", failed: true });
    expect(result.error).toMatch(/MCP server 'raw' brings 5,000 tools \(about [\d,]+ tokens\)/);
    expect(result.error).toContain("mcp_servers.raw.tools.include");
    expect(full.wire.requests).toHaveLength(0);
    const { agent } = await agentHome([{ text: "Hello." }], {
      home: full.home,
      config: { ...rawServer(["5000"], { tools: { include: ["tool_1", "tool_2"] } }), model },
      options: { resume: full.agent.sessionId },
    });
    expect(await agent.run("and now?")).toMatchObject({ final_response: "Hello." });
  });
});
