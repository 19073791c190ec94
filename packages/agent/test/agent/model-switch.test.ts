// A switch of the model in the middle of a conversation: the requests to the new server, and the changes in the session.

import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import type { ModelSelection } from "../../src/models/index.ts";
import type { Script, Step, WireKind } from "../fakes/wires/script.ts";
import { startWire, type Wire } from "../fakes/wires/wire-in-test.ts";
import { agentHome, modelSection } from "./agent-home.ts";

const KINDS: readonly WireKind[] = ["chat", "responses", "anthropic", "google"];
const PAIRS = KINDS.flatMap((from) => KINDS.filter((to) => to !== from).map((to) => [from, to] as const));

function selectionOf(kind: WireKind, { url }: Wire): ModelSelection {
  const section = modelSection(kind, url) as Record<string, string>;
  const { default: model, base_url: baseUrl, api_key: apiKey, provider, api_mode: apiMode } = section;
  return { model, baseUrl, apiKey, provider, apiMode };
}

const signature = (kind: WireKind): string => Buffer.from(`vouched for by ${kind}`).toString("base64");

/** Thinks, uses a tool, thinks again, answers. */
function thinking(kind: WireKind, tag: string): readonly Step[] {
  const todos = [{ id: "1", content: `item of ${tag}`, status: "pending" }];
  const thought = { reasoning: `thought of ${tag}`, signature: signature(kind) };
  return [
    { ...thought, text: `looking, ${tag}`, toolCalls: [{ name: "todo", arguments: { todos } }] },
    { ...thought, text: `answer of ${tag}` },
  ];
}

async function switched(agent: Agent, selection: ModelSelection): Promise<void> {
  const outcome = await agent.switchModel(selection);
  if (!outcome.ok) throw new Error(outcome.error.message);
}

describe.each(PAIRS)("from %s to %s and back", (from, to) => {
  it("words and tools come along, thoughts only where they were thought", async () => {
    const { agent, wire } = await agentHome([...thinking(from, "one"), { text: "home again" }], {
      kind: from,
    });
    const other = await startWire(to, thinking(to, "two"));
    await agent.run("first question");
    await switched(agent, selectionOf(to, other));
    expect(await agent.run("second question")).toMatchObject({
      final_response: "answer of two",
      model: agent.model.model,
    });
    const [request] = other.requests;
    for (const text of ["first question", "looking, one", "item of one", "answer of one", "second question"])
      expect(request?.raw).toContain(text);
    expect(request?.raw).not.toContain("thought of one");
    expect(request?.raw).not.toContain(signature(from));

    await switched(agent, selectionOf(from, wire));
    expect(await agent.run("third question")).toMatchObject({ final_response: "home again" });
    const before = wire.wireMessages(1);
    expect(wire.wireMessages(2).slice(0, before.length)).toEqual(before);
    expect(wire.requests[2]?.raw).toContain("answer of two");
    expect(wire.requests[2]?.raw).not.toContain("thought of two");
    if (from !== "chat") expect(wire.requests[2]?.raw).toContain(signature(from));
  });
});

describe("switching the model", () => {
  const ok: Script = () => ({ text: "ok" });

  it("changes window, engine, session row and prompt, and keeps the memory snapshot", async () => {
    let calls = 0;
    const add = {
      name: "memory",
      arguments: { action: "add", target: "memory", content: "The kiln is blue" },
    };
    const { agent, wire } = await agentHome(() => (++calls === 1 ? { toolCalls: [add] } : { text: "ok" }), {
      config: { model: { context_length: 30_000 } },
    });
    const other = await startWire("anthropic", ok);
    await agent.run("hello");
    const before = await agent.status();
    expect(before).toMatchObject({
      model: "test-model",
      context: { limit_tokens: 30_000 },
      caching: { enabled: false },
    });

    await switched(agent, selectionOf("anthropic", other));
    const after = await agent.status();
    expect(after).toMatchObject({
      model: "claude-sonnet-4-5",
      provider: "anthropic",
      session_id: before.session_id,
      messages: before.messages,
      turns: 1,
      context: { limit_tokens: 200_000, threshold_tokens: 100_000 },
      caching: { enabled: true },
    });
    expect(agent.window).toMatchObject({ tokens: 200_000, source: "table" });

    await agent.run("again");
    expect(wire.systemOf(0)).toContain("Model: test-model\nProvider: custom");
    expect(other.systemOf(0)).toContain("Model: claude-sonnet-4-5\nProvider: anthropic");
    const withoutModel = (text: string): string => text.replace(/Model: .*\nProvider: .*/, "");
    expect(other.systemOf(0)).not.toContain("The kiln is blue"); // written in this session: the next one reads it
    expect(withoutModel(other.systemOf(0)).replace(/\s+/g, " ")).toBe(
      withoutModel(wire.systemOf(0)).replace(/\s+/g, " "),
    );
    expect(await agent.store?.getSession(agent.sessionId)).toMatchObject({
      model: "claude-sonnet-4-5",
      system_prompt: other.systemOf(0),
    });
    await agent.run("and again");
    expect(other.systemOf(1)).toBe(other.systemOf(0));
  });

  it("to one that cannot be had changes nothing", async () => {
    const { agent, wire } = await agentHome(ok);
    const { model, window } = agent;
    expect(await agent.switchModel({ model: "claude-sonnet-4-5", provider: "anthropic" })).toMatchObject({
      ok: false,
      error: { kind: "refused", message: expect.stringContaining("ANTHROPIC_API_KEY") },
    });
    expect({ model: agent.model, window: agent.window }).toEqual({ model, window });
    await agent.run("hello");
    expect(wire.requests[0]?.body).toMatchObject({ model: "test-model" });
  });
});
