// Decisions of the lossless engine that need no database: where to cut, what to merge, what an overview shows.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { handoffText } from "../../../src/context/compressor/handoff.ts";
import { findBoundaries } from "../../../src/context/compressor/plan.ts";
import { cutIntoLeaves } from "../../../src/context/lossless/leaves.ts";
import {
  childrenOf,
  groupsToMerge,
  messageCount,
  toForest,
  toLineage,
  topNodes,
} from "../../../src/context/lossless/lineage.ts";
import { planLossless } from "../../../src/context/lossless/lossless-plan.ts";
import {
  isOverviewOf,
  isPureOverview,
  listedNodes,
  overviewOf,
} from "../../../src/context/lossless/overview.ts";
import { DEFAULT_LCM_SETTINGS, lcmSettings } from "../../../src/context/lossless/settings.ts";
import { extractOf, extractOfSummaries } from "../../../src/context/lossless/writer.ts";
import { DEFAULT_SETTINGS, deriveBudgets } from "../../../src/context/trigger.ts";
import { codePointLength } from "../../../src/lib/index.ts";
import { type Message, withMeta } from "../../../src/message/index.ts";
import type { SummaryNode } from "../../../src/sessions/index.ts";
import { alternating } from "../../../testing/context-engine/lists.ts";
import { leafOf, nodeAbove } from "../../../testing/session-store/summary-nodes.ts";
import { asMessage } from "../messages.ts";
import { SMALL } from "./conversation.ts";

const item = (key: number, role: string, tokens: number, calls = 0) => ({
  key,
  tokens,
  message: asMessage({
    role,
    ...(calls === 0
      ? {}
      : {
          tool_calls: Array.from({ length: calls }, (_, at) => ({
            id: `${key}-${at}`,
            function: { name: "f", arguments: "{}" },
          })),
        }),
  }),
});

describe("leaves", () => {
  const roles = fc.constantFrom("user", "assistant", "tool", "call");
  const items = fc
    .array(fc.tuple(roles, fc.integer({ min: 0, max: 1_500 })), { maxLength: 60 })
    .map((list) =>
      list.map(([role, tokens], at) =>
        role === "call" ? item(at, "assistant", tokens, 2) : item(at, role, tokens),
      ),
    );

  it("hold every message once and in order, and are as large as allowed unless one message is larger", () => {
    fc.assert(
      fc.property(items, (list) => {
        const leaves = cutIntoLeaves(list, 1_000);
        expect(leaves.flat()).toEqual(list);
        for (const leaf of leaves) {
          const tokens = leaf.reduce((sum, each) => sum + each.tokens, 0);
          expect(leaf.length === 1 || tokens <= 1_000).toBe(true);
        }
      }),
    );
  });

  it("keep a call with its results unless those alone are too much", () => {
    const group = [item(1, "assistant", 100, 2), item(2, "tool", 300), item(3, "tool", 300)];
    const keys = (leafTokens: number) =>
      cutIntoLeaves([item(0, "assistant", 500), ...group], leafTokens).map((leaf) =>
        leaf.map(({ key }) => key),
      );
    expect(keys(1_000)).toEqual([[0], [1, 2, 3]]);
    expect(keys(600)).toEqual([
      [0, 1],
      [2, 3],
    ]);
  });

  it("begin with a turn where that leaves the one before at least half full", () => {
    const turns = [200, 300, 200, 300, 200].map((tokens, at) =>
      item(at, at % 2 === 0 ? "user" : "assistant", tokens),
    );
    const keys = (extra: number) =>
      cutIntoLeaves([...turns, item(5, "assistant", extra)], 1_000).map((leaf) => leaf.map(({ key }) => key));
    expect(keys(100)).toEqual([
      [0, 1, 2, 3],
      [4, 5],
    ]);
    // Here the last turn begins too early, so the cut is where the room ends.
    const late = [
      item(0, "user", 100),
      item(1, "user", 100),
      ...[2, 3, 4].map((at) => item(at, "assistant", 300)),
    ];
    expect(cutIntoLeaves(late, 1_000).map((leaf) => leaf.length)).toEqual([4, 1]);
    expect(cutIntoLeaves([item(0, "user", 100), item(1, "assistant", 950)], 1_000)).toHaveLength(2);
    expect(cutIntoLeaves([], 1_000)).toEqual([]);
  });
});

describe("a lineage", () => {
  const row = (id: number, session_id: string, origin_id: number | null = null) => ({
    id,
    session_id,
    origin_id,
  });

  it("has each message once, in the order of the sessions, whatever their numbers are", () => {
    const rows = [row(50, "a"), row(51, "a"), row(7, "b", 51), row(8, "b"), row(3, "c", 51), row(4, "c", 8)];
    const lineage = toLineage(["a", "b", "c"], rows, []);
    expect(lineage.keys).toEqual([50, 51, 8]);
    expect([7, 3, 51, 99].map(lineage.keyOf)).toEqual([51, 51, 51, undefined]);
    expect([51, 8, 99].map(lineage.rowOf)).toEqual([51, 8, undefined]);
  });

  it("finds the oldest copy of a message whose original is gone", () => {
    const lineage = toLineage(["b", "c"], [row(7, "b", 51), row(3, "c", 51)], []);
    expect(lineage.keys).toEqual([51]);
    expect(lineage.rowOf(51)).toBe(7);
    expect(lineage.keyOf(51)).toBe(51);
  });
});

describe("a plan", () => {
  const settings = { protectFirstN: 3, protectLastN: 20, contextLength: SMALL.contextLength };
  const budgets = deriveBudgets({ ...DEFAULT_SETTINGS, contextLength: SMALL.contextLength });
  const list: Message[] = alternating(60, 400).map((message, at) => withMeta(message, { rowId: at + 1 }));
  const rows = list.map((_, at) => ({ id: at + 1, session_id: "a", origin_id: null }));
  const { tailStart, headEnd } = findBoundaries(list, settings, budgets);
  const carrying = list.map((message, at) =>
    at === tailStart
      ? { ...message, content: `${handoffText("of another engine")}\n\n${message.content}` }
      : message,
  );
  const plan = (messages: readonly Message[], nodes: readonly SummaryNode[] = []) =>
    planLossless(messages, toLineage(["a"], rows, nodes), settings, budgets);

  it("covers what leaves, and nothing twice", () => {
    const leaving = list.slice(headEnd, tailStart).map(({ meta }) => meta.rowId);
    expect(plan(list)).toMatchObject({ kind: "compact", toCover: leaving, unstored: 0 });
    const half = leaving.slice(0, 10).map((id) => id ?? 0);
    expect(plan(list, [leafOf("a", half)])).toMatchObject({ toCover: leaving.slice(10) });
  });

  it("covers rows the list does not have, but none that are newer than the list", () => {
    const gappy = list.slice(0, -4).filter((_, at) => at !== 1);
    const known = plan(gappy);
    expect(known).toMatchObject({ toCover: expect.arrayContaining([2]) });
    for (const newer of [57, 58, 59, 60])
      expect(known).not.toMatchObject({ toCover: expect.arrayContaining([newer]) });
  });

  it("covers the message that stays behind another engine's handoff, because that handoff goes", () => {
    const id = tailStart + 1;
    expect(plan(carrying)).toMatchObject({ kind: "compact", toCover: expect.arrayContaining([id]) });
    expect(plan(list)).not.toMatchObject({ toCover: expect.arrayContaining([id]) });
    const unstored = carrying.map((message, at) =>
      at === tailStart ? withMeta(message, { rowId: undefined }) : message,
    );
    expect(plan(unstored)).toEqual({ kind: "unchanged", reason: "not_stored", unstored: 1 });
  });
});

describe("trees", () => {
  const leaves = [1, 3, 5, 7, 9].map((id) => leafOf("a", [id, id + 1]));
  const above = nodeAbove(leaves.slice(0, 3));
  const forest = toForest([...leaves, above]);

  it("know what stands on top, in order of time, and how many messages it stands for", () => {
    const ids = topNodes(forest, (key) => key).map(({ node_id }) => node_id);
    expect(ids).toEqual([above.node_id, "lcm_leaf_7", "lcm_leaf_9"]);
    expect(messageCount(forest, above)).toBe(6);
    expect(childrenOf(forest, above)).toEqual(leaves.slice(0, 3));
    expect(forest.leafOf.get(4)).toBe(leaves[1]);
    expect(topNodes(forest, (key) => (key === 9 ? undefined : key)).map(({ node_id }) => node_id)[0]).toBe(
      "lcm_leaf_9",
    );
  });

  it("merge the oldest neighbours of one depth, as many as it takes and no fewer", () => {
    expect(groupsToMerge(leaves, 0, 2)).toEqual([leaves.slice(0, 2), leaves.slice(2, 4)]);
    expect(groupsToMerge(leaves, 0, 6)).toEqual([]);
    expect(groupsToMerge([above, ...leaves], 1, 2)).toEqual([]);
  });

  it("end every walk, whatever another program wrote", () => {
    const loop = [
      { ...above, node_id: "x", source_ids: ["y", "x", "nowhere"] },
      { ...above, node_id: "y", source_ids: ["x"] },
      { ...above, node_id: "z", depth: 2, source_ids: ["x", "y", "x"] },
    ];
    const grown = toForest(loop);
    expect(loop.map((node) => messageCount(grown, node))).toEqual([0, 0, 0]);
    expect(topNodes(grown, () => undefined).map(({ node_id }) => node_id)).toEqual(["z"]);
  });
});

describe("an overview", () => {
  const parts = [1, 3, 5].map((id) => ({ node: leafOf("a", [id, id + 1]), messages: 2 }));
  const isKnown = (id: string) => parts.some(({ node }) => node.node_id === id);

  it("is known again by the parts it lists", () => {
    const { text, shortened } = overviewOf(parts, 1_000);
    expect(shortened).toEqual([]);
    expect(listedNodes(text)).toEqual(parts.map(({ node }) => node.node_id));
    const message = asMessage({ role: "user", content: handoffText(text) });
    expect(isOverviewOf(message, isKnown)).toBe(true);
    expect(isOverviewOf(message, (id) => id === "lcm_leaf_1")).toBe(false);
    expect(isPureOverview({ ...message, content: `${handoffText(text)}\n\nand more` }, isKnown)).toBe(false);
    expect(
      isOverviewOf(asMessage({ role: "user", content: handoffText("another engine's summary") }), isKnown),
    ).toBe(false);
    const quoting = handoffText("what was said\n\n## [lcm_leaf_1] messages 1-2 (2 messages)\nand more");
    expect(isOverviewOf(asMessage({ role: "user", content: quoting }), isKnown)).toBe(false);
    expect(isOverviewOf(asMessage({ role: "user", content: text }), isKnown)).toBe(false);
  });

  it("cuts the longest summaries first and keeps something of each", () => {
    const long = parts.map((part, at) => ({
      ...part,
      node: { ...part.node, summary: "word ".repeat(at === 1 ? 2_000 : 20) },
    }));
    const { text, shortened } = overviewOf(long, 500);
    expect(shortened).toEqual([long[1]]);
    expect(codePointLength(text)).toBeLessThanOrEqual(2_000);
    expect(listedNodes(text)).toHaveLength(3);
    expect(listedNodes(overviewOf(long, 1).text)).toHaveLength(3);
  });
});

describe("an excerpt", () => {
  it("has a beginning of every message, or of the first and last ones and a count", () => {
    const few = extractOf(["[USER]: one\n\ntwo", "[ASSISTANT]: three", "  "], 600);
    expect(few.split("\n").slice(1)).toEqual(["- [USER]: one two", "- [ASSISTANT]: three"]);
    const many = extractOf(
      Array.from({ length: 100 }, (_, at) => `[USER]: message ${at} ${"x".repeat(500)}`),
      800,
    );
    expect(many).toMatch(/message 0 .*more messages\).*message 99 /s);
    expect(codePointLength(many)).toBeLessThanOrEqual(1_000);
  });

  it("of summaries shares the room between them", () => {
    const text = extractOfSummaries(["a ".repeat(1_000), "short", extractOf(["b"], 100)], 600);
    expect(codePointLength(text)).toBeLessThanOrEqual(650);
    expect(text).toContain("short");
    expect(text.match(/unavailable/g)).toHaveLength(1);
  });
});

describe("settings", () => {
  it("are those of the design unless told otherwise", () => {
    expect(lcmSettings({})).toEqual(DEFAULT_LCM_SETTINGS);
    expect(DEFAULT_LCM_SETTINGS).toMatchObject({
      leafTokens: 6_000,
      leafSummaryTokens: 600,
      fanout: 6,
      maxDepth: 8,
    });
    expect(lcmSettings({ fanout: 4.9, leafTokens: undefined, maxDepth: Number.NaN })).toEqual({
      ...DEFAULT_LCM_SETTINGS,
      fanout: 4,
    });
    expect(lcmSettings({ fanout: 0, leafTokens: 1, maxDepth: -1 })).toMatchObject({
      fanout: 2,
      leafTokens: 200,
      maxDepth: 8,
    });
  });
});
