// Decisions of the lossless engine that need no database: where to cut, what to merge, what an overview shows.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { handoffText } from "../../../src/context/compressor/handoff.ts";
import { findBoundaries } from "../../../src/context/compressor/plan.ts";
import { cutIntoLeaves } from "../../../src/context/lossless/leaves.ts";
import { messageCount, toForest, toLineage, topNodes } from "../../../src/context/lossless/lineage.ts";
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
});

describe("an excerpt", () => {
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
    expect(lcmSettings({ fanout: 0, leafTokens: 1, leafSummaryTokens: 1 })).toMatchObject({
      fanout: 2,
      leafTokens: 200,
      leafSummaryTokens: 50,
    });
  });
});
