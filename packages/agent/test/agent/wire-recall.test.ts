// Recall: the provider's text for a message is in the requests of that turn, after that message, and nowhere else.
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Agent } from "../../src/agent/index.ts";
import { RECORDER, writeRecorder } from "../fakes/recording-plugin.ts";
import {
  badKey,
  type RecordedRequest,
  type Script,
  type Step,
  type WireKind,
} from "../fakes/wires/script.ts";
import { type AgentHome, type AgentSetting, agentHome, streamedText } from "./agent-home.ts";

const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];
const RECALLED = "The user drinks oolong.";
const FENCE = "<memory-context>";
const CALL = { name: "todo", arguments: {} };
const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };

async function recalling(script: Script, setting: AgentSetting = {}) {
  const home = tempDirectory();
  const recorder = writeRecorder(home, { prefetch: RECALLED });
  const { config = {}, ...rest } = setting;
  const made = await agentHome(script, {
    ...rest,
    home,
    config: { ...config, memory: { provider: RECORDER } },
  });
  return { ...made, recorder };
}

/** Positions of the messages that hold the block, and how often it is in the whole request. */
function places({ messages, raw }: RecordedRequest): {
  readonly at: readonly number[];
  readonly count: number;
} {
  const at = messages.flatMap((message, index) => (JSON.stringify(message).includes(FENCE) ? [index] : []));
  return { at, count: raw.split(FENCE).length - 1 };
}

/** Where the last message of the user is that is not a tool's answer. */
function lastUser({ messages }: RecordedRequest): number {
  return messages.findLastIndex((message) => JSON.stringify(message).includes("question"));
}

async function storedText({ agent }: { agent: Agent }): Promise<string> {
  const { store } = agent;
  if (store === undefined) throw new Error("there is no store");
  const sessions = await store.listSessionsRich({ limit: 50 });
  const rows = await Promise.all(sessions.map(({ id }) => store.getMessages(id)));
  return JSON.stringify([rows, await store.getMessages(agent.sessionId)]);
}

async function expectNoTrace(made: AgentHome): Promise<void> {
  const stored = await storedText(made);
  expect(stored.includes("question")).toBe(true);
  for (const text of [stored, JSON.stringify(made.agent.messages)])
    for (const trace of [FENCE, RECALLED]) expect(text.includes(trace), trace).toBe(false);
}

describe.each(KINDS)("recalled memory over the %s wire", (kind) => {
  it("is in the message of the turn on each of its calls, and the conversation before it is as it was", async () => {
    const steps: readonly Step[] = [
      { toolCalls: [CALL, CALL] },
      { toolCalls: [CALL] },
      { text: "One." },
      { toolCalls: [CALL] },
      { text: "Two." },
    ];
    const made = await recalling(steps, { kind });
    const { agent, wire } = made;
    await agent.run("first question");
    await agent.run("second question");
    for (const request of wire.requests)
      expect(places(request)).toEqual({ at: [lastUser(request)], count: 1 });
    // Within a turn the message keeps its bytes, recall included.
    expect(wire.wireMessages(2).slice(0, 1)).toEqual(wire.wireMessages(0));
    expect(wire.wireMessages(4).slice(0, wire.wireMessages(3).length)).toEqual(wire.wireMessages(3));
    // From turn to turn everything before the previous message, and everything behind it, stays.
    const [before, after] = [wire.wireMessages(2), wire.wireMessages(3)];
    expect(after.slice(1, before.length)).toEqual(before.slice(1));
    expect(wire.systemOf(4)).toBe(wire.systemOf(0));
    await expectNoTrace(made);
  });

  it("is a text of its own beside a picture", async () => {
    const made = await recalling([{ text: "A square." }, { text: "Blue." }], { kind });
    const { agent, wire } = made;
    await agent.run([{ type: "text", text: "question" }, IMAGE]);
    const [request] = wire.requests;
    if (request === undefined) throw new Error("no request");
    expect(places(request)).toEqual({ at: [0], count: 1 });
    const parts = request.messages[0]?.content as { readonly text?: string }[];
    expect(parts).toHaveLength(3);
    expect(parts[0]?.text).toBe("question");
    expect(parts[2]?.text).toContain(RECALLED);
    await agent.run("another question");
    expect(JSON.stringify(wire.wireMessages(1)[0])).not.toContain(FENCE);
    await expectNoTrace(made);
  });
});

describe.each(KINDS)("recall that the model repeats over the %s wire", (kind) => {
  const CLOSE = "</memory-context>";

  it.each([
    ["in the middle of a line", `Sure: ${FENCE}${RECALLED}${CLOSE} Tea it is.`, "Sure:  Tea it is."],
    ["without an end", `Tea it is. ${FENCE}${RECALLED}`, "Tea it is."],
  ])("%s is neither streamed nor returned, stored or synced", async (_where, text, kept) => {
    const made = await recalling([{ text }], { kind });
    const { agent, events, recorder } = made;
    const result = await agent.run("question");
    expect(result.final_response).toBe(kept);
    expect(streamedText(events)).toBe(kept);
    await expectNoTrace(made);
    await agent.close();
    const synced = recorder.take("syncTurn");
    expect(synced).toHaveLength(1);
    expect(synced[0]?.args.slice(0, 2)).toEqual(["question", kept]);
    expect(JSON.stringify(synced)).not.toContain(RECALLED);
  });
});

it("a reply about the tag stays as it is, also with recall", async () => {
  const text = `The ${FENCE} tag marks what I recall. ${RECALLED}`;
  const { agent, events } = await recalling([{ text }]);
  expect((await agent.run("question")).final_response).toBe(text);
  expect(streamedText(events)).toBe(text);
});

it("recall in the arguments of a tool call reaches the tool", async () => {
  const given: unknown[] = [];
  const note = tool({
    description: "Notes a text.",
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => void given.push(text),
  });
  const text = `${FENCE}${RECALLED}</memory-context>`;
  const { agent } = await recalling(
    [{ toolCalls: [{ name: "note", arguments: { text } }] }, { text: "Done." }],
    {
      options: { tools: { note } },
    },
  );
  await agent.run("question");
  expect(given).toEqual([text]);
});

describe("asking for recall", () => {
  it("happens once per turn, with what the user wrote and the id of the session", async () => {
    const { agent, recorder } = await recalling([
      { toolCalls: [CALL] },
      { toolCalls: [CALL] },
      { text: "One." },
      { text: "Two." },
    ]);
    await agent.run("[sent from a train] first question", { persistUserMessage: "first question" });
    await agent.run([{ type: "text", text: "second question" }, IMAGE]);
    const asked = recorder.take("prefetch").map(({ args }) => args);
    expect(asked).toEqual([
      ["first question", expect.objectContaining({ session_id: agent.sessionId })],
      ["second question", expect.objectContaining({ session_id: agent.sessionId })],
    ]);
  });

  it("gets the block behind the message of a turn that follows one without an answer", async () => {
    const made = await recalling([badKey(), { text: "One." }]);
    const { agent, wire } = made;
    expect(await agent.run("lost question")).toMatchObject({ failed: true });
    await agent.run("next question");
    const request = wire.requests[1];
    if (request === undefined) throw new Error("no request");
    expect(request.messages).toHaveLength(1); // both in one, because the sides have to take turns
    const content = String(request.messages[0]?.content);
    expect(content).toMatch(/^lost question\n\nnext question\n\n<memory-context>/);
    expect(places(request).count).toBe(1);
    await expectNoTrace(made);
  });
});

/** Summaries are asked for without tools. */
function summarising(answer: (request: RecordedRequest) => Step): Script {
  return (request) =>
    request.tools.length === 0
      ? { text: "## Goal\nTalk.\n## Progress\nSome.", chunkChars: 2_000 }
      : { chunkChars: 2_000, ...answer(request) };
}

const SMALL = { model: { context_length: 24_000 } };

describe("recalled memory and compaction", () => {
  it("is there in a turn that had to be compacted before its first call", async () => {
    const made = await recalling(
      summarising(() => ({ text: `Answer. ${"so ".repeat(2_000)}` })),
      {
        config: SMALL,
      },
    );
    const { agent, wire, events, recorder } = made;
    const id = agent.sessionId;
    let turns = 0;
    while (agent.sessionId === id && turns < 20) {
      turns += 1;
      await agent.run(`question ${turns} ${"why ".repeat(2_000)}`);
    }
    expect(events).toContainEqual(expect.objectContaining({ type: "compaction-end", kind: "compacted" }));
    expect(recorder.take("prefetch")).toHaveLength(turns);
    const last = wire.requests.at(-1);
    if (last === undefined) throw new Error("no request");
    // The compaction came before the call: the request is the shorter one.
    expect(JSON.stringify(last.messages).includes("## Goal")).toBe(true);
    expect(places(last)).toEqual({ at: [last.messages.length - 1], count: 1 });
    expect(String(last.messages.at(-1)?.content).includes(`question ${turns} `)).toBe(true);
    await expectNoTrace(made);
  });

  it("is there after a compaction between two calls of a turn", async () => {
    const big = tool({
      description: "Much text.",
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }) => `part ${n} ${"lorem ".repeat(3_200)}`,
    });
    let calls = 0;
    const made = await recalling(
      summarising(() => {
        calls += 1;
        return calls <= 8 ? { toolCalls: [{ name: "big", arguments: { n: calls } }] } : { text: "Done." };
      }),
      { config: SMALL, options: { tools: { big } } },
    );
    const { agent, wire, events, recorder } = made;
    expect(await agent.run("the one question")).toMatchObject({ final_response: "Done.", error: null });
    expect(events).toContainEqual(expect.objectContaining({ type: "compaction-end", kind: "compacted" }));
    expect(recorder.take("prefetch")).toHaveLength(1);
    const chats = wire.requests.filter(({ tools }) => tools.length > 0);
    expect(chats).toHaveLength(9);
    for (const request of chats) expect(places(request).count).toBe(1);
    const last = chats.at(-1);
    if (last === undefined) throw new Error("no request");
    expect(places(last).at).toEqual([lastUser(last)]);
    // What is summarised is what is stored, so it cannot hold recall either.
    for (const { raw, tools } of wire.requests)
      if (tools.length === 0) expect(raw.includes(RECALLED)).toBe(false);
    await expectNoTrace(made);
  });
});
