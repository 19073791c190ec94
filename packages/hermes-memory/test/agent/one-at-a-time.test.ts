// One thing at a time works on a conversation, and what goes wrong on the way to another session leaves this one as it is.
import type { Agent } from "@hermes-memory/agent/internal/agent";
import type { SessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { alteredStore } from "../../../agent/test/agent/altered-store.ts";
import type { Script } from "../../../agent/test/fakes/wires/script.ts";
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
});
