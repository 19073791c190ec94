// Work that is handed to children: side by side, each in a session of its own, and what the parent gets back.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type DelegationHome,
  delegate,
  delegationHome,
  requestsOf,
} from "../../../agent/test/agent/delegation-home.ts";
import { lookTool, toolAnswers, turnHome } from "../../../agent/test/agent/turns.ts";
import { RECORDER, writeRecorder } from "../../../agent/test/fakes/recording-plugin.ts";
import { gate, type Step, serverError } from "../../../agent/test/fakes/wires/script.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "../cli/run.ts";

async function childRows({ agent }: Pick<DelegationHome, "agent">) {
  const all = (await agent.store?.listSessionsRich({ limit: 50, includeChildren: true })) ?? [];
  const rows = await Promise.all(all.map(({ id }) => agent.store?.getSession(id)));
  return rows.flatMap((row) => (row?.source === "subagent" ? [row] : []));
}

describe("one task", () => {
  it("runs in a child that knows goal and context only, and its summary comes back", async () => {
    const { tools } = lookTool();
    const made = await delegationHome({
      parent: [delegate({ goal: "count boats", context: "The harbour is north." })],
      options: { tools },
      child: (_goal, nth) =>
        nth === 0
          ? {
              toolCalls: [
                { name: "look", arguments: { at: "harbour" } },
                { name: "skill_view", arguments: { name: "none" } },
              ],
            }
          : { text: "There are 7 boats." },
    });
    expect(await made.agent.run("How many boats are there?")).toMatchObject({
      final_response: "Done.",
      api_calls: 2,
    });
    expect(made.answer()).toEqual({
      results: [
        {
          task_index: 0,
          status: "completed",
          summary: "There are 7 boats.",
          api_calls: 2,
          duration_seconds: expect.any(Number),
          model: "test-model",
          exit_reason: "completed",
          tokens: { input: expect.any(Number), output: expect.any(Number) },
          tool_trace: [
            { tool: "look", result_chars: 4, status: "ok" },
            { tool: "skill_view", result_chars: expect.any(Number), status: "error" },
          ],
        },
      ],
      total_duration_seconds: expect.any(Number),
    });
    const [request] = requestsOf(made, "count boats");
    expect(request?.messages).toHaveLength(1);
    const asked = String(request?.messages[0]?.content);
    expect(asked).toMatch(/^Your task:\ncount boats\n\nWhat you need to know:\nThe harbour is north\.\n\n/);
    expect(asked).not.toContain("How many");
  });

  it("has neither context files nor memory in its prompt, and fewer tools", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "AGENTS.md"), "Always whistle.");
    const recorder = writeRecorder(home, { systemPromptBlock: "Provider block.", prefetch: "Recalled." });
    const made = await delegationHome({
      home,
      config: { memory: { provider: RECORDER } },
      parent: [delegate({ goal: "sail" })],
    });
    await made.agent.memory?.apply("memory", { action: "add", content: "The crane is blue" });
    await made.agent.run("go");
    const [parent, child] = [made.parentRequests[0], requestsOf(made, "sail")[0]];
    for (const text of ["Always whistle.", "The crane is blue", "Provider block."]) {
      expect(parent?.system).toContain(text);
      expect(child?.system).not.toContain(text);
    }
    expect(child?.raw).not.toContain("Recalled.");
    expect(child?.tools.toSorted()).toEqual([
      "read_result",
      "session_search",
      "skill_manage",
      "skill_view",
      "skills_list",
      "todo",
    ]);
    await made.agent.close();
    const turns = recorder.calls.filter(({ hook }) =>
      ["onTurnStart", "syncTurn", "initialize"].includes(hook),
    );
    expect(turns.map(({ hook }) => hook)).toEqual(["initialize", "onTurnStart", "syncTurn"]); // the parent's
  });
});

describe("several tasks", () => {
  it("run side by side, and their results keep the order of the tasks", async () => {
    const gates = new Map([
      ["a", gate()],
      ["b", gate()],
      ["c", gate()],
    ]);
    const made = await delegationHome({
      parent: [delegate({ tasks: [...gates.keys()].map((goal) => ({ goal })) })],
      child: (goal) => ({ text: `Did ${goal}.`, pauseBefore: gates.get(goal) ?? "forever" }),
    });
    const turn = made.agent.run("go");
    for (const request of [1, 2, 3]) await made.wire.waitForRequest(request); // all asked, none answered
    for (const goal of ["c", "a", "b"]) gates.get(goal)?.open();
    await turn;
    expect(made.answer().results.map(({ task_index: at, summary }) => [at, summary])).toEqual([
      [0, "Did a."],
      [1, "Did b."],
      [2, "Did c."],
    ]);
  });

  it("cost one its own result when it fails, and nobody else's", async () => {
    const made = await delegationHome({
      parent: [delegate({ tasks: [{ goal: "good" }, { goal: "bad" }] })],
      child: (goal) => (goal === "bad" ? serverError() : { text: "Fine." }),
    });
    expect(await made.agent.run("go")).toMatchObject({ completed: true });
    const [good, bad] = made.answer().results;
    expect(good).toMatchObject({ status: "completed", summary: "Fine." });
    expect(bad).toMatchObject({
      status: "failed",
      summary: null,
      exit_reason: "error",
      error: expect.stringContaining("500"),
    });
  });
});

describe("the child's session", () => {
  it("is a row of its own below the parent's, with its owner, and out of the usual lists", async () => {
    const made = await delegationHome({
      parent: [delegate({ tasks: [{ goal: "a" }, { goal: "b" }] })],
      options: { user: { platform: "cli", id: "ana" } },
    });
    await made.agent.run("go");
    const rows = await childRows(made);
    expect(rows).toHaveLength(2);
    for (const row of rows) {
      expect(row).toMatchObject({
        source: "subagent",
        parent_session_id: made.agent.sessionId,
        user_id: "ana",
        title: null,
        message_count: 2,
        end_reason: expect.any(String),
      });
      expect(JSON.parse(String(row.model_config))).toMatchObject({ _delegate_from: made.agent.sessionId });
    }
    expect((await made.agent.store?.listSessionsRich({ limit: 10 }))?.map(({ id }) => id)).toEqual([
      made.agent.sessionId,
    ]);
    const { stdout } = await runHere(["sessions", "list", "--json"], { home: made.home });
    expect(stdout).toContain(made.agent.sessionId);
    for (const { id } of rows) expect(stdout).not.toContain(id);
    expect(await made.agent.store?.getCompressionTip(made.agent.sessionId)).toBe(made.agent.sessionId);
  });

  it("goes when its parent is deleted", async () => {
    const made = await delegationHome({ parent: [delegate({ goal: "a" })] });
    await made.agent.run("go");
    const [row] = await childRows(made);
    await made.agent.store?.deleteSession(made.agent.sessionId);
    expect(await made.agent.store?.getSession(row?.id ?? "")).toBeNull();
  });

  it("gets neither a title nor a review", async () => {
    const titles = (request: { tools: readonly string[] }): boolean => request.tools.length === 0;
    const made = await delegationHome({
      config: { memory: { nudge_interval: 0 }, skills: { creation_nudge_interval: 1 } },
      parent: [delegate({ goal: "a" })],
      options: { titles: true, review: true, hooks: { reviewDue: () => undefined } },
    });
    await made.agent.run("go");
    await made.agent.close();
    expect(requestsOf(made, "a")).toHaveLength(1);
    expect(made.wire.requests.filter(titles)).toHaveLength(1); // the parent's title
  });

  it("is compacted like any when it grows too long, and stays a child", async () => {
    const { tools } = lookTool(() => "boat ".repeat(3_800));
    let looks = 0;
    const made = await turnHome(
      ({ tools: offered, messages }): Step => {
        if (offered.length === 0) return { text: "## Goal\nLook around." };
        if (!offered.includes("delegate_task"))
          return looks++ < 4
            ? { toolCalls: [{ name: "look", arguments: { looks } }] }
            : { text: "Seen it all." };
        return messages.length === 1 ? delegate({ goal: "look around" }) : { text: "Done." };
      },
      {
        config: { model: { context_length: 20_000 }, compression: { target_ratio: 0.1, protect_last_n: 1 } },
        options: { tools },
      },
    );
    const result = await made.agent.run("go");
    expect(toolAnswers(result)[0]).toMatchObject({
      results: [{ status: "completed", summary: "Seen it all." }],
    });
    expect(made.wire.requests.some(({ tools: offered }) => offered.length === 0)).toBe(true);
    const rows = await childRows(made);
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.filter(({ end_reason: reason }) => reason === "compression").length).toBe(rows.length - 1);
    const listed = await made.agent.store?.listSessionsRich({ limit: 10 });
    expect(listed?.map(({ id }) => id)).toEqual([made.agent.sessionId]);
  });
});

describe("the provider", () => {
  it("hears of each child in the order of the tasks, and not of one without a word", async () => {
    const home = tempDirectory();
    const recorder = writeRecorder(home);
    const slow = gate();
    const made = await delegationHome({
      home,
      config: { memory: { provider: RECORDER } },
      parent: [delegate({ tasks: [{ goal: "slow" }, { goal: "bad" }, { goal: "quick" }] })],
      child: async (goal, _nth) => {
        if (goal === "bad") return serverError();
        if (goal === "quick") slow.open();
        return { text: `Did ${goal}.`, ...(goal === "slow" ? { pauseBefore: slow } : {}) };
      },
    });
    await made.agent.run("go");
    const rows = await childRows(made);
    await made.agent.close();
    const ids = new Set(rows.map(({ id }) => id));
    const heard = recorder.calls.filter(({ hook }) => hook === "onDelegation").map(({ args }) => args);
    expect(heard).toEqual([
      ["slow", "Did slow.", { child_session_id: expect.any(String) }],
      ["quick", "Did quick.", { child_session_id: expect.any(String) }],
    ]);
    for (const [, , { child_session_id: id }] of heard as [string, string, { child_session_id: string }][])
      expect(ids.has(id)).toBe(true);
  });
});

it("what children cost is added to what the parent has cost; each row has its own", async () => {
  const usage = { input: 1_000, output: 100 };
  const cost = (1_000 * 10 + 100 * 20) / 1e6;
  const made = await delegationHome({
    config: { models: { prices: { "test-model": { input: 10, output: 20 } } } },
    parent: [
      { ...delegate({ tasks: [{ goal: "a" }, { goal: "b" }] }), usage },
      { text: "Done.", usage },
    ],
    child: () => ({ text: "So.", usage }),
  });
  const result = await made.agent.run("go");
  expect(result.estimated_cost_usd).toBeCloseTo(4 * cost, 10);
  expect(result.input_tokens).toBe(2_000);
  expect(made.answer().results[0]?.tokens).toEqual({ input: 1_000, output: 100 });
  const parent = await made.agent.store?.getSession(made.agent.sessionId);
  expect(parent?.estimated_cost_usd).toBeCloseTo(2 * cost, 10);
  for (const row of await childRows(made)) expect(row.estimated_cost_usd).toBeCloseTo(cost, 10);
});

it("without a session database children work as well", async () => {
  const made = await delegationHome({ parent: [delegate({ goal: "a" })], options: { store: null } });
  await made.agent.run("go");
  expect(made.answer().results[0]).toMatchObject({ status: "completed", summary: "Did a." });
});
