// One thing at a time works on a conversation, and what goes wrong on the way to another session leaves this one as it is.
import { setTimeout } from "node:timers/promises";
import type { Agent } from "@hermes-memory/agent/internal/agent";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { alteredStore, locked } from "../../../agent/test/agent/altered-store.ts";
import { recorded, told } from "../../../agent/test/agent/recorded.ts";
import { gate, type Script } from "../../../agent/test/fakes/wires/script.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { sessionIds, storedRows } from "./chat-child.ts";

const echo: Script = ({ messages }) => ({ text: `answer to ${String(messages.at(-1)?.content)}` });
const turn = (text: string): string[] => [text, `answer to ${text}`];
const saidIn = (home: string, session: string): string[] =>
  storedRows(home, session).map(({ content }) => String(content));

/** An agent in the second of two sessions. */
async function inSecond(options: { readonly store?: SessionStore; readonly home?: string } = {}) {
  const { store, home = tempDirectory() } = options;
  const made = await agentHome(echo, { home, options: store && { store } });
  await made.agent.run("in one");
  const one = made.agent.sessionId;
  await made.agent.newSession();
  await made.agent.run("in two");
  return { ...made, one, two: made.agent.sessionId };
}

const CHANGES: Readonly<Record<string, (agent: Agent, other: string) => Promise<{ readonly ok: boolean }>>> =
  {
    newSession: (agent) => agent.newSession(),
    resume: (agent, other) => agent.resume(other),
    branch: (agent) => agent.branch(),
    undo: (agent) => agent.undo(),
    switchModel: (agent) => agent.switchModel({ model: "other-model" }),
  };

describe.each(Object.keys(CHANGES))("while %s is under way", (name) => {
  it("a turn and every other change have to wait, and nothing lands in the wrong session", async () => {
    const { agent, home, one, two } = await inSecond();
    const change = CHANGES[name]?.(agent, one);
    const others = Object.values(CHANGES).map((begin) => begin(agent, one));
    const refused = await Promise.allSettled([agent.run("where does this go?"), agent.compress(), ...others]);
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "agent-busy" } });
    expect(refused[0]).toMatchObject({
      reason: { message: `'${name}' is not done yet, so 'run' has to wait.` },
    });
    expect(await change).toMatchObject({ ok: true });
    expect(saidIn(home, one)).toEqual(turn("in one"));
    expect(saidIn(home, two)).toEqual(name === "undo" ? [] : turn("in two"));
    expect(await agent.run("afterwards")).toMatchObject({ exit: "text_response" });
    expect(saidIn(home, agent.sessionId).slice(-2)).toEqual(turn("afterwards"));
  });
});

it("closing waits for a change of session, and then ends the session that was changed to", async () => {
  const home = tempDirectory();
  const [reopening, held] = [gate(), gate()];
  const store = await alteredStore(home, (real) => ({
    reopenSession: async (id) => {
      reopening.open();
      await held.opened;
      return real.reopenSession(id);
    },
  }));
  const { agent, one } = await inSecond({ home, store });
  const resumed = agent.resume(one);
  await reopening.opened;
  const closed = agent.close();
  const first = await Promise.race([closed.then(() => "closed"), setTimeout(200, "still waiting")]);
  expect(first).toBe("still waiting");
  held.open();
  expect(await resumed).toMatchObject({ ok: true, value: { to: one } });
  await closed;
  expect(await store.getSession(one)).toMatchObject({ end_reason: "cli_close" });
});

describe("a database that fails in the middle of a change", () => {
  const STEPS: Readonly<Record<string, readonly (keyof SessionStore)[]>> = {
    newSession: [],
    resume: ["resolveSessionId", "getMessages", "getSession", "reopenSession"],
    branch: ["getMessages", "branchSession"],
    undo: ["undoTurns"],
  };
  const cases = Object.entries(STEPS).flatMap(([name, steps]) => steps.map((step) => [name, step] as const));

  it.each(cases)("%s with a failing %s is refused, and this session goes on", async (name, step) => {
    const home = tempDirectory();
    let fails = false;
    const store = await alteredStore(home, (real) => ({
      [step]: (...args: readonly unknown[]): unknown =>
        fails
          ? Promise.reject(new Error("database is locked"))
          : Reflect.apply(real[step] as never, real, args),
    }));
    const { agent, one, two } = await inSecond({ home, store });
    fails = true;
    expect(await CHANGES[name]?.(agent, one)).toMatchObject({
      ok: false,
      error: { kind: "refused", message: expect.stringContaining("database") },
    });
    fails = false;
    expect(agent.sessionId).toBe(two);
    expect(await store.getSession(two)).toMatchObject({ end_reason: null });
    expect(await store.getSessionLease(two)).toBeNull();
    expect(await agent.run("afterwards")).toMatchObject({ session_id: two });
    expect(saidIn(home, two)).toEqual([...turn("in two"), ...turn("afterwards")]);
    expect(sessionIds(home)).toHaveLength(2);
  });

  it("tells providers of no end that did not come", async () => {
    const { agent, recorder, another } = await recorded();
    await agent.run("say one");
    const store = await alteredStore(agent.home, () => ({ reopenSession: async () => locked() }));
    const other = await another({ store });
    await other.run("say two");
    told(recorder);
    expect(await other.resume(agent.sessionId)).toMatchObject({ ok: false, error: { kind: "refused" } });
    expect(told(recorder)).toEqual([]);
  });
});

describe("a beginning of an id", () => {
  it("that fits several sessions is called ambiguous, with their names", async () => {
    const { agent, one, two, another } = await inSecond();
    const shared = one.slice(0, 8);
    const outcome = await agent.resume(shared);
    expect(outcome).toMatchObject({ ok: false, error: { kind: "ambiguous" } });
    const message = outcome.ok ? "" : outcome.error.message;
    expect(message).toContain(one);
    expect(message).toContain(two);
    await expect(another({ resume: shared })).rejects.toThrow("More than one session begins with");
  });

  it("that is a title is one, however many ids begin with it", async () => {
    const { agent, one } = await inSecond();
    await agent.resume(one);
    await agent.setTitle(one.slice(0, 8));
    await agent.newSession();
    expect(await agent.resume(one.slice(0, 8))).toMatchObject({ ok: true, value: { to: one } });
  });
});
