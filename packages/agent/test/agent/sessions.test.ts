// Session commands: the calls that providers get, their arguments and their order, each once. Every case is run through
// the agent's methods and through slash commands.
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import { recorded, slash, spoken, told } from "./recorded.ts";

type Driver = {
  readonly name: string;
  newSession(agent: Agent, title?: string): Promise<string>;
  resume(agent: Agent, target: string): Promise<string>;
  branch(agent: Agent, title?: string): Promise<string>;
  undo(agent: Agent, turns: number): Promise<string>;
  compress(agent: Agent): Promise<string>;
  title(agent: Agent, title: string): Promise<string>;
};

type Outcome = { readonly ok: true } | { readonly ok: false; readonly error: { readonly kind: string } };
const kindOf = (outcome: Outcome): string => (outcome.ok ? "done" : outcome.error.kind);

async function typed(agent: Agent, line: string): Promise<string> {
  const { kind, json } = await slash(agent, line);
  const problem = (json as { kind?: string; success?: boolean }) ?? {};
  return kind === "error" || problem.success === false ? String(problem.kind) : "done";
}

const DRIVERS: readonly Driver[] = [
  {
    name: "methods",
    newSession: async (agent, title) => kindOf(await agent.newSession(title === undefined ? {} : { title })),
    resume: async (agent, target) => kindOf(await agent.resume(target)),
    branch: async (agent, title) => kindOf(await agent.branch(title === undefined ? {} : { title })),
    undo: async (agent, turns) => kindOf(await agent.undo(turns)),
    compress: async (agent) => {
      const { kind } = await agent.compress();
      return kind === "compacted" ? "done" : kind;
    },
    title: async (agent, title) => kindOf(await agent.setTitle(title)),
  },
  {
    name: "slash commands",
    newSession: (agent, title) => typed(agent, title === undefined ? "/new" : `/reset ${title}`),
    resume: (agent, target) => typed(agent, `/resume ${target}`),
    branch: (agent, title = "") => typed(agent, `/branch ${title}`),
    undo: (agent, turns) => typed(agent, `/undo ${turns}`),
    compress: (agent) => typed(agent, "/compress"),
    title: (agent, title) => typed(agent, `/title ${title}`),
  },
];

describe.each(DRIVERS)("through $name", (driver) => {
  it("/new ends the old session for the provider, then switches with a reset", async () => {
    const { agent, recorder } = await recorded();
    const old = agent.sessionId;
    await agent.run("say one");
    expect(await driver.newSession(agent, "Second talk")).toBe("done");
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
    expect(await driver.newSession(agent)).toBe("done");
    expect(told(recorder)).toEqual([
      ["onSessionSwitch", agent.sessionId, { parent_session_id: old, reset: true, reason: "new_session" }],
    ]);
    expect(await agent.store?.sessionCount()).toBe(0);
  });

  it("/resume ends the session that is left and goes back to the other", async () => {
    const { agent, recorder } = await recorded();
    const first = agent.sessionId;
    await agent.run("say one");
    await driver.newSession(agent);
    const second = agent.sessionId;
    await agent.run("say two");
    told(recorder);

    expect(await driver.resume(agent, first)).toBe("done");
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
    expect(await driver.title(agent, "Blue kiln")).toBe("done");
    await driver.newSession(agent);
    expect(await driver.resume(agent, "Blue kiln")).toBe("done");
    expect(agent.sessionId).toBe(first);
    await driver.newSession(agent);
    expect(await driver.resume(agent, "[Blue kiln]")).toBe("done");
    await driver.newSession(agent);
    expect(await driver.resume(agent, first.slice(0, -2))).toBe("done");
    expect(agent.sessionId).toBe(first);
  });

  it("/resume of a compacted conversation goes to where it goes on", async () => {
    const { agent, recorder } = await recorded();
    const head = agent.sessionId;
    for (const word of ["one", "two", "three", "four"]) await agent.run(`say ${word}`);
    told(recorder);
    expect(await driver.compress(agent)).toBe("done");
    const tip = agent.sessionId;
    expect(tip).not.toBe(head);
    await driver.newSession(agent);
    const left = agent.sessionId;
    told(recorder);
    expect(await driver.resume(agent, head)).toBe("done");
    expect(agent.sessionId).toBe(tip);
    expect(told(recorder)).toEqual([
      ["onSessionSwitch", tip, { parent_session_id: left, reset: false, reason: "resume" }],
    ]);
  });

  it("/branch ends the original for the provider and goes on in a copy", async () => {
    const { agent, recorder } = await recorded();
    const old = agent.sessionId;
    await agent.run("say one");
    await driver.title(agent, "Kiln");
    told(recorder);
    expect(await driver.branch(agent)).toBe("done");
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
    expect(await driver.undo(agent, 2)).toBe("done");
    expect(told(recorder)).toEqual([
      ["onSessionSwitch", sessionId, { parent_session_id: "", reset: false, rewound: true, undone_turns: 2 }],
    ]);
    expect(spoken(agent.messages)).toEqual(["user: say one", "assistant: reply to one"]);
    expect(await agent.store?.getSession(sessionId)).toMatchObject({ rewind_count: 1, end_reason: null });
  });

  it("/compress hears the provider, commits, then switches without a reset", async () => {
    const { agent, recorder } = await recorded();
    const old = agent.sessionId;
    const said: string[] = [];
    for (const word of ["one", "two", "three", "four"]) {
      await agent.run(`say ${word}`);
      said.push(`user: say ${word}`, `assistant: reply to ${word}`);
    }
    expect(await driver.compress(agent)).toBe("done");
    expect(told(recorder)).toEqual([
      ["onPreCompress", said],
      ["onSessionEnd", said],
      ["onSessionSwitch", agent.sessionId, { parent_session_id: old, reset: false, reason: "compression" }],
    ]);
    expect((await agent.status()).api_calls).toBe(4);
  });

  it("a title that waited for its session does not follow into another one", async () => {
    const { agent } = await recorded();
    const first = agent.sessionId;
    await agent.run("say one");
    await driver.newSession(agent);
    await driver.title(agent, "Never stored");
    await driver.resume(agent, first);
    expect(await agent.title()).toBeNull();
    await agent.run("say two");
    expect(await agent.store?.getSessionTitle(first)).toBeNull();
  });

  it("/resume of the session at hand, and of one that is not there, changes and tells nothing", async () => {
    const { agent, recorder } = await recorded();
    await agent.run("say one");
    told(recorder);
    const { sessionId } = agent;
    expect(await driver.resume(agent, sessionId)).toBe("same_session");
    expect(await driver.resume(agent, "no such thing")).toBe("not_found");
    expect(agent.sessionId).toBe(sessionId);
    expect(told(recorder)).toEqual([]);
  });

  it("/branch before anything was said is refused, and no provider hears of it", async () => {
    const { agent, recorder } = await recorded();
    expect(await driver.branch(agent)).toBe("nothing");
    expect(told(recorder)).toEqual([]);
  });

  it("no provider hears of an /undo without a turn", async () => {
    const { agent, recorder } = await recorded();
    expect(await driver.undo(agent, 1)).toBe("nothing");
    expect(told(recorder)).toEqual([]);
  });
});
