// Titles after the first exchange, and the hook that says when a review is due, both in a running agent.
import { describe, expect, it } from "vitest";
import type { Agent, AgentEvent } from "../../src/agent/index.ts";
import { type RecordedRequest, type Script, serverError } from "../fakes/wires/script.ts";
import { startWire } from "../fakes/wires/wire-in-test.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";

const isTitleCall = ({ system }: RecordedRequest): boolean => system.startsWith("You name conversations");

const TITLED = { options: { titles: true } };

/** Answers turns with "ok" and requests for a title with `title`. */
function titling(title: string): Script {
  return (request) => (isTitleCall(request) ? { text: title } : { text: "ok" });
}

/** Resolves with the next title an agent of this home sets. */
function nextTitle(agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const stop = agent.onEvent((event: AgentEvent) => {
      if (event.type !== "title-set") return;
      stop();
      resolve(event.title);
    });
  });
}

function titleCalls({ wire }: Pick<AgentHome, "wire">): readonly RecordedRequest[] {
  return wire.requests.filter(isTitleCall);
}

describe("a title", () => {
  it("is asked for after the first exchange, with both sides and without tools", async () => {
    const made = await agentHome(titling('"Firing porcelain"'), TITLED);
    const titled = nextTitle(made.agent);
    await made.agent.run("How hot for porcelain?");
    expect(await titled).toBe("Firing porcelain");
    expect(await made.agent.title()).toBe("Firing porcelain");
    const [call] = titleCalls(made);
    expect(String(call?.messages[0]?.content)).toMatch(/How hot for porcelain\?.*ok/s);
    expect(call?.tools).toEqual([]);
    await made.agent.run("And stoneware?");
    await made.agent.close();
    expect(titleCalls(made)).toHaveLength(1);
  });

  it("that is under way is waited for when the agent closes", async () => {
    const { agent, wire, another } = await agentHome(
      (request) => (isTitleCall(request) ? { text: "Just in time", delayMs: 50 } : { text: "ok" }),
      TITLED,
    );
    await agent.run("hello");
    await wire.waitForRequest(1);
    await agent.close();
    expect(await (await another()).store?.getSessionTitle(agent.sessionId)).toBe("Just in time");
  });

  it("that never comes delays the closing no longer than its timeout", async () => {
    const { agent, wire } = await agentHome(
      (request) => (isTitleCall(request) ? { text: "x", pauseBefore: "forever" } : { text: "ok" }),
      { ...TITLED, config: { auxiliary: { title_generation: { timeout: 1 } } } },
    );
    await agent.run("hello");
    await wire.waitForRequest(1);
    await agent.close();
    await wire.waitForAbort(1);
  });

  it("is written by the model that config names for it", async () => {
    const small = await startWire("chat", [{ text: "By the small one" }]);
    const { agent, wire } = await agentHome([{ text: "ok" }], {
      ...TITLED,
      config: {
        auxiliary: {
          title_generation: { provider: "custom", base_url: small.url, model: "tiny", api_key: "other-key" },
        },
      },
    });
    const titled = nextTitle(agent);
    await agent.run("hello");
    expect(await titled).toBe("By the small one");
    expect(small.requests[0]?.body).toMatchObject({ model: "tiny", temperature: 0.3 });
    expect(small.requests[0]?.headers.authorization).toBe("Bearer other-key");
    expect(wire.requests).toHaveLength(1);
  });

  it("is not asked for after a turn that failed, and is after the next one", async () => {
    const replies = [serverError(400), { text: "ok" }, { text: "A title" }];
    const { agent, wire } = await agentHome(replies, TITLED);
    expect(await agent.run("hello")).toMatchObject({ failed: true });
    expect(wire.requests).toHaveLength(1);
    const titled = nextTitle(agent);
    await agent.run("hello again");
    expect(await titled).toBe("A title");
  });
});

describe("memory is due", () => {
  it("again after a hook that failed to take it", async () => {
    let asked = 0;
    const { agent } = await agentHome(() => ({ text: "ok" }), {
      config: { memory: { nudge_interval: 2 } },
      options: {
        hooks: {
          reviewDue: () => {
            asked += 1;
            if (asked === 1) throw new Error("busy");
          },
        },
      },
    });
    for (let turn = 0; turn < 3; turn += 1)
      expect(await agent.run("hello")).toMatchObject({ completed: true });
    expect(asked).toBe(2);
  });
});
