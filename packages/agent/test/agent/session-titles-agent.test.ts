// Titles after the first exchange, and the hook that says when a review is due, both in a running agent.
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../../../core/test/fakes/providers.ts";
import type { Agent, AgentEvent, AgentHooks } from "../../src/agent/index.ts";
import { gate, type RecordedRequest, type Script, serverError } from "../fakes/wires/script.ts";
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

  it("delays no turn: the turn is over before the title is there", async () => {
    const slow = gate();
    const { agent } = await agentHome(
      (request) => (isTitleCall(request) ? { text: "Late", pauseBefore: slow } : { text: "ok" }),
      TITLED,
    );
    const titled = nextTitle(agent);
    expect(await agent.run("hello")).toMatchObject({ final_response: "ok" });
    expect(await agent.title()).toBeNull();
    slow.open();
    expect(await titled).toBe("Late");
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

  it("that is taken gets a number", async () => {
    const { agent } = await agentHome(titling("Porcelain"), TITLED);
    const first = nextTitle(agent);
    await agent.run("one");
    expect(await first).toBe("Porcelain");
    await agent.newSession();
    const second = nextTitle(agent);
    await agent.run("two");
    expect(await second).toBe("Porcelain #2");
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

  it("is not asked for after an interrupted turn", async () => {
    const made = await agentHome(() => ({ text: "abc", pauseAt: { chars: 1, until: "forever" } }), TITLED);
    const running = made.agent.run("hello", {
      onEvent: ({ type }) => void (type === "text-delta" && made.agent.interrupt()),
    });
    expect(await running).toMatchObject({ interrupted: true });
    await made.agent.close();
    expect(titleCalls(made)).toEqual([]);
  });

  it("of the user's own is left alone, also when it comes while the model thinks", async () => {
    const slow = gate();
    const made = await agentHome(
      (request) => (isTitleCall(request) ? { text: "Model's", pauseBefore: slow } : { text: "ok" }),
      TITLED,
    );
    await made.agent.run("hello");
    await made.wire.waitForRequest(1);
    await made.agent.setTitle("Mine");
    slow.open();
    await made.agent.newSession({ title: "Also mine" });
    await made.agent.run("hello");
    const { sessionId } = made.agent;
    await made.agent.close();
    const { store } = await made.another();
    expect(titleCalls(made)).toHaveLength(1);
    expect(await store?.getSessionTitle(sessionId)).toBe("Also mine");
    expect(await store?.resolveSessionByTitle("Mine")).not.toBeNull();
  });

  it("belongs to the session it was asked for, wherever the conversation has gone since", async () => {
    const slow = gate();
    const { agent, wire } = await agentHome(
      (request) => (isTitleCall(request) ? { text: "Of the first", pauseBefore: slow } : { text: "ok" }),
      TITLED,
    );
    const first = agent.sessionId;
    await agent.run("hello");
    await wire.waitForRequest(1);
    await agent.newSession();
    const titled = nextTitle(agent);
    slow.open();
    await titled;
    expect(await agent.store?.getSessionTitle(first)).toBe("Of the first");
    expect(await agent.title()).toBeNull();
  });

  it("costs a line in the log when the model fails, and no turn", async () => {
    const log = recordingLogger();
    const { agent } = await agentHome(
      (request) => (isTitleCall(request) ? serverError(400) : { text: "ok" }),
      { options: { titles: true, log } },
    );
    expect(await agent.run("hello")).toMatchObject({ completed: true });
    await agent.close();
    expect(log.at("warn")).toEqual([expect.stringContaining("No title was made")]);
  });

  it("is not asked for where titles are switched off", async () => {
    const made = await agentHome([{ text: "ok" }]);
    await made.agent.run("hello");
    await made.agent.close();
    expect(made.wire.requests).toHaveLength(1);
  });
});

describe("memory is due", () => {
  type Due = Parameters<NonNullable<AgentHooks["reviewDue"]>>[0];

  /** An agent with an interval of three turns, and the turns of the session after which a review was due. */
  async function nudged(script: Script = () => ({ text: "ok" }), config = {}) {
    const due: Due[] = [];
    const made = await agentHome(script, {
      config: { memory: { nudge_interval: 3 }, ...config },
      options: { hooks: { reviewDue: (what) => void due.push(what) } },
    });
    const turns = async (count: number, agent = made.agent): Promise<number[]> => {
      const fired: number[] = [];
      for (let turn = 1; turn <= count; turn += 1) {
        const before = due.length;
        await agent.run("hello");
        if (due.length > before) fired.push(turn);
      }
      return fired;
    };
    return { ...made, due, turns };
  }

  it("on every third turn, with the session it is about", async () => {
    const { turns, due, agent } = await nudged();
    expect(await turns(7)).toEqual([3, 6]);
    expect(due[0]).toEqual({ sessionId: agent.sessionId, memory: true, skills: false });
  });

  it("later when the model has looked after it by itself", async () => {
    let calls = 0;
    const add = {
      name: "memory",
      arguments: { action: "add", target: "memory", content: "The kiln is blue" },
    };
    const { turns } = await nudged(() => (++calls === 2 ? { toolCalls: [add] } : { text: "ok" }));
    expect(await turns(6)).toEqual([5]); // the write is in turn 2
  });

  it("with the cadence of the session, also after it was resumed", async () => {
    const { turns, agent, another } = await nudged();
    await turns(2);
    const elsewhere = await another({ resume: agent.sessionId });
    expect(await turns(4, elsewhere)).toEqual([1, 4]);
    await agent.newSession();
    expect(await turns(3)).toEqual([3]);
    await agent.resume(elsewhere.sessionId); // six turns: the next one is the seventh
    expect(await turns(3)).toEqual([3]);
  });

  it("on the next turn when the one it fell on failed or was interrupted", async () => {
    let calls = 0;
    const { turns } = await nudged(() => (++calls === 3 ? serverError(400) : { text: "ok" }));
    expect(await turns(5)).toEqual([4]);
  });

  it.each([
    ["an interval of 0", { memory: { nudge_interval: 0 } }],
    ["no memory tool", { memory: { nudge_interval: 1 }, agent: { disabled_toolsets: ["memory"] } }],
    [
      "memory switched off",
      { memory: { nudge_interval: 1, memory_enabled: false, user_profile_enabled: false } },
    ],
  ])("never with %s", async (_what, config) => {
    const { turns } = await nudged(undefined, config);
    expect(await turns(3)).toEqual([]);
  });

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
