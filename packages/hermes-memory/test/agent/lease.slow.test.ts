// One process at a time works on a session. Whoever comes second is told, and reads what the first one wrote before it goes on.
import { join } from "node:path";
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it, onTestFinished } from "vitest";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { RECORDER, writeRecorder } from "../../../agent/test/fakes/recording-plugin.ts";
import { gate, type RecordedRequest, type Script } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { sessionIds, startChat, stepHome, stepResult, storedRows } from "./chat-child.ts";

const textOf = (message: Readonly<Record<string, unknown>> | undefined): string => String(message?.content);
const newestUser = ({ messages }: RecordedRequest): string =>
  textOf(messages.findLast(({ role }) => role === "user"));
const saidIn = (home: string, session?: string): string[] =>
  storedRows(home, session).map(({ role, content }) => `${role}: ${String(content)}`);

/** `answer to <what was asked last>`; titles aside. Where the question is `slow`, after the gate only. */
function answering(slow: string, held = gate()) {
  const arrived = gate();
  const script: Script = (request) => {
    if (request.tools.length === 0) return { text: "A title" };
    const asked = newestUser(request);
    if (!asked.endsWith(slow)) return { text: `answer to ${asked}` };
    arrived.open();
    return { text: `answer to ${asked}`, pauseBefore: held };
  };
  return { script, held, arrived: arrived.opened };
}

/** The store as a process sees it for which two minutes have passed: leases of others have run out. */
async function laterStore(home: string): Promise<SessionStore> {
  const now = (): Date => new Date(Date.now() + 120_000);
  const store = await openSessionStore({ path: join(home, "state.db"), clock: { now } });
  onTestFinished(() => store.close());
  return store;
}

describe("two processes on one session", () => {
  it("take turns: the second is told who has it, stores nothing, and reads the first one's rows before its own turn", async () => {
    const { script, held, arrived } = answering("from a");
    const wire = await startWire("chat", script);
    const home = stepHome("chat", wire.url);
    const a = startChat(home);
    const id = String((await a.turn("first")).session_id);
    const b = startChat(home, ["--resume", id]);
    await b.event("session");

    a.say("from a");
    await arrived;
    const refused = await b.turn("from b");
    expect(refused).toMatchObject({ exit: "session_busy", failed: true, completed: false, api_calls: 0 });
    expect(refused.error).toMatch(new RegExp(`Session ${id} is in use by process ${a.pid} since [\\d:]+\\.`));
    held.open();
    await a.event("turn-end");
    expect(await b.turn("now b")).toMatchObject({ exit: "text_response", session_id: id });
    const talk = ["first", "answer to first", "from a", "answer to from a", "now b"];
    expect(wire.requests.findLast((sent) => newestUser(sent) === "now b")?.messages.map(textOf)).toEqual(
      talk,
    );
    expect(storedRows(home).map(textOf)).toEqual([...talk, "answer to now b"]);
  });

  it("never get in between each other's rows, however many turns they send at once", async () => {
    const met = gate();
    const script: Script = (request) => {
      if (request.tools.length === 0) return { text: "A title" };
      const asked = newestUser(request);
      if (request.messages.at(-1)?.role === "tool") return { text: `answer to ${asked}` };
      // Whoever is first waits until the other one has been turned away, so that they do meet.
      return {
        toolCalls: [{ name: "step", arguments: { n: 1 } }],
        ...(asked === "first" ? {} : { pauseBefore: met }),
      };
    };
    const wire = await startWire("chat", script);
    const home = stepHome("chat", wire.url);
    const a = startChat(home);
    const id = String((await a.turn("first")).session_id);
    const b = startChat(home, ["--resume", id]);
    await b.event("session");
    const send = async (chat: typeof a, name: string): Promise<void> => {
      for (let n = 0; n < 5; n += 1)
        while ((await chat.turn(`${name}${n}`)).exit === "session_busy") met.open();
    };
    await Promise.all([send(a, "a"), send(b, "b")]);
    const said = saidIn(home);
    const asked = said.filter((row) => row.startsWith("user: ")).map((row) => row.slice(6));
    expect(asked.toSorted()).toEqual(["first", ...numbered("a"), ...numbered("b")].toSorted());
    expect(said).toEqual(
      asked.flatMap((text) => [
        `user: ${text}`,
        "assistant: ",
        `tool: ${stepResult(1)}`,
        `assistant: answer to ${text}`,
      ]),
    );
  });
});

const numbered = (name: string): string[] => [0, 1, 2, 3, 4].map((n) => `${name}${n}`);

describe("what others do to a session between two turns", () => {
  it("a session that another process compacted is followed to its continuation, and the provider hears of it", async () => {
    const home = tempDirectory();
    const recorder = writeRecorder(home);
    const { script } = answering("never");
    const { agent, wire, another, events } = await agentHome(script, {
      home,
      config: { memory: { provider: RECORDER } },
    });
    const words = "the harbour crane turns slowly ".repeat(60);
    for (let n = 0; n < 8; n += 1) await agent.run(`${n} ${words}`);
    const old = agent.sessionId;
    const other = await another({ resume: old });
    expect(await other.compress()).toMatchObject({ kind: "compacted" });
    await other.run("after the compaction");
    recorder.take();
    events.length = 0;

    const result = await agent.run("going on");
    expect(result).toMatchObject({ exit: "text_response", session_id: other.sessionId });
    expect(other.sessionId).not.toBe(old);
    expect(events).toContainEqual({
      type: "session-switch",
      from: old,
      to: other.sessionId,
      reason: "compression",
    });
    expect(recorder.take("onSessionSwitch").map(({ args }) => args)).toEqual([
      [other.sessionId, { parent_session_id: old, reset: false, reason: "compression" }],
    ]);
    const request = wire.wireMessages(-1).map(textOf);
    expect(request.slice(-3)).toEqual(["after the compaction", "answer to after the compaction", "going on"]);
    expect(request.length).toBeLessThan(16);
    expect(wire.systemOf(-1)).toBe(other.systemPrompt);
    expect(saidIn(home, old)).toHaveLength(16);
  });
});

describe("a session that somebody deletes", () => {
  it("ends the turn that runs in it, and the next one, and stays deleted; a new one can be begun", async () => {
    const { script, held, arrived } = answering("slow");
    const { agent, home, wire } = await agentHome(script);
    await agent.run("first");
    const running = agent.run("slow");
    await arrived;
    const other = await openSessionStore({ path: join(home, "state.db") });
    await other.deleteSession(agent.sessionId);
    await other.close();
    held.open();
    expect(await running).toMatchObject({
      exit: "session_gone",
      final_response: "answer to slow",
      failed: true,
    });
    const next = await agent.run("next");
    expect(next).toMatchObject({ exit: "session_gone", failed: true, api_calls: 0 });
    expect(next.hint).toContain("/new");
    expect(wire.requests).toHaveLength(2);
    expect(sessionIds(home)).toEqual([]);
    expect(await agent.newSession()).toMatchObject({ ok: true });
    await agent.run("afresh");
    expect(saidIn(home)).toEqual(["user: afresh", "assistant: answer to afresh"]);
  });
});

describe("a lease that is lost in the middle of a turn", () => {
  it("ends a turn whose answer came after another process had taken over; nothing of it gets in between", async () => {
    const { script, held, arrived } = answering("slow");
    const { agent, home, wire, another } = await agentHome(script);
    await agent.run("first");
    const running = agent.run("slow");
    await arrived;
    const other = await another({ resume: agent.sessionId, store: await laterStore(home) });
    expect(await other.run("meanwhile")).toMatchObject({ exit: "text_response" });
    held.open();
    const lost = await running;
    expect(lost).toMatchObject({ exit: "session_busy", failed: true, completed: false });
    expect(lost.final_response).toBe("answer to slow"); // the user has read it
    expect(lost.error).toContain(`taken over session ${agent.sessionId}`);
    const rows = [
      "user: first",
      "assistant: answer to first",
      "user: slow",
      "user: meanwhile",
      "assistant: answer to slow\n\nmeanwhile",
    ];
    expect(saidIn(home)).toEqual(rows);
    await agent.run("again");
    expect(saidIn(home)).toEqual([...rows, "user: again", "assistant: answer to again"]);
    expect(wire.wireMessages(-1)).toHaveLength(5);
  });

  it("keeps a compaction from leaving the other one's rows behind", async () => {
    const [summarising, held] = [gate(), gate()];
    const script: Script = (request) => {
      if (request.tools.length > 0) return { text: "fine", usage: { input: 5_000, output: 5 } };
      summarising.open();
      return { text: "## Goal\nCranes.", pauseBefore: held };
    };
    const { agent, home, another } = await agentHome(script);
    const words = "the harbour crane turns slowly ".repeat(60);
    for (let n = 0; n < 8; n += 1) await agent.run(`${n} ${words}`);
    const compaction = agent.compress();
    await summarising.opened;
    const other = await another({ resume: agent.sessionId, store: await laterStore(home) });
    await other.run("meanwhile");
    held.open();
    expect(await compaction).toMatchObject({ kind: "failed", sessionId: other.sessionId });
    expect(sessionIds(home)).toEqual([other.sessionId]);
    await agent.run("going on");
    expect(saidIn(home).slice(-4)).toEqual([
      "user: meanwhile",
      "assistant: fine",
      "user: going on",
      "assistant: fine",
    ]);
  });

  it("ends the turn of a real process that was stopped for too long", async () => {
    const { script, held, arrived } = answering("slow");
    const { agent, home, another } = await agentHome(script);
    await agent.run("first");
    const chat = startChat(home, ["--resume", agent.sessionId]);
    chat.say("slow");
    await arrived;
    process.kill(chat.pid, "SIGSTOP");
    const other = await another({ resume: agent.sessionId, store: await laterStore(home) });
    await other.run("meanwhile");
    process.kill(chat.pid, "SIGCONT");
    held.open();
    expect((await chat.event("turn-end")).result).toMatchObject({ exit: "session_busy" });
    expect(saidIn(home).slice(-2)).toEqual(["user: meanwhile", "assistant: answer to slow\n\nmeanwhile"]);
  });
});
