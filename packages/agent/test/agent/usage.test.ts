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

  it("each turn has a record of its own", async () => {
    const { agent } = await agentHome(
      [
        { toolCalls: [{ name: "todo", arguments: {} }], usage: CALL },
        { text: "Fine.", usage: CALL },
        { text: "Yes.", usage: CALL },
      ],
      priced,
    );
    await agent.run("go");
    await agent.run("again");
    const turns = await agent.store?.turns.listTurns();
    expect(turns).toMatchObject([
      {
        session_id: agent.sessionId,
        mode: "agent",
        model: "test-model",
        calls: 1,
        input_tokens: 1_000,
        recall: null,
      },
      { calls: 2, input_tokens: 2_000, cache_read_tokens: 10_000, cost: expect.closeTo(2 * COST) },
    ]);
  });
});

describe("what it costs", () => {
  it("is included for a server of the user's own, and the row says how it is billed", async () => {
    const { agent } = await agentHome(answered, { config: { model: { provider: "ollama" } } });
    expect(await agent.run("go")).toMatchObject({ estimated_cost_usd: 0, cost_status: "included" });
    expect(await rowOf(agent)).toMatchObject({
      billing_provider: "ollama",
      billing_mode: "subscription_included",
      cost_source: "local",
    });
  });
});

describe("the agent's totals", () => {
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
