// Recall: the provider's text for a message is in the requests of that turn, after that message, and nowhere else.
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Agent } from "../../src/agent/index.ts";
import { RECORDER, writeRecorder } from "../fakes/recording-plugin.ts";
import type { RecordedRequest, Script, Step, WireKind } from "../fakes/wires/script.ts";
import { type AgentHome, type AgentSetting, agentHome, streamedText } from "./agent-home.ts";

const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];
const RECALLED = "The user drinks oolong.";
const FENCE = "<memory-context>";
const CALL = { name: "todo", arguments: {} };

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
