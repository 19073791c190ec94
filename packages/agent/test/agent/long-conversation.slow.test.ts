// 300 turns in a window of 20,000 tokens: every message is stored and can be found afterwards.
import { jsonSchema, tool } from "ai";
import { expect, it } from "vitest";
import type { Agent } from "../../src/agent/index.ts";
import {
  answerText,
  callText,
  type Fact,
  longAnswer,
  plantedFacts,
  TOOL_NAME,
  toolResult,
  userText,
} from "../fakes/long-conversation.ts";
import { type AgentHome, agentHome } from "./agent-home.ts";
import { unfenced } from "./turns.ts";

const TURNS = 300;
const FACTS = plantedFacts(30, 4, 220);

async function longConversation(config: Readonly<Record<string, unknown>> = {}): Promise<AgentHome> {
  const made = await agentHome((request) => longAnswer(request, FACTS), {
    config: { ...config, model: { context_length: 20_000 } },
    options: {
      tools: {
        [TOOL_NAME]: tool({
          description: "Reads the log of a turn.",
          inputSchema: jsonSchema<{ turn: number }>({
            type: "object",
            properties: { turn: { type: "integer" } },
            required: ["turn"],
          }),
          execute: ({ turn }) => toolResult(turn, FACTS),
        }),
      },
    },
  });
  const { agent } = made;
  await agent.setTitle("Weather");
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const { final_response } = await agent.run(userText(turn, FACTS));
    if (final_response !== answerText(turn, FACTS)) throw new Error(`Turn ${turn}: ${final_response}`);
  }
  return made;
}

/** The results that the model gets for its calls. */
async function toolAnswer(agent: Agent, name: string, args: Readonly<Record<string, unknown>>) {
  const { messages } = await agent.run(callText(name, args));
  return String(messages.findLast(({ role }) => role === "tool")?.content);
}

async function continued(agent: Agent): Promise<readonly string[]> {
  return (await agent.store?.listContinued(agent.sessionId)) ?? [];
}

async function expectLineage({ agent, events, wire }: AgentHome): Promise<void> {
  const sizes = wire.requests.map(({ raw }) => raw.length / 4);
  expect(Math.max(...sizes)).toBeLessThan(20_000);
  const ids = await continued(agent);
  expect(ids.length).toBeGreaterThanOrEqual(4);
  expect(ids.at(-1)).toBe(agent.sessionId);
  const switches = events.flatMap((event) => (event.type === "session-switch" ? [event] : []));
  expect(switches.map(({ from, to, reason }) => [from, to, reason])).toEqual(
    ids.slice(1).map((id, at) => [ids[at], id, "compression"]),
  );
  const rows = await Promise.all(ids.map(async (id) => agent.store?.getSession(id)));
  expect(rows.map((row) => row?.title)).toEqual(
    ids.map((_, at) => (at === 0 ? "Weather" : `Weather #${at + 1}`)),
  );
  expect(rows.map((row) => row?.parent_session_id)).toEqual([null, ...ids.slice(0, -1)]);
  expect(rows.map((row) => row?.end_reason)).toEqual([...ids.slice(1).map(() => "compression"), null]);
}

/** Each message once as an original, in the order it was said. */
async function expectNothingLost(agent: Agent, facts: readonly Fact[]): Promise<void> {
  const rows = (
    await Promise.all((await continued(agent)).map(async (id) => (await agent.store?.getMessages(id)) ?? []))
  ).flat();
  const originals = rows.filter((row) => row.origin_id === undefined).sort((a, b) => a.id - b.id);
  const said = (role: string, start: string): unknown[] =>
    originals
      .filter((row) => row.role === role && String(row.content).startsWith(start))
      .map(({ content }) => content);
  const turns = Array.from({ length: TURNS }, (_, at) => at + 1);
  expect(said("user", "Turn ")).toEqual(turns.map((turn) => userText(turn, facts)));
  expect(said("assistant", "Answer ")).toEqual(turns.map((turn) => answerText(turn, facts)));
  const read = turns.filter((turn) => userText(turn, facts).includes("have a look"));
  expect(said("tool", "Log of ")).toEqual(read.map((turn) => toolResult(turn, facts)));
}

const TIME = { timeout: 60_000 };

it("a conversation of 300 turns keeps every message, and session_search finds every fact", TIME, async () => {
  const made = await longConversation();
  const { agent, another } = made;
  await expectLineage(made);
  await expectNothingLost(agent, FACTS);
  // The fresh session first: what is asked in the long one would be found from there.
  const fresh = await another();
  for (const { name, value } of FACTS)
    expect(await toolAnswer(fresh, "session_search", { query: name, limit: 1 }), name).toContain(value);
  for (const { name, value } of FACTS) {
    const args = { query: name, scope: "lineage", limit: 1 };
    expect(await toolAnswer(agent, "session_search", args), name).toContain(value);
  }
});

it(
  "with the lossless engine lcm_grep finds every fact, and lcm_expand reads the part it is in",
  TIME,
  async () => {
    const made = await longConversation({ context: { engine: "lcm" } });
    const { agent } = made;
    await expectLineage(made);
    await expectNothingLost(agent, FACTS);
    for (const [at, { name, value, place }] of FACTS.entries()) {
      const found = await toolAnswer(agent, "lcm_grep", { query: name, role: place, limit: 20 });
      // Newest first, and what was looked up before this may hold it too.
      const hit = (JSON.parse(unfenced(found)) as { results: GrepHit[] }).results.at(-1);
      expect(hit, name).toMatchObject({
        snippet: expect.stringContaining(name),
        covered_by: expect.any(String),
      });
      expect(await toolAnswer(agent, "lcm_expand", { store_id: hit?.store_id }), name).toContain(value);
      // Reading whole parts fills the context; some are enough.
      if (at % 4 === 0) expect(await wholePart(agent, hit?.covered_by), name).toContain(value);
    }
  },
);

type GrepHit = { readonly store_id: number; readonly snippet: string; readonly covered_by: string | null };

/** Page by page, as the answers say. */
async function wholePart(agent: Agent, nodeId: unknown): Promise<string> {
  const pages: string[] = [];
  for (let place: object | undefined = {}; place !== undefined; ) {
    const page = await toolAnswer(agent, "lcm_expand", { node_id: nodeId, max_tokens: 4_000, ...place });
    pages.push(page);
    const { next_source_offset: source_offset, next_content_offset: content_offset = 0 } = JSON.parse(
      unfenced(page),
    );
    place = source_offset === undefined ? undefined : { source_offset, content_offset };
  }
  return pages.join("\n");
}
