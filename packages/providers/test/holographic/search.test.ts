// Search by words: safe and raw queries, trust, age, and counting what was found.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ageFactor } from "../../src/holographic/search.ts";
import { type FactHome, openFacts, REFERENCE } from "./fact-home.ts";

async function openStudio(settings: Record<string, unknown> = {}): Promise<FactHome> {
  const facts = await openFacts({ settings });
  await facts.add("Maria Duarte prefers celadon glaze", { category: "user_pref", tags: "glaze,color" });
  await facts.add("The kiln is fired on Mondays", { category: "project", tags: "kiln" });
  await facts.add("C++ is used for the firmware", { category: "tool", tags: "c++" });
  await facts.add("Invoices are rendered with Typst", { category: "project" });
  return facts;
}

describe("a safe query", () => {
  it.each([
    ["which glaze does Maria like?", 1],
    ["when do we fire the kiln?", 2],
    ["what's the firmware written in?", 3],
    ["How do I render an invoice?", 4],
    ["tags:kiln", 2],
    ["glaze NOT kiln", 1],
    ['"celadon glaze"', 1],
    ["typ*", 4],
  ])("%j finds what it is about first", async (query, factId) => {
    expect((await (await openStudio()).ids("search", { query }))[0]).toBe(factId);
  });

  it("stays within the category and the limit", async () => {
    const facts = await openStudio();
    const query = "is the kiln or the glaze used for invoices?";
    expect((await facts.ids("search", { query, category: "project" })).toSorted()).toEqual([2, 4]);
    expect(await facts.ids("search", { query, limit: 1 })).toHaveLength(1);
  });

  it("never fails, for any query", async () => {
    const facts = await openStudio();
    const marks = fc.constantFrom(
      '"',
      "'",
      "*",
      "(",
      ")",
      "^",
      ":",
      "-",
      "+",
      "\0",
      "AND",
      "NOT",
      "NEAR",
      "{",
      "\ud800",
    );
    const text = fc.array(fc.oneof(marks, fc.string({ unit: "grapheme", maxLength: 8 })), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(text, async (parts) => {
        const answer = await facts.call("fact_store", { action: "search", query: parts.join(" ") });
        expect(answer.error).toBeUndefined();
        await facts.recall(parts.join(""));
      }),
    );
  });

  it("of a very long text asks for its beginning and its end", async () => {
    const facts = await openStudio();
    const filler = "lorem ipsum dolor ".repeat(20_000);
    expect(await facts.ids("search", { query: `About the kiln. ${filler}` })).toEqual([2]);
    expect(await facts.ids("search", { query: `${filler} What about the glaze?` })).toEqual([1]);
  });
});

describe("a raw query", () => {
  it("is FTS5 syntax and nothing else", async () => {
    const facts = await openStudio({ fts_query: "raw" });
    expect(await facts.ids("search", { query: "which glaze?" })).toEqual([]);
    expect(await facts.ids("search", { query: "glaze OR kiln" })).toHaveLength(2);
  });

  it("does not bind the recall before a turn, unless everything is to be as in the original", async () => {
    const message = "which glaze?";
    expect(await (await openStudio({ fts_query: "raw" })).recall(message)).toContain("celadon glaze");
    expect(await (await openStudio({ scoring: "reference" })).recall(message)).toContain("celadon glaze");
    expect(await (await openStudio(REFERENCE)).recall(message)).toBe("");
  });
});

describe("counting of found facts", () => {
  it("is counted by search and recall", async () => {
    const facts = await openStudio();
    const [before] = facts.sql("SELECT updated_at FROM facts WHERE fact_id = 1");
    await facts.ids("search", { query: "glaze" });
    await facts.recall("tell me about the glaze");
    const counts = facts.sql("SELECT retrieval_count FROM facts ORDER BY fact_id").flat();
    expect(counts).toEqual([2, 0, 0, 0]);
    expect(facts.sql("SELECT updated_at FROM facts WHERE fact_id = 1")[0]).toEqual(before);
    expect(await facts.ids("search", { query: "glaze" })).toEqual([1]);
  });

  it("is not counted for an agent that must not write", async () => {
    const facts = await openFacts({ agent_context: "subagent" });
    await facts.add("the glaze is green");
    expect(await facts.recall("glaze")).toContain("green");
    expect(facts.sql("SELECT max(retrieval_count) FROM facts")).toEqual([[0]]);
  });
});

describe("age", () => {
  const now = new Date("2026-03-01T12:00:00Z");

  it.each([
    ["2026-02-14 12:00:00", Math.SQRT1_2],
    ["2026-01-30 12:00:00", 0.5],
    ["2025-12-31 12:00:00", 0.25],
    ["2026-02-14T12:00:00+00:00", Math.SQRT1_2],
    ["2026-04-01 12:00:00", 1],
    ["yesterday", 1],
    ["", 1],
  ])("of a fact changed at %j counts %d at a half-life of 30 days", (time, factor) => {
    expect(ageFactor(time, 30, now)).toBeCloseTo(factor, 4);
    expect(ageFactor(time, 0, now)).toBe(1);
  });
});
