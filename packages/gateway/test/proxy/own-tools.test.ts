// When our tools are offered to the client's model, and how its calls of them run.
import { loadConfig } from "@hermes-memory/core/internal/config";
import { usable } from "@hermes-memory/core/internal/memory";
import { describe, expect, it } from "vitest";
import { type OwnTools, offeredTools, runCalls } from "../../src/proxy/own-tools.ts";
import { bodyOf, ProxyHome, type Sent } from "./proxy-home.ts";

const ASKED = [{ role: "user", content: "Hello there, kiln" }];
const ALL = ["memory", "session_search", "memory_history"];
const NOWHERE = "http://127.0.0.1:9";

async function offered(
  more: Readonly<Record<string, unknown>> = {},
  { gateway, ...sent }: Sent & { readonly gateway?: Readonly<Record<string, unknown>> } = {},
): Promise<{ readonly tools: OwnTools | undefined; readonly home: ProxyHome }> {
  const home = await ProxyHome.open({ wire: "chat", url: NOWHERE, gateway });
  const turn = home.turn(bodyOf("chat", ASKED, more), sent);
  return { tools: await offeredTools(turn, usable(await loadConfig(home.home))), home };
}

async function names(...given: Parameters<typeof offered>): Promise<readonly string[]> {
  return (await offered(...given)).tools?.names ?? [];
}

describe("our tools", () => {
  it("are offered unless the client has MCP or config says no", async () => {
    expect(await names()).toEqual(ALL);
    expect(await names({}, { client: "claude-code" })).toEqual([]);
    expect(await names({}, { client: "codex" })).toEqual([]);
    expect(await names({}, { client: "codex", gateway: { proxy_tools: "on" } })).toEqual(ALL);
    expect(await names({}, { gateway: { proxy_tools: "off" } })).toEqual([]);
  });

  it("are not offered where a call would break what the client asked for", async () => {
    expect(await names({ response_format: { type: "json_object" } })).toEqual([]);
    expect(await names({ response_format: { type: "text" } })).toEqual(ALL);
    expect(await names({ tool_choice: "none" })).toEqual([]);
    expect(await names({ n: 2 })).toEqual([]);
    expect(await names({ functions: [] })).toEqual([]);
  });

  it("leave a name to the client that has a tool of that name, however it is written", async () => {
    const named = (name: string) => ({ type: "function", function: { name, parameters: {} } });
    expect(await names({ tools: [named("Memory"), named("sessionSearch")] })).toEqual(["memory_history"]);
  });

  it("run one after the other, and a wrong call is told to the model", async () => {
    const { tools, home } = await offered();
    if (tools === undefined) throw new Error("none were offered");
    const call = (id: string, name: string, args: string) => ({ id, name, arguments: args, item: "" });
    const add = JSON.stringify({ action: "add", target: "memory", content: "The kiln is in room 4." });
    const calls = [
      call("a", "memory", add),
      call("b", "memory", "[]"),
      call("c", "nothing", "{}"),
      call("d", "memory_history", "{}"),
    ];
    const signal = new AbortController().signal;
    const results = await runCalls(calls, tools, { sessionId: "s", messages: [], signal });
    expect(results.map(({ id, isError }) => [id, isError])).toEqual([
      ["a", false],
      ["b", true],
      ["c", true],
      ["d", false],
    ]);
    expect(results[3]?.text).toContain("room 4");
    expect(home.events).toContainEqual(expect.objectContaining({ type: "memory-write" }));
  });
});
