// What children may not do, how many may run, and how they are stopped.
import { describe, expect, it } from "vitest";
import { type Child, runChildren } from "../../src/agent/delegation/delegate-task.ts";
import { createAgent } from "../../src/agent/index.ts";
import type { Step } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";
import { delegate, delegationHome, requestsOf } from "./delegation-home.ts";
import { call, lookTool } from "./turns.ts";

const deep = (levels: number) => ({ delegation: { max_spawn_depth: levels } });

describe("a call that hands over nothing", () => {
  it.each([
    ["no goal", {}, {}, "goal is required"],
    ["a blank goal", { goal: " \n" }, {}, "goal is required"],
    ["a goal that is no text", { goal: 7 }, {}, "goal is required"],
    ["a task without a goal", { tasks: [{ goal: "a" }, { context: "b" }] }, {}, "Task 2 has no goal"],
    ["a task that is none", { tasks: [{ goal: "a" }, "b"] }, {}, "Task 2 has no goal"],
    ["too many tasks", { tasks: Array(11).fill({ goal: "a" }) }, {}, "11 tasks are more than the 10"],
    [
      "more than config allows",
      { tasks: Array(2).fill({ goal: "a" }) },
      { delegation: { max_concurrent_children: 1 } },
      "than the 1",
    ],
  ])("is refused with the reason: %s", async (_what, args, config, why) => {
    const made = await delegationHome({ parent: [delegate(args)], config });
    expect(await made.agent.run("go")).toMatchObject({ completed: true });
    expect(made.answer().error).toContain(why);
    expect(made.childRequests.size).toBe(0);
  });
});

describe("how deep", () => {
  it("0: no agent has the tool", async () => {
    const made = await delegationHome({ config: deep(0) });
    await made.agent.run("go");
    expect(made.parentRequests[0]?.tools).not.toContain("delegate_task");
  });

  it("2: an orchestrator has it, its children and leaves have not; rows and costs follow", async () => {
    const usage = { input: 1_000, output: 0 };
    const made = await delegationHome({
      config: { ...deep(2), models: { prices: { "test-model": { input: 1_000, output: 0 } } } },
      parent: [
        { ...delegate({ tasks: [{ goal: "lead", role: "orchestrator" }, { goal: "leaf" }] }), usage },
        { text: "Done.", usage },
      ],
      child: (goal, nth): Step => ({
        ...(goal === "lead" && nth === 0
          ? delegate({ goal: "below", role: "orchestrator" })
          : { text: `Did ${goal}.` }),
        usage,
      }),
    });
    const result = await made.agent.run("go");
    const has = (goal: string): boolean | undefined =>
      requestsOf(made, goal)[0]?.tools.includes("delegate_task");
    expect([has("lead"), has("leaf"), has("below")]).toEqual([true, false, false]);
    expect(result.estimated_cost_usd).toBeCloseTo(6, 10); // two calls of the parent, two of 'lead', one of each other child
    const all = (await made.agent.store?.listSessionsRich({ limit: 50, includeChildren: true })) ?? [];
    const parents = new Map(all.map(({ id, parent_session_id: parent }) => [id, parent]));
    const depth = (id: string | null | undefined): number => (id ? 1 + depth(parents.get(id)) : 0);
    expect(all.map(({ id }) => depth(id)).toSorted()).toEqual([1, 2, 2, 3]);
  });
});

describe("a child's tools", () => {
  it("are the sets it is given, without those a child never gets", async () => {
    const made = await delegationHome({
      parent: [
        delegate({
          tasks: [
            { goal: "a", toolsets: ["todo", "memory", "delegation"] },
            { goal: "b", toolsets: [] },
          ],
        }),
      ],
    });
    await made.agent.run("go");
    expect(requestsOf(made, "a")[0]?.tools).toEqual(["read_result", "todo"]);
    expect(requestsOf(made, "b")[0]?.tools).toContain("session_search"); // an empty list means the parent's toolsets
  });

  it("are without what config switches off, and have the program's own only where those are named or nothing is", async () => {
    const { tools } = lookTool();
    const made = await delegationHome({
      config: { agent: { disabled_toolsets: ["skills"] } },
      parent: [
        delegate({ goal: "a", toolsets: ["skills", "todo"] }),
        delegate({ goal: "b", toolsets: ["todo", "user"] }),
      ],
      options: { tools },
    });
    await made.agent.run("go");
    expect(requestsOf(made, "a")[0]?.tools).toEqual(["read_result", "todo"]);
    expect(requestsOf(made, "b")[0]?.tools.toSorted()).toEqual(["look", "read_result", "todo"]);
  });

  it("are subject to the parent's preToolCall hook, on every level", async () => {
    const { tools, given } = lookTool();
    const asked: string[] = [];
    const made = await delegationHome({
      config: deep(2),
      parent: [delegate({ goal: "lead", role: "orchestrator" })],
      options: {
        tools,
        hooks: {
          preToolCall: ({ name }) => {
            asked.push(name);
            return name === "look" ? { block: "Do not look." } : undefined;
          },
        },
      },
      child: (goal, nth) => {
        if (nth > 0) return { text: "Well." };
        return goal === "lead" ? delegate({ goal: "below" }) : call("look");
      },
    });
    await made.agent.run("go");
    expect(asked).toEqual(["delegate_task", "delegate_task", "look"]);
    expect(given).toEqual([]);
  });
});

describe("a child that does not end by itself", () => {
  it("is stopped with its parent: its sockets are closed and the parent's turn is over", async () => {
    const made = await delegationHome({
      parent: [delegate({ tasks: [{ goal: "a" }, { goal: "b" }] })],
      child: () => ({ text: "x", pauseBefore: "forever" }),
    });
    const turn = made.agent.run("go");
    for (const request of [1, 2]) await made.wire.waitForRequest(request);
    made.agent.interrupt();
    expect(await turn).toMatchObject({ interrupted: true });
    for (const request of [1, 2]) await made.wire.waitForAbort(request);
    const result = made.agent.messages.findLast(({ role }) => role === "tool");
    expect(JSON.parse(String(result?.content)).results).toMatchObject([
      { status: "interrupted", summary: null, exit_reason: "interrupted" },
      { status: "interrupted", summary: null, exit_reason: "interrupted" },
    ]);
    expect(await made.agent.run("again")).toMatchObject({ completed: true });
  });

  it("is stopped when its time is over, and only then called late", async () => {
    const { home, wire } = await agentHome((request) =>
      JSON.stringify(request.messages).includes("slow")
        ? { text: "x", pauseBefore: "forever" }
        : { text: "Quick." },
    );
    const spawn = async (): Promise<Child> => {
      const agent = await createAgent({
        home,
        env: {},
        cwd: home,
        titles: false,
        review: false,
        skipMemory: true,
      });
      return {
        sessionId: agent.sessionId,
        model: "m",
        run: (message, signal) => agent.run(message, { signal }),
        close: () => agent.close(),
      };
    };
    const task = { context: "", toolsets: undefined, role: "leaf" } as const;
    const signal = new AbortController().signal;
    const tasks = [
      { ...task, goal: "slow" },
      { ...task, goal: "other" },
    ];
    const [slow, quick] = await runChildren(tasks, spawn, { signal, timeoutMs: 1_000 });
    expect(slow?.result).toMatchObject({
      status: "failed",
      summary: null,
      exit_reason: "interrupted",
      error: expect.stringContaining("child_timeout_seconds"),
    });
    expect(quick?.result).toMatchObject({ status: "completed", summary: "Quick." });
    await wire.waitForAbort(wire.requests.findIndex(({ raw }) => raw.includes("slow")));
  });
});

describe("a child that cannot even be made", () => {
  it("is an error with the reason, without keys", async () => {
    const key = "sk-abcdefghijklmnopqrstuvwxyz012345";
    const task = { goal: "a", context: "", toolsets: undefined, role: "leaf" } as const;
    const [child] = await runChildren([task], () => Promise.reject(new Error(`No model for ${key}`)), {
      signal: new AbortController().signal,
      timeoutMs: undefined,
    });
    expect(child).toMatchObject({ sessionId: undefined, costUsd: null });
    expect(child?.result).toMatchObject({
      status: "error",
      exit_reason: "error",
      error: expect.stringContaining("No model for"),
    });
    expect(JSON.stringify(child)).not.toContain(key);
  });
});
