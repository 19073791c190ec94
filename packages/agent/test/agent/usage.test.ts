// Usage and cost of calls: in the session's row, in the agent's totals, and never counted twice.

import type { SessionRow } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import type { Script } from "../fakes/wires/script.ts";
import { type AgentSetting, agentHome } from "./agent-home.ts";

const CALL = { input: 1_000, output: 200, cacheRead: 5_000, cacheWrite: 300, reasoning: 50 };
const answered: Script = () => ({ text: "Fine.", usage: CALL });
const PRICES = { input: 10, output: 20, cache_read: 1, cache_write: 12 };
const priced: AgentSetting = { config: { models: { prices: { "test-model": PRICES } } } };
/** Of one `CALL` at `PRICES`. */
const COST = (1_000 * 10 + 200 * 20 + 5_000 * 1 + 300 * 12) / 1e6;

async function rowOf(agent: Agent, id = agent.sessionId): Promise<SessionRow> {
  const row = await agent.store?.getSession(id);
  if (!row) throw new Error(`There is no session ${id}.`);
  return row;
}

describe("the session's row", () => {
  it.each(["chat", "anthropic"] as const)(
    "gets every call of the %s wire in buckets that do not overlap",
    async (kind) => {
      const { agent } = await agentHome(
        [
          { toolCalls: [{ name: "todo", arguments: {} }], usage: CALL },
          { text: "Fine.", usage: { input: 7, output: 3 } },
        ],
        { kind },
      );
      const result = await agent.run("go");
      expect(await rowOf(agent)).toMatchObject({
        input_tokens: 1_007,
        output_tokens: 203,
        cache_read_tokens: 5_000,
        cache_write_tokens: 300,
        api_call_count: 2,
        tool_call_count: 1,
        message_count: 4,
      });
      expect(result).toMatchObject({
        input_tokens: 1_007,
        output_tokens: 203,
        completion_tokens: 203,
        cache_read_tokens: 5_000,
        cache_write_tokens: 300,
        prompt_tokens: 6_307,
        total_tokens: 6_510,
        last_prompt_tokens: 7,
        api_calls: 2,
      });
    },
  );

  it("has the use of a call while the turn still runs", async () => {
    let between: SessionRow | undefined;
    const { agent } = await agentHome(async ({ index }) => {
      if (index === 0) return { toolCalls: [{ name: "todo", arguments: {} }], usage: CALL };
      between = await rowOf(agent);
      return { text: "Fine.", usage: CALL };
    });
    await agent.run("go");
    expect(between).toMatchObject({ api_call_count: 1, input_tokens: 1_000 });
    expect(await rowOf(agent)).toMatchObject({ api_call_count: 2, input_tokens: 2_000 });
  });

  it("counts nothing for a server that tells nothing", async () => {
    const { agent } = await agentHome([{ text: "Fine.", usage: null }]);
    expect(await agent.run("go")).toMatchObject({ api_calls: 1, total_tokens: 0, cost_status: "unknown" });
    expect(await rowOf(agent)).toMatchObject({ api_call_count: 0, input_tokens: 0 });
  });

  it("adds up what several processes used", async () => {
    const { agent, another } = await agentHome(answered);
    await agent.run("one");
    const other = await another({ resume: agent.sessionId });
    expect(await other.run("two")).toMatchObject({ input_tokens: 1_000 });
    expect(await rowOf(agent)).toMatchObject({ api_call_count: 2, input_tokens: 2_000 });
  });
});

describe("what it costs", () => {
  it("comes from models.prices where they name the model", async () => {
    const { agent, events } = await agentHome(answered, priced);
    await agent.run("one");
    const result = await agent.run("two");
    expect(result).toMatchObject({ cost_status: "estimated", cost_source: "config" });
    expect(result.estimated_cost_usd).toBeCloseTo(2 * COST, 9);
    const row = await rowOf(agent);
    expect(row).toMatchObject({ cost_status: "estimated", cost_source: "config" });
    expect(row.estimated_cost_usd).toBeCloseTo(2 * COST, 9);
    const told = events.flatMap((event) => (event.type === "usage" ? [event.costUsd] : []));
    expect(told).toEqual([COST, COST]);
  });

  it("comes from the catalogue for a model it knows", async () => {
    const { agent } = await agentHome(answered, { kind: "anthropic" });
    const result = await agent.run("go");
    expect(result).toMatchObject({ cost_status: "estimated", cost_source: "catalogue" });
    // claude-sonnet-4-5: 3 in, 15 out, 0.30 read, 3.75 written for five minutes.
    expect(result.estimated_cost_usd).toBeCloseTo((3_000 + 3_000 + 1_500 + 1_125) / 1e6, 9);
  });

  it("is unknown, and adds nothing, for an unknown model", async () => {
    const { agent } = await agentHome(answered);
    expect(await agent.run("go")).toMatchObject({ estimated_cost_usd: null, cost_status: "unknown" });
    expect(await rowOf(agent)).toMatchObject({
      estimated_cost_usd: 0,
      cost_status: "unknown",
      cost_source: "none",
    });
  });

  it("is included for a server of the user's own, and the row says how it is billed", async () => {
    const { agent } = await agentHome(answered, { config: { model: { provider: "ollama" } } });
    expect(await agent.run("go")).toMatchObject({ estimated_cost_usd: 0, cost_status: "included" });
    expect(await rowOf(agent)).toMatchObject({
      billing_provider: "ollama",
      billing_mode: "subscription_included",
      cost_source: "local",
    });
  });

  it("is billed to the first provider; the last call says how certain the figure is", async () => {
    const { agent, wire } = await agentHome(answered, priced);
    await agent.run("one");
    const other = {
      model: "other-model",
      provider: "ollama",
      baseUrl: wire.url.replace("127.0.0.1", "localhost"),
    };
    expect(await agent.switchModel(other)).toMatchObject({ ok: true });
    await agent.run("two");
    expect(await rowOf(agent)).toMatchObject({
      billing_provider: "custom",
      billing_base_url: wire.url,
      cost_status: "included",
      api_call_count: 2,
    });
    expect((await rowOf(agent)).estimated_cost_usd).toBeCloseTo(COST, 9);
  });
});

describe("the agent's totals", () => {
  it.each([
    ["a new session", (agent: Agent) => agent.newSession()],
    ["a branch", (agent: Agent) => agent.branch()],
  ])("begin anew with %s, and the row of the session before stays", async (_, leave) => {
    const { agent } = await agentHome(answered, priced);
    await agent.run("one");
    const old = agent.sessionId;
    await leave(agent);
    expect(await agent.status()).toMatchObject({
      api_calls: 0,
      cost_usd: null,
      usage: { input: 0, output: 0 },
    });
    expect(await agent.run("two")).toMatchObject({ input_tokens: 1_000, estimated_cost_usd: COST });
    expect(await rowOf(agent, old)).toMatchObject({ api_call_count: 1, input_tokens: 1_000 });
    expect(await rowOf(agent)).toMatchObject({ api_call_count: 1, input_tokens: 1_000 });
  });

  it("begin anew with another session that is resumed", async () => {
    const { agent } = await agentHome(answered, priced);
    await agent.run("one");
    const first = agent.sessionId;
    await agent.newSession();
    await agent.run("two");
    await agent.resume(first);
    expect(await agent.run("three")).toMatchObject({ input_tokens: 1_000, session_id: first });
    expect(await rowOf(agent, first)).toMatchObject({ api_call_count: 2, input_tokens: 2_000 });
  });

  it("go on over a compaction, and each session's row has its own calls", async () => {
    const { agent } = await agentHome(answered, priced);
    const words = "the harbour crane turns slowly ".repeat(60);
    for (let n = 0; n < 8; n += 1) await agent.run(`${n} ${words}`);
    const old = agent.sessionId;
    expect(await agent.compress()).toMatchObject({ kind: "compacted" });
    const result = await agent.run("on");
    expect(result).toMatchObject({ input_tokens: 9_000, cache_read_tokens: 45_000 });
    expect(result.estimated_cost_usd).toBeCloseTo(9 * COST, 9);
    expect(await rowOf(agent, old)).toMatchObject({ api_call_count: 8, input_tokens: 8_000 });
    expect(await rowOf(agent)).toMatchObject({ api_call_count: 1, input_tokens: 1_000 });
  });
});
