// Tools from outside in a running agent: the caller's own, and those of MCP servers.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "@hermes-memory/agent/internal/agent";
import { openHome } from "@hermes-memory/core/internal/memory";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { gate } from "../../../agent/test/fakes/wires/script.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const city = z.object({ city: z.string().describe("Where.") });

function toolTexts(agent: Agent): string[] {
  return agent.messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}

it("a model whose memory calls fail is told to stop at the third of a turn, and starts anew in the next", async () => {
  const fails = {
    toolCalls: [{ name: "memory", arguments: { action: "remove", target: "memory", old_text: "?" } }],
  };
  const { agent } = await agentHome([fails, fails, fails, { text: "Gave up." }, fails, { text: "Again." }]);
  await agent.run("Forget it.", { taskId: "one" });
  await agent.run("Forget it.", { taskId: "one" });
  const answers = toolTexts(agent).map((text) => JSON.parse(text) as { done?: boolean });
  expect(answers.map(({ done }) => done)).toEqual([undefined, undefined, true, undefined]);
});

describe("a tool of the caller's", () => {
  it("is described to the model, gets what zod made of its arguments, and its result goes back", async () => {
    const seen: unknown[] = [];
    const weather = tool({
      description: "Says the weather.",
      inputSchema: city.extend({ days: z.number().default(3) }),
      execute: async (input, { messages }) => {
        seen.push(input, messages);
        return { forecast: `rain in ${input.city}` };
      },
    });
    const { agent, wire, events } = await agentHome(
      [{ toolCalls: [{ name: "weather", arguments: { city: "Porto" } }] }, { text: "Rain." }],
      { options: { tools: { weather } } },
    );
    expect(await agent.run("Weather in Porto?")).toMatchObject({ final_response: "Rain.", api_calls: 2 });
    expect(seen).toEqual([{ city: "Porto", days: 3 }, [{ role: "user", content: "Weather in Porto?" }]]);
    expect(toolTexts(agent)).toEqual([JSON.stringify({ forecast: "rain in Porto" })]);
    expect(wire.wireMessages(1).at(-1)).toMatchObject({
      role: "tool",
      content: '{"forecast":"rain in Porto"}',
    });
    const offered = wire.requests[0]?.body.tools as { function: Record<string, unknown> }[] | undefined;
    expect(offered?.find((each) => each.function.name === "weather")?.function).toMatchObject({
      description: "Says the weather.",
      parameters: { properties: { city: { type: "string", description: "Where." } }, required: ["city"] },
    });
    expect(events).toContainEqual(expect.objectContaining({ type: "tool-start", name: "weather" }));
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool-end", name: "weather", isError: false }),
    );
  });

  it("is not run with arguments that do not fit; the model is told why and tries again", async () => {
    const asked: string[] = [];
    const weather = tool({
      inputSchema: city,
      execute: async (input) => {
        asked.push(input.city);
        return "rain";
      },
    });
    const { agent } = await agentHome(
      [
        { toolCalls: [{ name: "weather", arguments: { town: "Porto" } }] },
        { toolCalls: [{ name: "weather", arguments: { city: "Porto" } }] },
        { text: "Rain." },
      ],
      { options: { tools: { weather } } },
    );
    expect(await agent.run("?")).toMatchObject({ final_response: "Rain." });
    expect(asked).toEqual(["Porto"]);
    expect(toolTexts(agent)).toEqual([expect.stringContaining("city: "), "rain"]);
  });

  it("that fails costs an error result, and the turn goes on", async () => {
    const broken = tool({
      inputSchema: z.object({}),
      execute: async (): Promise<string> => {
        throw new Error("the sensor is off");
      },
    });
    const { agent } = await agentHome(
      [{ toolCalls: [{ name: "broken", arguments: {} }] }, { text: "It is off." }],
      { options: { tools: { broken } } },
    );
    expect(await agent.run("?")).toMatchObject({ final_response: "It is off.", failed: false });
    expect(toolTexts(agent)).toEqual([JSON.stringify({ error: "the sensor is off" })]);
  });

  it("that cannot be used is refused when the agent is made", async () => {
    const { another } = await agentHome([]);
    const given = tool({ inputSchema: z.object({}), execute: async () => "" });
    await expect(another({ tools: { memory: given } })).rejects.toMatchObject({ code: "bad-tool" });
    await expect(another({ tools: { mine: {} } })).rejects.toMatchObject({ code: "bad-tool" });
  });
});

describe("calls of one reply", () => {
  /** Two calls; each waits until `wanted` of them run, or gives up when told. */
  async function overlapping(readOnlyTools: string[]): Promise<{ most: number; results: string[] }> {
    const both = gate();
    let [running, most] = [0, 0];
    const look = tool({
      inputSchema: city,
      execute: async (input) => {
        running += 1;
        most = Math.max(most, running);
        if (running === 2) both.open();
        // Alone it must not wait for one that only starts after it.
        await (readOnlyTools.length > 0 ? both.opened : Promise.resolve());
        running -= 1;
        return `looked at ${input.city}`;
      },
    });
    const call = (name: string) => ({ name: "look", arguments: { city: name } });
    const { agent } = await agentHome([{ toolCalls: [call("Porto"), call("Faro")] }, { text: "Seen." }], {
      options: { tools: { look }, readOnlyTools },
    });
    await agent.run("?");
    return { most, results: toolTexts(agent) };
  }

  it("run at the same time when they are declared to change nothing, and keep their order", async () => {
    expect(await overlapping(["look"])).toEqual({ most: 2, results: ["looked at Porto", "looked at Faro"] });
  });

  it("run one after the other when not", async () => {
    expect(await overlapping([])).toEqual({ most: 1, results: ["looked at Porto", "looked at Faro"] });
  });
});

describe("the hook preToolCall", () => {
  it("keeps a call from running, and the model reads why", async () => {
    const ran: string[] = [];
    const asked: unknown[] = [];
    const remove = tool({
      inputSchema: city,
      execute: async (input) => {
        ran.push(input.city);
        return "gone";
      },
    });
    const call = (name: string) => ({ name: "remove", arguments: { city: name }, id: `call_${name}` });
    const { agent } = await agentHome(
      [{ toolCalls: [call("Porto"), call("Faro")] }, { text: "Only Faro." }],
      {
        options: {
          tools: { remove },
          hooks: {
            preToolCall: ({ callId, name, args, sessionId }) => {
              asked.push({ callId, name, args, sessionId });
              return args.city === "Porto" ? { block: "Porto stays." } : undefined;
            },
          },
        },
      },
    );
    expect(await agent.run("Remove both")).toMatchObject({ final_response: "Only Faro." });
    expect(ran).toEqual(["Faro"]);
    expect(toolTexts(agent)).toEqual([JSON.stringify({ error: "Porto stays." }), "gone"]);
    const { sessionId } = agent;
    expect(asked).toEqual([
      { callId: "call_Porto", name: "remove", args: { city: "Porto" }, sessionId },
      { callId: "call_Faro", name: "remove", args: { city: "Faro" }, sessionId },
    ]);
  });

  it("that fails has allowed nothing; the agent's own tools are asked about too", async () => {
    const add = { action: "add", target: "memory", content: "The kiln is blue" };
    const { agent } = await agentHome(
      [{ toolCalls: [{ name: "memory", arguments: add }] }, { text: "Not saved." }],
      { options: { hooks: { preToolCall: () => Promise.reject(new Error("no rules loaded")) } } },
    );
    await agent.run("Remember it");
    expect(toolTexts(agent)[0]).toContain("no rules loaded");
    expect(agent.memory?.entries("memory")).toEqual([]);
  });
});

describe("an MCP server in config", () => {
  it("lends its tools to a turn, its results are fenced, and its process ends with the agent", async () => {
    const theirs = tempDirectory();
    const pidFile = join(tempDirectory(), "pid");
    const notes = await openHome({ home: theirs }).owner.curated();
    await notes?.apply("memory", { action: "add", content: "The harbour crane is painted yellow" });
    const { agent, wire } = await agentHome(
      [{ toolCalls: [{ name: "mcp_notes_memory_history", arguments: {} }] }, { text: "Yellow." }],
      {
        config: {
          mcp_servers: {
            notes: {
              command: "/bin/sh",
              args: ["-c", `echo $$ > "$0"; exec "$@"`, pidFile, process.execPath, MAIN, "mcp"],
              env: { HERMES_HOME: theirs },
            },
          },
        },
        options: { env: process.env },
      },
    );
    expect(agent.warnings).toEqual([]);
    expect(agent.toolNames).toContain("mcp_notes_memory_history");
    expect(await agent.run("What colour is the crane?")).toMatchObject({ final_response: "Yellow." });
    const [result = ""] = toolTexts(agent);
    expect(result).toContain("harbour crane");
    expect(result).toMatch(/^<untrusted_tool_result source="mcp:notes\/memory_history">/);
    expect(wire.wireMessages(1).at(-1)).toMatchObject({ content: result });

    const pid = Number(readFileSync(pidFile, "utf8"));
    expect(() => process.kill(pid, 0)).not.toThrow();
    await agent.close();
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  it("that does not start costs a warning, and its tools", async () => {
    const { agent } = await agentHome([{ text: "ok" }], {
      config: { mcp_servers: { gone: { command: "/nonexistent/program" } } },
    });
    expect(agent.warnings).toEqual([expect.stringContaining("The MCP server 'gone' is not available")]);
    expect(await agent.run("hello")).toMatchObject({ completed: true });
  });
});

describe("a result too long for a conversation", () => {
  it("goes to a file; model and database get its beginning and the id of the rest", async () => {
    const long = `${"0123456789".repeat(12_000)} the end`;
    const dump = tool({ inputSchema: z.object({}), execute: async () => long });
    const { agent, wire } = await agentHome(
      [{ toolCalls: [{ name: "dump", arguments: {} }] }, { text: "Long." }],
      { options: { tools: { dump } } },
    );
    await agent.run("?");
    const [result = ""] = toolTexts(agent);
    expect(result.length).toBeLessThan(2_500);
    expect(result.startsWith("0123456789")).toBe(true);
    const id = /kept as result (\S+): read it in parts with read_result/.exec(result)?.[1] ?? "";
    expect(readFileSync(join(agent.home, "tool-results", `${id}.txt`), "utf8")).toBe(long);
    expect(wire.wireMessages(1).at(-1)).toMatchObject({ content: result });
    const rows = (await agent.store?.getMessages(agent.sessionId)) ?? [];
    expect(rows.find(({ role }) => role === "tool")?.content).toBe(result);
  });
});
