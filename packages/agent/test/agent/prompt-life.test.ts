// The system prompt of a session: built once, unchanged byte for byte, restored on resume, and rebuilt only where it has to be.
import { DatabaseSync } from "node:sqlite";
import { sessionDatabasePath } from "@hermes-memory/core/internal/home";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import type { Step } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";

const FACT = "The harbour crane is blue.";
const ADD: Step = {
  toolCalls: [{ name: "memory", arguments: { action: "add", target: "memory", content: FACT } }],
};

function answers(count: number): Step[] {
  return Array.from({ length: count }, (_, index) => ({ text: `Answer ${index + 1}.` }));
}

/** As another program would write it. */
function setRowPrompt(home: string, id: string, text: string | null): void {
  const db = new DatabaseSync(sessionDatabasePath(home));
  db.prepare("UPDATE sessions SET system_prompt = ? WHERE id = ?").run(text, id);
  db.close();
}

async function rowPrompt(agent: Agent): Promise<string | null | undefined> {
  return (await agent.store?.getSession(agent.sessionId))?.system_prompt;
}

async function ownPrompt(agent: Agent): Promise<string | undefined> {
  return (await agent.store?.getOwnPrompt(agent.sessionId))?.text;
}

describe("a fact that a session adds to memory", () => {
  it("is in the prompt of the next session and never in that of the session itself", async () => {
    const { agent, wire, another } = await agentHome([ADD, ...answers(4)]);
    await agent.run("remember the crane");
    await agent.run("more");
    await agent.run("and more");
    for (const request of wire.requests) expect(request.system).toBe(wire.systemOf(0));
    expect(wire.systemOf(0)).not.toContain(FACT);
    const other = await another();
    await other.run("hello");
    expect(wire.systemOf(-1)).toContain(FACT);
    expect(await rowPrompt(agent)).toBe(wire.systemOf(0));
    expect(await rowPrompt(other)).toBe(wire.systemOf(-1));
  });

  it("stays out when the session is resumed by a new agent, which sends the stored prompt byte for byte", async () => {
    const { agent, wire, another } = await agentHome([ADD, ...answers(3)], {
      options: { instructions: "Größe zählt: 大小 👩‍👩‍👧 \u00a0 end" },
    });
    await agent.run("remember the crane");
    await agent.close();
    const resumed = await another({ resume: agent.sessionId });
    expect(resumed.systemPrompt).toBeUndefined();
    await resumed.run("again");
    await resumed.run("and again");
    expect(wire.systemOf(-1)).toBe(wire.systemOf(0));
    expect(wire.systemOf(-2)).toBe(wire.systemOf(0));
    expect(wire.systemOf(0)).toContain("大小 👩‍👩‍👧");
  });

  it("comes in on resume where memory.refresh_on_resume says so, and the new prompt is stored", async () => {
    const { agent, wire, another } = await agentHome([ADD, ...answers(3)], {
      config: { memory: { refresh_on_resume: true } },
    });
    await agent.run("remember the crane");
    await agent.run("more");
    expect(wire.systemOf(-1)).toBe(wire.systemOf(0)); // a turn is no resume
    await agent.close();
    const resumed = await another({ resume: agent.sessionId });
    await resumed.run("again");
    expect(wire.systemOf(-1)).toContain(FACT);
    expect(await ownPrompt(resumed)).toBe(wire.systemOf(-1));
  });

  it("comes in when the session is compacted, in the next request and in what is stored", async () => {
    const steps = [ADD];
    const { agent, wire } = await agentHome(
      ({ tools }) => {
        if (tools.length === 0) return { text: "## Goal\nTalk.", chunkChars: 2_000 };
        return { chunkChars: 2_000, ...(steps.shift() ?? { text: "so ".repeat(2_000) }) };
      },
      { config: { model: { context_length: 24_000 } } },
    );
    const id = agent.sessionId;
    await agent.run("remember the crane");
    for (let turns = 0; agent.sessionId === id && turns < 20; turns += 1) {
      expect(wire.systemOf(-1)).toBe(wire.systemOf(0));
      await agent.run(`why ${"why ".repeat(2_000)}`);
    }
    expect(agent.sessionId).not.toBe(id);
    expect(wire.systemOf(-1)).toContain(FACT);
    expect(wire.systemOf(-1)).toBe(agent.systemPrompt);
    expect(await ownPrompt(agent)).toBe(agent.systemPrompt);
    expect(await rowPrompt(agent)).toBe(agent.systemPrompt);
    expect((await agent.store?.getOwnPrompt(id))?.text).toBe(wire.systemOf(0));
  });
});

describe("a prompt that another program stored", () => {
  it("is neither used nor overwritten, and ours is used from then on", async () => {
    const { agent, home, wire, another } = await agentHome([...answers(3)]);
    const { store } = agent;
    if (store === undefined) throw new Error("there is no store");
    await store.createSession("20260101_000000_abcdef", { source: "cli", model: "test-model" });
    await store.appendMany("20260101_000000_abcdef", [
      { role: "user", content: "hello" },
      { role: "assistant", content: "Hi." },
    ]);
    const theirs = "You are somebody else.\n\nModel: test-model\nProvider: custom";
    setRowPrompt(home, "20260101_000000_abcdef", theirs);
    const resumed = await another({ resume: "20260101_000000_abcdef" });
    await resumed.run("who are you?");
    expect(wire.systemOf(0)).not.toContain("somebody else");
    expect(await rowPrompt(resumed)).toBe(theirs);
    expect(await ownPrompt(resumed)).toBe(wire.systemOf(0));
    await resumed.close();
    const again = await another({ resume: "20260101_000000_abcdef", instructions: "Would be new." });
    await again.run("and now?");
    expect(wire.systemOf(1)).toBe(wire.systemOf(0));
    expect(await rowPrompt(again)).toBe(theirs);
  });
});
