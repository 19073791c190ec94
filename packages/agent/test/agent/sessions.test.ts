// Session commands: the calls that providers get, their arguments and their order, each once.
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import { recorded, slash, spoken, told } from "./recorded.ts";

async function typed(agent: Agent, line: string): Promise<string> {
  const { kind, json } = await slash(agent, line);
  const problem = (json as { kind?: string; success?: boolean }) ?? {};
  return kind === "error" || problem.success === false ? String(problem.kind) : "done";
}

describe("the slash commands of sessions", () => {
  it("/new ends the old session for the provider, then switches with a reset", async () => {
    const { agent, recorder } = await recorded();
    const old = agent.sessionId;
    await agent.run("say one");
    expect(await typed(agent, "/reset Second talk")).toBe("done");
    expect(agent.sessionId).not.toBe(old);
    expect(told(recorder, "syncTurn")).toEqual([
      ["syncTurn", "say one", "reply to one"],
      ["onSessionEnd", ["user: say one", "assistant: reply to one"]],
      ["onSessionSwitch", agent.sessionId, { parent_session_id: old, reset: true, reason: "new_session" }],
    ]);
    expect(await agent.store?.getSession(old)).toMatchObject({ end_reason: "new_session" });
    expect(await agent.store?.getSession(agent.sessionId)).toBeNull();
    expect(await agent.title()).toBe("Second talk");
    expect(agent.messages).toEqual([]);
    expect(await agent.status()).toMatchObject({ turns: 0, api_calls: 0 });

    await agent.run("say two");
    expect(await agent.store?.getSession(agent.sessionId)).toMatchObject({
      title: "Second talk",
      parent_session_id: null,
    });
  });

  it("/new on an empty session only switches, and leaves no row of it", async () => {
    const { agent, recorder } = await recorded();
    const old = agent.sessionId;
    expect(await typed(agent, "/new")).toBe("done");
    expect(told(recorder)).toEqual([
      ["onSessionSwitch", agent.sessionId, { parent_session_id: old, reset: true, reason: "new_session" }],
    ]);
    expect(await agent.store?.sessionCount()).toBe(0);
  });

  it("/resume ends the session that is left and goes back to the other", async () => {
    const { agent, recorder } = await recorded();
    const first = agent.sessionId;
    await agent.run("say one");
    await typed(agent, "/new");
    const second = agent.sessionId;
    await agent.run("say two");
    told(recorder);

    expect(await typed(agent, `/resume ${first}`)).toBe("done");
    expect(agent.sessionId).toBe(first);
    expect(told(recorder)).toEqual([
      ["onSessionEnd", ["user: say two", "assistant: reply to two"]],
      ["onSessionSwitch", first, { parent_session_id: second, reset: false, reason: "resume" }],
    ]);
    expect(spoken(agent.messages)).toEqual(["user: say one", "assistant: reply to one"]);
    expect(await agent.store?.getSession(second)).toMatchObject({ end_reason: "resumed_other" });
    expect(await agent.store?.getSession(first)).toMatchObject({ ended_at: null, end_reason: null });
    expect(await agent.status()).toMatchObject({ api_calls: 0 });
  });

  it("/resume takes a unique beginning of an id and a title, and drops what stands around them", async () => {
    const { agent } = await recorded();
    const first = agent.sessionId;
    await agent.run("say one");
    expect(await typed(agent, "/title Blue kiln")).toBe("done");
    await typed(agent, "/new");
    expect(await typed(agent, "/resume Blue kiln")).toBe("done");
    expect(agent.sessionId).toBe(first);
    await typed(agent, "/new");
    expect(await typed(agent, "/resume [Blue kiln]")).toBe("done");
    await typed(agent, "/new");
    expect(await typed(agent, `/resume ${first.slice(0, -2)}`)).toBe("done");
    expect(agent.sessionId).toBe(first);
  });

  it("/resume of a compacted conversation goes to where it goes on", async () => {
    const { agent, recorder } = await recorded();
    const head = agent.sessionId;
    for (const word of ["one", "two", "three", "four"]) await agent.run(`say ${word}`);
    told(recorder);
    expect(await typed(agent, "/compress")).toBe("done");
    const tip = agent.sessionId;
    expect(tip).not.toBe(head);
    await typed(agent, "/new");
    const left = agent.sessionId;
    told(recorder);
    expect(await typed(agent, `/resume ${head}`)).toBe("done");
    expect(agent.sessionId).toBe(tip);
    expect(told(recorder)).toEqual([
      ["onSessionSwitch", tip, { parent_session_id: left, reset: false, reason: "resume" }],
    ]);
  });

  it("/branch ends the original for the provider and goes on in a copy", async () => {
    const { agent, recorder } = await recorded();
    const old = agent.sessionId;
    await agent.run("say one");
    await typed(agent, "/title Kiln");
    told(recorder);
    expect(await typed(agent, "/branch")).toBe("done");
    const branch = agent.sessionId;
    expect(branch).not.toBe(old);
    expect(told(recorder)).toEqual([
      ["onSessionEnd", ["user: say one", "assistant: reply to one"]],
      ["onSessionSwitch", branch, { parent_session_id: old, reset: false, reason: "branch" }],
    ]);
    expect(await agent.store?.getSession(old)).toMatchObject({ end_reason: "branched" });
    expect(await agent.store?.getSession(branch)).toMatchObject({ title: "Kiln #2", parent_session_id: old });
    await agent.run("say two");
    expect(await agent.store?.getMessages(old)).toHaveLength(2);
    expect(await agent.store?.getMessages(branch)).toHaveLength(4);
  });

  it("/undo tells the provider that the same session was cut, and nothing else", async () => {
    const { agent, recorder } = await recorded();
    for (const word of ["one", "two", "three"]) await agent.run(`say ${word}`);
    told(recorder);
    const { sessionId } = agent;
    expect(await typed(agent, "/undo 2")).toBe("done");
    expect(told(recorder)).toEqual([
      ["onSessionSwitch", sessionId, { parent_session_id: "", reset: false, rewound: true, undone_turns: 2 }],
    ]);
    expect(spoken(agent.messages)).toEqual(["user: say one", "assistant: reply to one"]);
    expect(await agent.store?.getSession(sessionId)).toMatchObject({ rewind_count: 1, end_reason: null });
  });

  it("a title that waited for its session does not follow into another one", async () => {
    const { agent } = await recorded();
    const first = agent.sessionId;
    await agent.run("say one");
    await typed(agent, "/new");
    await typed(agent, "/title Never stored");
    await typed(agent, `/resume ${first}`);
    expect(await agent.title()).toBeNull();
    await agent.run("say two");
    expect(await agent.store?.getSessionTitle(first)).toBeNull();
  });

  it("/resume of the session at hand, and of one that is not there, changes and tells nothing", async () => {
    const { agent, recorder } = await recorded();
    await agent.run("say one");
    told(recorder);
    const { sessionId } = agent;
    expect(await typed(agent, `/resume ${sessionId}`)).toBe("same_session");
    expect(await typed(agent, "/resume no such thing")).toBe("not_found");
    expect(agent.sessionId).toBe(sessionId);
    expect(told(recorder)).toEqual([]);
  });

  it("/branch before anything was said is refused, and no provider hears of it", async () => {
    const { agent, recorder } = await recorded();
    expect(await typed(agent, "/branch")).toBe("nothing");
    expect(told(recorder)).toEqual([]);
  });

  it("no provider hears of an /undo without a turn", async () => {
    const { agent, recorder } = await recorded();
    expect(await typed(agent, "/undo 1")).toBe("nothing");
    expect(told(recorder)).toEqual([]);
  });
});
