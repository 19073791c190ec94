// After compactions: messages that can still be found, the task list, the title, and changes by other processes.
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import { callText, longAnswer } from "../fakes/long-conversation.ts";
import { compactionHome, history, longText } from "./compaction-home.ts";
import { call } from "./turns.ts";

async function search(agent: Agent, query: string): Promise<string> {
  const { messages } = await agent.run(callText("session_search", { query, scope: "lineage" }));
  return String(messages.findLast(({ role }) => role === "tool")?.content);
}

describe("session_search with scope lineage", () => {
  const answer = (request: Parameters<typeof longAnswer>[0]) => longAnswer(request, []);

  it("finds what was compacted and not what is still in the list, however often that was copied", async () => {
    const { agent, store } = await compactionHome({ answer });
    for (let round = 0; round < 3; round += 1) {
      await agent.compress();
      for (let turn = 0; turn < 4; turn += 1) await agent.run(longText(`later${round}x${turn}`));
    }
    expect(await store.listContinued(agent.sessionId)).toHaveLength(4);
    const live = agent.messages.map(({ content }) => String(content)).join("\n");
    expect(live).toContain("question1 "); // the beginning stays
    expect(live).not.toContain("question5 ");
    expect(await search(agent, "question1")).not.toContain(">>>question1<<<");
    expect(await search(agent, "later2x3")).not.toContain(">>>later2x3<<<");
    expect(await search(agent, "question5")).toContain(">>>question5<<<");
    expect(await search(agent, "later0x1")).toContain(">>>later0x1<<<");
  });
});

describe("the task list", () => {
  const HEADER = "[Your active task list was preserved across context compression]";
  const todo = (...statuses: readonly string[]) =>
    call("todo", {
      todos: statuses.map((status, at) => ({ id: `${at + 1}`, content: `paint boat ${at + 1}`, status })),
    });
  const lists = (agent: Agent): readonly string[] =>
    agent.messages.map(({ content }) => String(content)).filter((text) => text.startsWith(HEADER));

  it("survives compactions once, at the end, with what is still open", async () => {
    const { agent, wire } = await compactionHome({
      answer: ({ index }) => (index === 0 ? todo("completed", "in_progress", "pending") : undefined),
    });
    await agent.run("plan it");
    await agent.compress();
    const list = `${HEADER}\n- [>] 2. paint boat 2 (in_progress)\n- [ ] 3. paint boat 3 (pending)`;
    expect(lists(agent)).toEqual([list]);
    for (let turn = 0; turn < 4; turn += 1) await agent.run(longText(`later${turn}`));
    await agent.compress();
    expect(lists(agent)).toEqual([list]);
    expect(agent.messages.at(-1)?.content).toBe(list);
    await agent.run("and now?");
    expect(String(wire.requests.at(-1)?.messages.at(-1)?.content)).toBe(`${list}\n\nand now?`);
  });
});

describe("a compaction by hand", () => {
  it("reads first what another process has added to the session", async () => {
    const { agent, another } = await compactionHome();
    await agent.run("begin");
    const second = await another({ resume: agent.sessionId, history: [] });
    await second.run("something from elsewhere");
    expect(await agent.compress()).toMatchObject({ kind: "compacted" });
    expect(agent.messages.map(({ content }) => content)).toContain("something from elsewhere");
  });

  it("says who has the session when a turn of another process runs", async () => {
    const { agent, store } = await compactionHome();
    await store.acquireSessionLease(agent.sessionId, "pid=1:host=elsewhere:nonce=abcd", { ttl: 300 });
    const report = await agent.compress();
    expect(report).toMatchObject({ kind: "busy", feedback: { noop: true } });
    expect(report.notices.join()).toContain("process 1 on elsewhere");
  });
});

it("without a database the list is compacted in place, and the prompt reads memory again", async () => {
  const { agent } = await compactionHome({ options: { store: null, history: history(10) } });
  const id = agent.sessionId;
  expect(await agent.compress()).toMatchObject({ kind: "compacted", sessionId: id });
  expect(agent.messages.length).toBeLessThan(20);
  expect(await agent.run("go on")).toMatchObject({ completed: true, session_id: id });
});
