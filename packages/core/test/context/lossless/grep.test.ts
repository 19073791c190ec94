// lcm_grep: which hits, in which order, and for which user.

import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { inOrder } from "../../../src/context/lossless/tools/grep.ts";
import type { HomeStore } from "../../../src/sessions/index.ts";
import { alternating, user } from "../../../testing/context-engine/lists.ts";
import { modelThat } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { Conversation, SMALL } from "./conversation.ts";

type Result = Record<string, unknown>;

let talk: Conversation;
let early: number;
let late: number;

beforeEach(async () => {
  const summarizer = modelThat((prompt) =>
    prompt.includes("heronloft") ? "the heronloft was found" : "nothing",
  );
  talk = await Conversation.begin({ ...SMALL, summarizer }, { userId: "ann" });
  onTestFinished(async () => talk.store.close());
  await talk.say(alternating(8, 400));
  [early = -1] = await talk.say([asMessage({ role: "user", content: "the heronloft is old" })]);
  await talk.say([asMessage({ role: "assistant", content: "noted" }), ...alternating(40, 400)]);
  [late = -1] = await talk.say([asMessage({ role: "assistant", content: "we went to the heronloft again" })]);
  await talk.say(alternating(2, 100));
  await talk.compact();
  await talk.say(alternating(2, 100));
});

async function grep(args: Record<string, unknown>): Promise<{ results: Result[] } & Result> {
  return (await talk.tool("lcm_grep", args)) as { results: Result[] } & Result;
}

const kinds = (results: Result[]) => results.map(({ type }) => type);

it("finds messages with the part they belong to, and summaries", async () => {
  const { query, count, results } = await grep({ query: "heronloft" });
  expect(query).toBe("heronloft");
  expect(count).toBe(results.length);
  const leaf = (await talk.nodes()).find(
    ({ depth, source_ids }) => depth === 0 && source_ids.includes(early),
  );
  expect(results.filter(({ type }) => type === "message")).toEqual([
    {
      type: "message",
      store_id: late,
      session_id: "root",
      role: "assistant",
      timestamp: expect.any(Number),
      snippet: "we went to the >>>heronloft<<< again",
      covered_by: null,
      expand_hint: `lcm_expand(store_id=${late})`,
    },
    expect.objectContaining({ store_id: early, role: "user", covered_by: leaf?.node_id }),
  ]);
  const summary = results.find(({ node_id }) => node_id === leaf?.node_id);
  expect(summary).toEqual({
    type: "summary",
    node_id: leaf?.node_id,
    session_id: "root",
    timestamp: expect.any(Number),
    depth: 0,
    snippet: "the >>>heronloft<<< was found",
    expand_hint: `lcm_expand(node_id="${leaf?.node_id}")`,
  });
});

it("gives what is newest, best, or a bit of both first", async () => {
  const newest = (await grep({ query: "heronloft" })).results.map(({ timestamp }) => Number(timestamp));
  expect(newest).toEqual([...newest].sort((a, b) => b - a));
  const best = (await grep({ query: "heronloft old", sort: "relevance" })).results;
  expect(best[0]).toMatchObject({ store_id: early });
  expect(kinds(best)).toContain("summary");
  const both = (await grep({ query: "heronloft", sort: "hybrid", limit: 3 })).results;
  expect(both).toHaveLength(3);
});

it("by role gives messages only", async () => {
  const { results } = await grep({ query: "heronloft", role: "Assistant" });
  expect(results).toMatchObject([{ store_id: late }]);
});

it.each([
  [0, 1],
  [-5, 1],
  [1_000, 200],
])("a limit of %i is clamped to %i, and said so", async (limit, clamped) => {
  const answer = await grep({ query: "heronloft", limit });
  expect(answer.limit_clamped_from).toBe(limit);
  expect(answer.results.length).toBeLessThanOrEqual(clamped);
  expect(await grep({ query: "heronloft", limit: "2" })).not.toHaveProperty("limit_clamped_from");
});

it.each([
  [{}, "query is empty"],
  [{ query: "  " }, "query is empty"],
  [{ query: "x", session_id: "root" }, "session_scope 'session'"],
  [{ query: "x", session_id: "root", session_scope: "all" }, "session_scope 'session'"],
  [{ query: "x", session_scope: "session", session_id: "nowhere" }, "no session 'nowhere'"],
  [{ query: "x", session_scope: "planet" }, "session_scope must be"],
  [{ query: "x", sort: "oldest" }, "sort must be"],
  [{ query: "x", limit: "many" }, "limit must be"],
])("refuses %j", async (args, reason) => {
  expect(await grep(args)).toEqual({ error: expect.stringContaining(reason) });
});

describe("other conversations", () => {
  let bens: number;
  let anns: number;
  let bensNode: string;
  let annsNode: string;

  beforeEach(async () => {
    const begin = async (id: string, userId: string) => {
      const other = await Conversation.begin(talk.setting, { store: talk.store, id, userId });
      const [found = -1] = await other.say([asMessage({ role: "user", content: `heronloft of ${userId}` })]);
      await other.say(alternating(50, 400));
      await other.engine.compress([user(10), user(10), user(10), ...other.live]);
      return { found, node: (await other.nodes())[0]?.node_id ?? "" };
    };
    ({ found: bens, node: bensNode } = await begin("bens", "ben"));
    ({ found: anns, node: annsNode } = await begin("anns", "ann"));
    expect(bensNode).not.toBe("");
  });

  it("of the same user are found with scope all, and those of others never", async () => {
    const { results } = await grep({ query: "heronloft", session_scope: "all", limit: 200 });
    const ids = results.map(({ store_id }) => store_id);
    expect(ids).toContain(anns);
    expect(ids).not.toContain(bens);
    expect(results.map(({ node_id }) => node_id)).not.toContain(bensNode);
    const other = results.find(({ store_id }) => store_id === anns);
    expect(other?.expand_hint).toContain('session_search(session_id="anns"');
    expect(await grep({ query: "heronloft", session_scope: "session", session_id: "anns" })).toMatchObject({
      results: expect.arrayContaining([expect.objectContaining({ store_id: anns })]),
    });
    expect(await grep({ query: "heronloft", session_scope: "session", session_id: "bens" })).toEqual({
      error: "There is no session 'bens'.",
    });
  });

  it("cannot be expanded, with the same message whether they exist or belong to another user", async () => {
    const unknown = { error: expect.stringMatching(/^There is no message \d+ in this conversation\./) };
    for (const store_id of [bens, anns, 999_999])
      expect(await talk.tool("lcm_expand", { store_id })).toEqual(unknown);
    for (const node_id of [bensNode, annsNode, "lcm_nothing"])
      for (const tool of ["lcm_expand", "lcm_describe"])
        expect(await talk.tool(tool, { node_id })).toEqual({
          error: expect.stringContaining(`There is no summary '${node_id}'`),
        });
  });

  it("one of another user in the lineage is not seen", async () => {
    const { store } = talk;
    await store.createSession("fork of ben", {
      source: "cli",
      userId: "ben",
      parentSessionId: talk.sessionId,
    });
    const [secret] = await store.appendMany("fork of ben", [{ role: "user", content: "heronloft secret" }]);
    expect(await talk.tool("lcm_expand", { store_id: secret })).toHaveProperty("error");
    const { results } = await grep({ query: "heronloft", limit: 200 });
    expect(results.map(({ store_id }) => store_id)).not.toContain(secret);
  });

  it("are not searched for a session that is not stored, because its user is not known", async () => {
    const { engine } = await Conversation.begin(talk.setting, { store: talk.store, id: "soon gone" });
    await talk.store.deleteSession("soon gone");
    for (const where of [
      { session_scope: "all" },
      { session_scope: "session", session_id: talk.sessionId },
    ]) {
      const answer = await engine.handleToolCall("lcm_grep", { query: "heronloft", ...where });
      expect(JSON.parse(answer)).toEqual({ error: expect.stringContaining("not stored") });
    }
    const own = JSON.parse(await engine.handleToolCall("lcm_grep", { query: "heronloft" }));
    expect(own).toMatchObject({ count: 0, results: [] });
  });

  it("a session that is not its user's shows nothing and takes no summaries", async () => {
    const stranger = await Conversation.begin(talk.setting, {
      store: (talk.store as HomeStore).forUser({ platform: "cli", userId: "ben" }),
      id: "x",
    });
    stranger.sessionId = talk.sessionId;
    await stranger.resume();
    expect(await stranger.tool("lcm_expand", { store_id: early })).toHaveProperty("error");
    expect(await stranger.tool("lcm_status")).toMatchObject({ messages: 0, nodes: 0 });
    expect(await stranger.tool("lcm_grep", { query: "heronloft" })).toMatchObject({ results: [] });
    await talk.say(alternating(60, 400));
    expect(await stranger.engine.compress(talk.live)).toMatchObject({ reason: "not_stored" });
  });
});

it("orders messages and summaries by time, by rank, or by both", () => {
  const hit = (name: string, rank: number, timestamp: number) => ({ result: { name }, rank, timestamp });
  const messages = [hit("best, old", 1, 10), hit("second, new", 2, 40), hit("third, newer", 3, 50)];
  const summaries = [hit("summary, middle", 3.5, 30)];
  const names = (sort: Parameters<typeof inOrder>[2]) =>
    inOrder(messages, summaries, sort).map(({ result }) => (result as { name: string }).name);
  expect(names("relevance")).toEqual(["best, old", "second, new", "third, newer", "summary, middle"]);
  expect(names("recency")).toEqual(["third, newer", "second, new", "summary, middle", "best, old"]);
  expect(names("hybrid")[0]).toBe("third, newer");
  expect(names("hybrid").at(-1)).toBe("summary, middle");
});
