// The tools with which a model reads compacted turns.

import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { checkEngine } from "../../../src/context/select-engine.ts";
import { parseToolCalls } from "../../../src/message/index.ts";
import { alternating } from "../../../testing/context-engine/lists.ts";
import { modelThat } from "../../../testing/context-engine/summarisers.ts";
import { asMessage } from "../messages.ts";
import { Conversation, SMALL } from "./conversation.ts";

type Json = Record<string, unknown>;

const CALLS = [
  { id: "c1", type: "function", function: { name: "read_file", arguments: '{"path": "quay.ts"}' } },
];
const ODD = [
  { role: "user", content: "please look at the quayside crane" },
  { role: "assistant", content: null, tool_calls: CALLS },
  { role: "tool", content: "zero\u0000byte, 灯塔, \ud83d\ude80", tool_call_id: "c1", tool_name: "read_file" },
  { role: "assistant", content: [{ type: "text", text: "the quayside crane is blue" }] },
];

let talk: Conversation;
let oddIds: number[];

/** Compacted twice; the odd messages are in an early part. */
beforeEach(async () => {
  talk = await Conversation.begin({
    ...SMALL,
    summarizer: modelThat((_, call) => `part ${call} about a crane`),
  });
  onTestFinished(async () => talk.store.close());
  await talk.say(alternating(8, 400));
  oddIds = await talk.say(ODD.map((row) => asMessage(row)));
  await talk.say(alternating(50, 400));
  await talk.compact();
  await talk.say(alternating(40, 400));
  await talk.compact();
});

async function leafWith(id: number | undefined): Promise<string> {
  const leaf = (await talk.nodes()).find(
    ({ depth, source_ids }) => depth === 0 && source_ids.includes(id ?? -1),
  );
  if (leaf === undefined) throw new Error(`no leaf stands for ${id}`);
  return leaf.node_id;
}

async function topNode(): Promise<string> {
  const nodes = await talk.nodes();
  return nodes.find(({ depth }) => depth === Math.max(...nodes.map((node) => node.depth)))?.node_id ?? "";
}

it("the engine is one by the contract, and describes four tools", () => {
  expect(checkEngine(talk.engine)).toMatchObject({ ok: true });
  const schemas = talk.engine.getToolSchemas();
  expect(schemas.map(({ name }) => name)).toEqual(["lcm_grep", "lcm_describe", "lcm_expand", "lcm_status"]);
  for (const { description, parameters } of schemas) {
    expect(description.length).toBeGreaterThan(40);
    expect(parameters).toMatchObject({ type: "object", properties: expect.any(Object) });
  }
});

it("an unknown tool is told by its name", async () => {
  expect(await talk.tool("lcm_fly")).toEqual({ error: "Unknown context engine tool: lcm_fly" });
});

describe("lcm_expand of a leaf", () => {
  it("in pages of any size gives the same text", async () => {
    const node_id = await leafWith(oddIds[2]);
    const rows = await talk.engine.expand(node_id);
    for (const max_tokens of [1, 7, 40, 90, 200]) {
      const texts = new Map<number, string>();
      for (const page of await pages({ node_id, max_tokens }))
        for (const source of page.sources as Json[]) {
          const { store_id, content, tool_calls, content_format } = source as Json & { store_id: number };
          const whole = tool_calls === undefined ? content : { content, tool_calls };
          const piece =
            content_format === undefined && typeof whole !== "string"
              ? JSON.stringify(tool_calls === undefined ? { content } : whole)
              : whole;
          texts.set(store_id, (texts.get(store_id) ?? "") + String(piece));
        }
      expect([...texts.keys()]).toEqual(rows.map(({ id }) => id));
      for (const { id, content, tool_calls } of rows) {
        const isText = typeof content === "string" && tool_calls === null;
        const expected = isText
          ? content
          : JSON.stringify(tool_calls === null ? { content } : { content, tool_calls });
        expect(texts.get(id)).toBe(expected);
      }
    }
  });

  it("says how many of its messages are gone", async () => {
    const node_id = await leafWith(oddIds[0]);
    await talk.store.clearMessages("root");
    const answer = await talk.tool("lcm_expand", { node_id });
    expect(answer).toMatchObject({ sources: [], total_sources: 0 });
    expect(answer.missing_sources).toBeGreaterThan(0);
  });
});

describe("lcm_expand of a node above", () => {
  it("gives the summaries it is made of, and leads down to every message", async () => {
    const found: unknown[] = [];
    const walk = async (node_id: unknown): Promise<void> => {
      for (const page of await pages({ node_id, max_tokens: 100 }))
        for (const source of page.sources as Json[]) {
          if (page.source_type === "message") found.push(source.store_id);
          else {
            expect(source).toMatchObject({
              summary: expect.stringContaining("about a crane"),
              expand_hint: expect.stringContaining("lcm_expand"),
            });
            await walk(source.node_id);
          }
        }
    };
    const top = await topNode();
    await walk(top);
    const node = await talk.store.summaries.getSummaryNode(top);
    expect(found[0]).toBe(node?.first_message_id);
    expect(found.at(-1)).toBe(node?.last_message_id);
    expect(new Set(found).size).toBeGreaterThan(20);
  });
});

describe("lcm_expand of a message", () => {
  it("gives it with the part it belongs to, by the id of any copy", async () => {
    const [first, call] = oddIds;
    expect(await talk.tool("lcm_expand", { store_id: first })).toMatchObject({
      store_id: first,
      session_id: "root",
      role: "user",
      content: ODD[0]?.content,
      covered_by: await leafWith(first),
    });
    const withCalls = await talk.tool("lcm_expand", { store_id: String(call) });
    expect(parseToolCalls(withCalls.tool_calls)).toHaveLength(1);
    const live = talk.live.at(-1)?.meta.rowId;
    expect(await talk.tool("lcm_expand", { store_id: live })).toMatchObject({ covered_by: null });
  });
});

describe("lcm_expand refuses", () => {
  it.each([
    [{}, "exactly one"],
    [{ node_id: "lcm_1", store_id: 1 }, "exactly one"],
    [{ node_id: "", store_id: null }, "exactly one"],
    [{ node_id: "lcm_nothing" }, "no summary 'lcm_nothing'"],
    [{ node_id: {} }, "must be a text"],
    [{ store_id: 999_999 }, "no message 999999"],
    [{ store_id: "twelve" }, "whole number"],
    [{ store_id: 1, max_tokens: -1 }, "max_tokens"],
    [{ store_id: 1, content_offset: "x" }, "content_offset"],
  ])("%j", async (args, reason) => {
    expect(await talk.tool("lcm_expand", args)).toEqual({ error: expect.stringContaining(reason) });
  });
});

describe("lcm_describe", () => {
  it("gives an overview of the depths and the parts on top, without content", async () => {
    const overview = await talk.tool("lcm_describe");
    const nodes = await talk.nodes();
    const covered = nodes.filter(({ depth }) => depth === 0).flatMap(({ source_ids }) => source_ids);
    expect(overview).toMatchObject({
      lineage_root: "root",
      session_id: talk.sessionId,
      covered_messages: covered.length,
    });
    const depths = overview.depths as { depth: number; nodes: number }[];
    expect(depths.map(({ depth }) => depth)).toEqual([0, 1, 2, 3]);
    expect(depths.reduce((sum, each) => sum + each.nodes, 0)).toBe(nodes.length);
    const tops = overview.top_nodes as Json[];
    expect(tops.reduce((sum, each) => sum + Number(each.messages), 0)).toBe(covered.length);
    expect(JSON.stringify(overview)).not.toContain("about a crane");
  });

  it("gives one node with its range, its sources and its parent, without content", async () => {
    const nodes = await talk.nodes();
    const above = nodes.find(({ depth }) => depth === 1);
    const answer = await talk.tool("lcm_describe", { node_id: above?.node_id });
    expect(answer).toMatchObject({
      node_id: above?.node_id,
      depth: 1,
      first_message_id: above?.first_message_id,
      last_message_id: above?.last_message_id,
      tokens: above?.tokens,
      source_tokens: above?.source_tokens,
      method: "model",
      expand_hint: `lcm_expand(node_id="${above?.node_id}")`,
      children: above?.source_ids.map((node_id) => expect.objectContaining({ node_id, depth: 0 })),
    });
    expect(JSON.stringify(answer)).not.toContain("about a crane");
    const leaf = await talk.tool("lcm_describe", { node_id: above?.source_ids[0] });
    expect(leaf).toMatchObject({ depth: 0, parent: above?.node_id });
    expect(leaf.stored_messages).toBe(leaf.messages);
    expect(await talk.tool("lcm_describe", { node_id: "x" })).toEqual({
      error: expect.stringContaining("'x'"),
    });
  });
});

/** Follows the offsets to the last page. */
async function pages(args: Json): Promise<Json[]> {
  const all: Json[] = [];
  let offsets: Json = {};
  do {
    const page = await talk.tool("lcm_expand", { ...args, ...offsets });
    expect(page).not.toHaveProperty("error");
    all.push(page);
    const { next_source_offset: source_offset, next_content_offset: content_offset } = page;
    offsets = {
      source_offset,
      content_offset,
    };
    expect(all.length).toBeLessThan(5_000);
  } while (Object.values(offsets).some((offset) => offset !== undefined));
  return all;
}
