// Tools from outside in a running agent: the caller's own, and those of MCP servers.
import type { Agent } from "@hermes-memory/agent/internal/agent";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { gate } from "../../../agent/test/fakes/wires/script.ts";

const city = z.object({ city: z.string().describe("Where.") });

function toolTexts(agent: Agent): string[] {
  return agent.messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
}

describe("a tool of the caller's", () => {
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
