// Text for the model only is in requests and not stored; text for the record only is stored and not in requests.
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Agent } from "../../src/agent/index.ts";
import { RECORDER, writeRecorder } from "../fakes/recording-plugin.ts";
import type { Script } from "../fakes/wires/script.ts";
import type { Wire } from "../fakes/wires/wire-in-test.ts";
import { agentHome } from "./agent-home.ts";

async function stored(agent: Agent): Promise<unknown[]> {
  const rows = (await agent.store?.getMessages(agent.sessionId)) ?? [];
  return rows.map(({ role, content }) => [role, content]);
}

/** Neither rows nor summaries, which become rows, have the text for the model alone. */
async function expectStoredOnly(agent: Agent, wire: Wire, first: string): Promise<void> {
  for (const id of [first, agent.sessionId]) {
    const rows = JSON.stringify(await agent.store?.getMessages(id));
    expect(rows.includes("question")).toBe(true);
    expect(rows.includes("[said with note")).toBe(false);
  }
  const summaries = wire.requests.filter(({ tools }) => tools.length === 0);
  expect(summaries.length).toBeGreaterThan(0);
  for (const { raw } of summaries) expect(raw.includes("[said with note")).toBe(false);
}

const SMALL = { model: { context_length: 24_000 } };
const CALL = { name: "todo", arguments: {} };

describe("a message that is stored otherwise than it is sent", () => {
  it("reaches the model on every call, and the database, search and the provider's sync get the other text", async () => {
    const home = tempDirectory();
    const recorder = writeRecorder(home);
    const { agent, wire } = await agentHome(
      [{ toolCalls: [CALL] }, { text: "Hello Ann." }, { text: "Bye." }],
      {
        home,
        config: { memory: { provider: RECORDER } },
      },
    );
    const sent = "[Ann, from her balcony] hello zanzibar";
    await agent.run(sent, { persistUserMessage: "hello quetzalcoatl", persistUserTimestamp: 1_700_000_000 });
    for (const n of [0, 1]) expect(wire.wireMessages(n)[0]).toEqual({ role: "user", content: sent });
    const rows = (await agent.store?.getMessages(agent.sessionId)) ?? [];
    expect(rows[0]).toMatchObject({ role: "user", content: "hello quetzalcoatl", timestamp: 1_700_000_000 });

    const found = async (query: string): Promise<number> =>
      (await agent.store?.searchMessages(query))?.length ?? -1;
    expect(await found("quetzalcoatl")).toBe(1);
    expect(await found("zanzibar")).toBe(0);
    expect(await found("balcony")).toBe(0);

    await agent.run("bye");
    // While the agent lives the model keeps seeing what it was sent: its prefix stays.
    expect(wire.wireMessages(2).slice(0, 3)).toEqual(wire.wireMessages(1));
    await agent.close();
    const synced = recorder.calls.filter(({ hook }) => hook === "syncTurn").map(({ args }) => args[0]);
    expect(synced).toEqual(["hello quetzalcoatl", "bye"]);
    const asked = recorder.calls.filter(({ hook }) => hook === "prefetch").map(({ args }) => args[0]);
    expect(asked).toEqual(["hello quetzalcoatl", "bye"]);
  });

  it("keeps both forms when the conversation is compacted before the model has seen it", async () => {
    const script: Script = ({ tools }) => ({
      text: tools.length === 0 ? "## Goal\nTalk." : `Answer. ${"so ".repeat(2_000)}`,
      chunkChars: 2_000,
    });
    const { agent, wire } = await agentHome(script, { config: SMALL });
    const id = agent.sessionId;
    let turns = 0;
    while (agent.sessionId === id && turns < 20) {
      turns += 1;
      const text = `question ${turns} ${"why ".repeat(2_000)}`;
      await agent.run(`[said with note ${turns}] ${text}`, { persistUserMessage: text });
    }
    expect(agent.sessionId).not.toBe(id);
    const said = String(wire.wireMessages(-1).at(-1)?.content).replaceAll("why ", "");
    expect(said).toContain(`[said with note ${turns}] question ${turns} `);
    await expectStoredOnly(agent, wire, id);
  });

  it("keeps both forms when a summary is put in front of it in the middle of the turn", async () => {
    const big = tool({
      description: "Much text.",
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }) => `part ${n} ${"lorem ".repeat(3_200)}`,
    });
    let calls = -1;
    const script: Script = ({ tools }) => {
      if (tools.length === 0) return { text: "## Goal\nTalk.", chunkChars: 2_000 };
      calls += 1;
      const isAnswer = calls === 0 || calls > 8;
      return isAnswer ? { text: "Done." } : { toolCalls: [{ name: "big", arguments: { n: calls } }] };
    };
    const config = { ...SMALL, compression: { protect_first_n: 2 } };
    const { agent, wire } = await agentHome(script, { config, options: { tools: { big } } });
    const id = agent.sessionId;
    await agent.run("hello");
    await agent.run("[said with note] question", { persistUserMessage: "question" });
    expect(agent.sessionId).not.toBe(id);
    const said = wire.wireMessages(-1).map(({ content }) => String(content));
    const merged = said.filter(
      (text) => text.includes("## Goal") && text.endsWith("[said with note] question"),
    );
    expect(merged).toHaveLength(1);
    await expectStoredOnly(agent, wire, id);
  });
});

describe("instructions for requests alone", () => {
  it("stand behind the system prompt of every request and in no stored or restored one", async () => {
    const { agent, wire, another } = await agentHome(
      [{ toolCalls: [CALL] }, { text: "One." }, { text: "Two." }],
      {
        options: { ephemeralSystemPrompt: "  Answer in rhyme. \n" },
      },
    );
    await agent.run("a");
    const { systemPrompt = "" } = agent;
    expect(systemPrompt).not.toContain("rhyme");
    for (const n of [0, 1]) expect(wire.systemOf(n)).toBe(`${systemPrompt}\n\nAnswer in rhyme.`);
    const row = await agent.store?.getSession(agent.sessionId);
    expect(row?.system_prompt).toBe(systemPrompt);
    expect((await agent.store?.getOwnPrompt(agent.sessionId))?.text).toBe(systemPrompt);
    await agent.close();
    const next = await another({ resume: agent.sessionId, ephemeralSystemPrompt: "Answer in prose." });
    await next.run("b");
    expect(wire.systemOf(2)).toBe(`${systemPrompt}\n\nAnswer in prose.`);
  });
});

describe("what the hook preModelCall adds", () => {
  it("is in the user's message on every call of the turn and nowhere else", async () => {
    const seen: unknown[] = [];
    const { agent, wire } = await agentHome([{ toolCalls: [CALL] }, { text: "One." }, { text: "Two." }], {
      options: {
        hooks: {
          preModelCall: (turn) => {
            seen.push(turn);
            return turn.turn === 1 ? "It is raining." : undefined;
          },
        },
      },
    });
    const id = agent.sessionId;
    await agent.run("[for the model] a", { persistUserMessage: "a" });
    await agent.run("b");
    expect(seen).toEqual([
      { sessionId: id, turn: 1, userText: "a" },
      { sessionId: id, turn: 2, userText: "b" },
    ]);
    for (const n of [0, 1])
      expect(wire.wireMessages(n)[0]?.content).toBe("[for the model] a\n\nIt is raining.");
    expect(wire.requests[2]?.raw).not.toContain("raining");
    expect(await stored(agent)).toEqual([
      ["user", "a"],
      ["assistant", ""],
      ["tool", expect.any(String)],
      ["assistant", "One."],
      ["user", "b"],
      ["assistant", "Two."],
    ]);
    expect(JSON.stringify(agent.messages)).not.toContain("raining");
  });

  it("stands behind recalled memory", async () => {
    const home = tempDirectory();
    writeRecorder(home, { prefetch: "Likes rain." });
    const { agent, wire } = await agentHome([{ text: "One." }], {
      home,
      config: { memory: { provider: RECORDER } },
      options: { hooks: { preModelCall: () => "It is raining." } },
    });
    await agent.run("a");
    expect(String(wire.wireMessages(0)[0]?.content)).toMatch(
      /^a\n\n<memory-context>\n.*Likes rain\.\n<\/memory-context>\n\nIt is raining\.$/s,
    );
  });
});
