// kill -9 of `hermes chat` at every step of a turn. What was said and done before the running model call is in the database, and
// the next process goes on from there at once.
import { join } from "node:path";
import { type Agent, createAgent } from "@hermes-memory/agent/internal/agent";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it, onTestFinished } from "vitest";
import { expectWirePairs } from "../../../agent/test/agent/wire-pairs.ts";
import type { RecordedRequest, Script, Step, WireKind } from "../../../agent/test/fakes/wires/script.ts";
import { startWire, type Wire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import {
  type PlainRow,
  sessionIds,
  startChat,
  step,
  stepHome,
  stepResult,
  storedRows,
} from "./chat-child.ts";

const QUESTION = "take three steps";
const FOREVER: Step = { pauseBefore: "forever" };

const user: PlainRow = { role: "user", content: QUESTION };
const call = (n: number): PlainRow => ({ role: "assistant", content: "", calls: `call_${n}` });
const result = (n: number): PlainRow => ({ role: "tool", content: stepResult(n), calls: `call_${n}` });
const rounds = (...numbers: readonly number[]): PlainRow[] => numbers.flatMap((n) => [call(n), result(n)]);

type KillPoint = {
  readonly name: string;
  /** Until the process is killed. */
  readonly script: readonly Step[];
  /** The event after which it is killed, and how many of them; or the request that has arrived by then. */
  readonly when: { readonly event: string; readonly times: number } | { readonly request: number };
  readonly rows: readonly PlainRow[];
};

const called = (n: number, hang = false): Step => ({ toolCalls: [step(n, hang)] });
const toolStart = (times: number) => ({ event: "tool-start", times });

const POINTS: readonly KillPoint[] = [
  {
    name: "while the first model call streams",
    script: [{ text: "Let me think about it", pauseAt: { chars: 8, until: "forever" } }],
    when: { event: "text-delta", times: 1 },
    rows: [user],
  },
  { name: "during the first tool", script: [called(1, true)], when: toolStart(1), rows: [user, call(1)] },
  {
    name: "during the second tool",
    script: [called(1), called(2, true)],
    when: toolStart(2),
    rows: [user, ...rounds(1), call(2)],
  },
  {
    name: "during the third tool",
    script: [called(1), called(2), called(3, true)],
    when: toolStart(3),
    rows: [user, ...rounds(1, 2), call(3)],
  },
  {
    name: "during the model call after the third tool",
    script: [called(1), called(2), called(3), FOREVER],
    when: { request: 3 },
    rows: [user, ...rounds(1, 2, 3)],
  },
  {
    name: "during the second of three calls of one reply",
    script: [{ toolCalls: [step(1), step(2, true), step(3)] }],
    when: toolStart(2),
    rows: [user, { role: "assistant", content: "", calls: "call_1 call_2 call_3" }],
  },
];

describe.each<WireKind>(["chat", "anthropic"])("kill -9 of a chat over the %s wire", (kind) => {
  const points = kind === "chat" ? POINTS : POINTS.slice(-1);
  it.each(points)("$name loses nothing that came before", async ({ script, when, rows }) => {
    const wire = await startWire(kind, [...script, { text: "Going on." }]);
    const home = stepHome(kind, wire.url);
    await killChat(wire, home, ["-q", QUESTION], when);
    expect(storedRows(home)).toEqual(rows);

    const [session = ""] = sessionIds(home);
    const agent = await resumed(home, session);
    const answer = await agent.run("go on");
    expect(answer).toMatchObject({ exit: "text_response", final_response: "Going on.", session_id: session });
    expectWirePairs(kind, wire.wireMessages(-1));
    expect(told(wire.requests.at(-1))).toEqual(wanted(rows));
    expect(storedRows(home)).toEqual([
      ...rows,
      { role: "user", content: "go on" },
      { role: "assistant", content: "Going on." },
    ]);
  });
});

describe("kill -9 while a conversation is compacted", () => {
  it("leaves the session as it was, and the next process compacts it at once", async () => {
    let isDead = false;
    const script: Script = ({ tools, messages }) => {
      if (tools.length === 0) return isDead ? { text: "## Goal\nThree steps." } : FOREVER;
      if (isDead) return { text: "Going on." };
      const n = messages.filter(({ role }) => role === "tool").length + 1;
      // What the server counts after the third call is more than the window takes.
      return { toolCalls: [step(n)], usage: { input: n === 3 ? 19_000 : 5_000, output: 5 } };
    };
    const wire = await startWire("chat", script);
    const home = stepHome("chat", wire.url, { model: { context_length: 20_000 } });
    const id = await storeLongTalk(home);
    const before = storedRows(home);
    await killChat(wire, home, ["-q", QUESTION, "--resume", id], { request: 3 });
    const left = [...before, user, ...rounds(1, 2, 3)];
    expect(storedRows(home)).toEqual(left);
    expect(sessionIds(home)).toEqual([id]);

    isDead = true;
    const agent = await resumed(home, id);
    const report = await agent.compress();
    expect(report).toMatchObject({ kind: "compacted" });
    expect((await agent.run("go on")).final_response).toBe("Going on.");
    expect(sessionIds(home)).toEqual([id, agent.sessionId]);
    expect(storedRows(home, id)).toEqual(left);
    expectWirePairs("chat", wire.wireMessages(-1));
    const newest = told(wire.requests.at(-1));
    for (const n of [1, 2, 3]) expect(newest.filter((text) => text === `result ${n}`)).toHaveLength(1);
  });
});

async function killChat(
  wire: Wire,
  home: string,
  args: readonly string[],
  when: KillPoint["when"],
): Promise<void> {
  const chat = startChat(home, args);
  if ("request" in when) await wire.waitForRequest(when.request);
  else for (let n = 0; n < when.times; n += 1) await chat.event(when.event);
  await chat.kill();
}

async function resumed(home: string, session: string): Promise<Agent> {
  const agent = await createAgent({ home, resume: session, env: {}, cwd: home, titles: false });
  onTestFinished(() => agent.close());
  return agent;
}

async function storeLongTalk(home: string): Promise<string> {
  await using store = await openSessionStore({ path: join(home, "state.db") });
  const id = "20260101_120000_abc123";
  await store.createSession(id, { source: "cli" });
  const words = "the harbour crane turns slowly ".repeat(20);
  const pair = (n: number) => [
    { role: "user", content: `question ${n}: ${words}` },
    { role: "assistant", content: `answer ${n}: ${words}` },
  ];
  await store.appendMany(id, Array.from({ length: 20 }, (_, n) => pair(n)).flat());
  return id;
}

/** What a request says of the steps: ids of calls and texts of results, each as often as it is there. */
function told(request: RecordedRequest | undefined): string[] {
  const text = JSON.stringify(request?.messages ?? []);
  return text.match(/result \d/g) ?? [];
}

function wanted(rows: readonly PlainRow[]): string[] {
  return rows
    .filter(({ role }) => role === "tool")
    .flatMap(({ content }) => String(content).match(/result \d/g) ?? []);
}
