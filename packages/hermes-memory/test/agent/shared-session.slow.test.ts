// Two agents on one session: nothing is written, ended, taken back or left behind while the other one works in it.

import type { Agent } from "@hermes-memory/agent/internal/agent";
import { tool } from "ai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { agentHome } from "../../../agent/test/agent/agent-home.ts";
import { alteredStore, locked } from "../../../agent/test/agent/altered-store.ts";
import { call, lookTool } from "../../../agent/test/agent/turns.ts";
import { gate, type RecordedRequest, type Script } from "../../../agent/test/fakes/wires/script.ts";
import { storedRows } from "./chat-child.ts";

const textOf = (message: Readonly<Record<string, unknown>> | undefined): string => String(message?.content);
const newestUser = ({ messages }: RecordedRequest): string =>
  textOf(messages.findLast(({ role }) => role === "user"));
const saidIn = (home: string, session?: string): string[] =>
  storedRows(home, session).map(({ content }) => String(content));
const saidBy = (agent: Agent): string[] => agent.messages.map(textOf);
const turn = (text: string): string[] => [text, `answer to ${text}`];

/** `answer to <what was asked last>`; where that ends with `slow`, after the gate only. */
function answering() {
  const [held, arrived] = [gate(), gate()];
  const script: Script = (request) => {
    const asked = newestUser(request).split("\n\n").at(-1) ?? "";
    if (asked.endsWith("look") && request.messages.at(-1)?.role === "user") return call("look");
    if (!asked.endsWith("slow")) return { text: `answer to ${asked}` };
    arrived.open();
    return { text: `answer to ${asked}`, pauseBefore: held };
  };
  return { script, held, arrived: arrived.opened };
}

/** `agent` has said "first"; `other` is in the middle of its turn "slow" in the same session, until `held` opens. */
async function otherAtWork() {
  const { script, held, arrived } = answering();
  const made = await agentHome(script);
  const { agent, another } = made;
  await agent.run("first");
  const other = await another({ resume: agent.sessionId });
  const running = other.run("slow");
  await arrived;
  return { ...made, other, running, held, id: agent.sessionId };
}

/** `late` could not store the answer of its turn; meanwhile `other` is in the middle of a tool round, until `go` opens. */
async function unsavedBesideTools() {
  const [inTool, go] = [gate(), gate()];
  const wait = tool({
    inputSchema: z.object({}),
    execute: async () => {
      inTool.open();
      await go.opened;
      return "the result";
    },
  });
  const script: Script = (request) =>
    request.messages.at(-1)?.role === "user" && newestUser(request).endsWith("use the tool")
      ? { toolCalls: [{ name: "wait", arguments: {} }] }
      : { text: `answer to ${newestUser(request)}` };
  const made = await agentHome(script, { options: { tools: { wait } } });
  const { agent: other, home, another, events } = made;
  await other.run("begin");
  let fails = true;
  const store = await alteredStore(home, (real) => ({
    appendMany: (id, rows, options) =>
      fails && rows.some((row) => row.role === "assistant") ? locked() : real.appendMany(id, rows, options),
  }));
  const late = await another({ store, resume: other.sessionId });
  expect(await late.run("from late")).toMatchObject({ exit: "text_response" });
  fails = false;
  events.length = 0;
  const running = other.run("use the tool");
  await inTool.opened;
  const round = ["use the tool", "", "the result", "answer to from late\n\nuse the tool"];
  return { ...made, late, running, go, round, id: other.sessionId };
}

describe("what is not stored yet, while another process works in the session", () => {
  it("is not written into its turn by closing, which says that it is lost", async () => {
    const { home, late, running, go, round, events } = await unsavedBesideTools();
    await late.close();
    go.open();
    expect(await running).toMatchObject({ exit: "text_response" });
    expect(saidIn(home)).toEqual([...turn("begin"), "from late", ...round]);
    const told = events.flatMap((event) =>
      event.type === "notice" && event.level === "warn" ? event.text : [],
    );
    expect(told).toEqual([expect.stringMatching(/is in use by process .*The last messages .* are lost\./s)]);
  });
});

describe("a session that another process works in", () => {
  it.each(["newSession", "resume", "close"] as const)("is not ended by %s", async (name) => {
    const { agent, another, running, held, id, home } = await otherAtWork();
    const elsewhere = await another();
    await elsewhere.run("elsewhere");
    if (name === "newSession") expect(await agent.newSession()).toMatchObject({ ok: true });
    if (name === "resume") expect(await agent.resume(elsewhere.sessionId)).toMatchObject({ ok: true });
    if (name === "close") await agent.close();
    expect(await elsewhere.store?.getSession(id)).toMatchObject({ ended_at: null, end_reason: null });
    held.open();
    expect(await running).toMatchObject({ exit: "text_response" });
    expect(saidIn(home, id)).toEqual([...turn("first"), ...turn("slow")]);
  });
});

describe("a turn that begins while the database cannot say whose the session is", () => {
  /** The first `failures` times the lease is asked for, nobody answers. */
  async function hesitant(home: string, failures = 1) {
    let left = failures;
    const stored: unknown[] = [];
    const store = await alteredStore(home, (real) => ({
      acquireSessionLease: (id, holder, options) => {
        left -= 1;
        return left >= 0 ? locked() : real.acquireSessionLease(id, holder, options);
      },
      appendMany: async (id, rows, options) => {
        stored.push([(await real.getSessionLease(id))?.holder, options?.leaseHolder]);
        return real.appendMany(id, rows, options);
      },
    }));
    const fail = (times: number): void => {
      left = times;
    };
    return { store, stored, fail };
  }

  it("ends as busy and leaves no row when it turns out to be another process's", async () => {
    const { id, home, another, running, held, wire } = await otherAtWork();
    const { store } = await hesitant(home);
    const late = await another({ store, resume: id });
    const result = await late.run("from late");
    expect(result).toMatchObject({
      exit: "session_busy",
      failed: true,
      final_response: "answer to from late",
    });
    expect(result.error).toMatch(/in use by process .*Nothing of the turn is stored\./s);
    expect(saidBy(late)).toEqual(["first", "answer to first", "slow"]);
    held.open();
    await running;
    expect(saidIn(home)).toEqual([...turn("first"), ...turn("slow")]);
    await late.run("again");
    expect(wire.wireMessages(-1).map(textOf)).toEqual([...turn("first"), ...turn("slow"), "again"]);
    expect(saidIn(home)).toEqual(["first", "slow", "again"].flatMap(turn));
  });

  it("ends before the next call of the model when that shows in between", async () => {
    const { id, home, another, running, held, wire } = await otherAtWork();
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const { store } = await hesitant(home);
    // The database is left alone for a while after it has failed.
    const { tools } = lookTool(() => {
      vi.advanceTimersByTime(31_000);
      return "seen";
    });
    const late = await another({ store, resume: id, tools });
    expect(await late.run("look")).toMatchObject({ exit: "session_busy", failed: true, api_calls: 1 });
    expect(wire.requests).toHaveLength(3);
    held.open();
    await running;
    expect(saidIn(home)).toEqual([...turn("first"), ...turn("slow")]);
  });
});
