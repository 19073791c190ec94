// The provider's hooks: prompt block, recall, mirror, extraction, modes, shutdown.
import { rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { extractFacts } from "../../src/holographic/extract.ts";
import { createHolographicProvider, oneDecimal } from "../../src/holographic/provider.ts";
import { type FactHome, openFacts } from "./fact-home.ts";

function contents(facts: FactHome): unknown[][] {
  return facts.sql("SELECT content, category FROM facts ORDER BY fact_id");
}

describe("the prompt block", () => {
  it("says whether there are facts and how to use them", async () => {
    const facts = await openFacts();
    const empty = await facts.provider.systemPromptBlock?.({});
    expect(empty).toMatch(/^# Holographic Memory\n.*empty/);
    expect(empty).toContain("fact_feedback");
    await facts.add("one");
    await facts.add("two");
    const filled = await facts.provider.systemPromptBlock?.({});
    expect(filled).toMatch(/^# Holographic Memory\n.*2 facts/);
    expect(filled).toContain("fact_store");
  });
});

describe("recall", () => {
  it("is one line per fact with its trust", async () => {
    const facts = await openFacts();
    await facts.add("the glaze is green");
    await facts.add("the glaze for bowls is blue");
    await facts.ask("update", { fact_id: 2, trust_delta: -0.15 });
    expect(await facts.recall("which glaze?")).toBe(
      "## Holographic Memory\n- [0.5] the glaze is green\n- [0.3] the glaze for bowls is blue",
    );
    expect(await facts.recall(" \n ")).toBe("");
    expect(await facts.recall("zebra")).toBe("");
  });

  it("brings five facts at most, and none below the trust that is asked for", async () => {
    const facts = await openFacts({ settings: { min_trust_threshold: "0.5" } });
    for (let i = 0; i < 8; i += 1) await facts.add(`glaze number ${i}`);
    await facts.call("fact_feedback", { action: "unhelpful", fact_id: 1 });
    const lines = (await facts.recall("glaze")).split("\n").slice(1);
    expect(lines).toHaveLength(5);
    expect(lines.join()).not.toContain("number 0");
  });

  it.each([
    [0.25, "0.2"],
    [0.75, "0.8"],
    [0.35, "0.3"],
    [0.15, "0.1"],
    [0.5, "0.5"],
    [1, "1.0"],
    [0, "0.0"],
    [0.05, "0.1"],
  ])("rounds a trust of %d as Python does", (trust, text) => {
    expect(oneDecimal(trust)).toBe(text);
  });
});

describe("modes", () => {
  it.each([
    ["hybrid", 2, true],
    ["context", 0, true],
    ["tools", 2, false],
    ["no such mode", 2, true],
  ])("%s: %d tools, recall %s", async (mode, tools, hasRecall) => {
    const facts = await openFacts({ settings: { mode } });
    await facts.add("the glaze is green");
    expect(facts.provider.getToolSchemas?.() ?? []).toHaveLength(tools);
    expect((await facts.recall("glaze")) !== "").toBe(hasRecall);
    const block = (await facts.provider.systemPromptBlock?.({})) ?? "";
    expect(block.includes("fact_store")).toBe(tools > 0);
  });
});

describe("the mirror of the built-in memory", () => {
  it("adds an entry as a fact of its target's category", async () => {
    const facts = await openFacts();
    await facts.provider.onMemoryWrite?.("add", "memory", "NAS is in the attic", {});
    await facts.provider.onMemoryWrite?.("add", "user", "Likes tea", {});
    await facts.provider.onMemoryWrite?.("add", "user", "  ", {});
    expect(contents(facts)).toEqual([
      ["NAS is in the attic", "general"],
      ["Likes tea", "user_pref"],
    ]);
  });

  it("follows a replaced and a removed entry by a piece of its text", async () => {
    const facts = await openFacts();
    const mirror = facts.provider.onMemoryWrite?.bind(facts.provider);
    await mirror?.("add", "memory", "The NAS is in the attic", {});
    await mirror?.("add", "memory", "The van is blue", {});
    await mirror?.("add", "user", "Likes tea", {});
    await mirror?.("replace", "memory", "The NAS is in the cellar", { old_text: "NAS" });
    await mirror?.("remove", "user", "", { old_text: "Likes tea" });
    expect(contents(facts)).toEqual([
      ["The NAS is in the cellar", "general"],
      ["The van is blue", "general"],
    ]);
    await mirror?.("replace", "memory", "The van is red", { old_text: "The van is blue" });
    await mirror?.("remove", "memory", "", { old_text: "van" });
    expect(contents(facts)).toEqual([["The NAS is in the cellar", "general"]]);
    expect(facts.sql("SELECT count(*) FROM hermes_memory_mirrored")).toEqual([[1]]);
  });

  it("changes neither facts of the user nor facts that it cannot tell apart", async () => {
    const facts = await openFacts();
    const mirror = facts.provider.onMemoryWrite?.bind(facts.provider);
    await facts.add("the attic has a NAS and a fan");
    await mirror?.("add", "memory", "one NAS", {});
    await mirror?.("add", "memory", "two NAS", {});
    await mirror?.("remove", "memory", "", { old_text: "NAS" });
    await mirror?.("remove", "memory", "", { old_text: "fan" });
    await mirror?.("remove", "memory", "", {});
    expect(contents(facts)).toHaveLength(3);
  });

  it("keeps a replacement it does not find the old text of, and merges with an equal fact", async () => {
    const facts = await openFacts();
    const mirror = facts.provider.onMemoryWrite?.bind(facts.provider);
    await mirror?.("replace", "memory", "The van is blue", { old_text: "never seen" });
    await facts.add("The van is red");
    await mirror?.("replace", "memory", "The van is red", { old_text: "The van is blue" });
    expect(contents(facts)).toEqual([["The van is red", "general"]]);
    await mirror?.("remove", "memory", "", { old_text: "van is" });
    expect(contents(facts)).toEqual([["The van is red", "general"]]); // it was there before the mirror
  });

  it("never takes a fact of the user for the mirrored one, also when the text is the same", async () => {
    const facts = await openFacts();
    const mirror = facts.provider.onMemoryWrite?.bind(facts.provider);
    await facts.add("Postgres");
    await mirror?.("add", "memory", "We use Postgres 15 in production", {});
    await mirror?.("remove", "memory", "", { old_text: "Postgres" });
    expect(contents(facts)).toEqual([["Postgres", "general"]]);
  });

  it("leaves out refused texts, without failing", async () => {
    const facts = await openFacts();
    await facts.provider.onMemoryWrite?.("add", "memory", "x".repeat(2001), {});
    expect(contents(facts)).toEqual([]);
  });
});

describe("extraction at the end of a session", () => {
  const messages = [
    { role: "user", content: "Hello! I prefer tabs over spaces. The weather is fine." },
    { role: "user", content: "we decided to use Postgres" },
    { role: "user", content: "I use vim" },
    { role: "assistant", content: "I prefer tea, the project uses tea" },
    { role: "user", content: [{ type: "text" as const, text: "I prefer lists" }] },
  ];

  it("takes sentences, once", async () => {
    const facts = await openFacts({ settings: { auto_extract: "true" } });
    for (let i = 0; i < 2; i += 1) await facts.provider.onSessionEnd?.(messages, {});
    expect(contents(facts)).toEqual([
      ["I prefer tabs over spaces.", "user_pref"],
      ["we decided to use Postgres", "project"],
    ]);
  });

  it.each(["false", "0", "no", "off", false, undefined])("is off for %j", async (auto_extract) => {
    const facts = await openFacts({ settings: { auto_extract } });
    await facts.provider.onSessionEnd?.(messages, {});
    expect(contents(facts)).toEqual([]);
  });

  it.each([
    ["I prefer tabs over spaces and we decided to use Postgres", "user_pref"],
    ["my default shell is zsh", "user_pref"],
    ["I never work on Sundays", "user_pref"],
    ["we agreed on Fridays", "project"],
    ["the project requires Node 24 or newer", "project"],
    ["The  Project needs tests", "project"],
  ])("finds in %j a fact of category %s", (content, category) => {
    for (const scoring of ["structural", "reference"] as const)
      expect(extractFacts([{ role: "user", content }], scoring)[0]).toEqual({ content, category });
  });

  it.each([
    "Do I prefer tabs over spaces?",
    "If I use tabs, the diff is smaller.",
    'He said "I prefer tabs over spaces" to me.',
    "> I prefer tabs over spaces",
    "```\nI prefer tabs over spaces\n```",
    "nothing to see here",
    "rabbit I preferred",
  ])("finds nothing in %j", (content) => {
    expect(extractFacts([{ role: "user", content }], "structural")).toEqual([]);
  });

  it("cuts at 400 characters", () => {
    const content = `I prefer ${"\u{1f600}".repeat(500)}`;
    for (const scoring of ["structural", "reference"] as const)
      expect([...(extractFacts([{ role: "user", content }], scoring)[0]?.content ?? "")]).toHaveLength(400);
  });
});

describe("shutdown", () => {
  it("closes the database and answers later calls with an error", async () => {
    const facts = await openFacts();
    await facts.add("one");
    await facts.provider.shutdown?.({});
    await facts.provider.shutdown?.({});
    expect((await facts.call("fact_store", { action: "list" })).error).toMatch(/not open/);
    expect(await facts.recall("one")).toBe("");
    expect(await facts.provider.systemPromptBlock?.({})).toBe("");
    expect(facts.sql("PRAGMA wal_checkpoint")).toBeDefined();
    await facts.provider.initialize("again", { hermes_home: facts.home });
    expect(await facts.ids("list")).toEqual([1]);
  });
});

it("a self-test that fails cleans up all the same", async () => {
  const facts = await openFacts();
  for (const trigger of ["facts_ai", "facts_ad"]) facts.meddle(`DROP TRIGGER ${trigger}`);
  await expect(async () => facts.provider.selfTest?.(new AbortController().signal)).rejects.toThrow(/recall/);
  expect(facts.sql("SELECT (SELECT count(*) FROM facts), (SELECT count(*) FROM memory_banks)")).toEqual([
    [0, 0],
  ]);
});

it("a database that cannot be opened fails the start and explains itself to every call", async () => {
  const home = tempDirectory();
  const provider = createHolographicProvider();
  await provider.initialize("s", { hermes_home: home });
  await provider.shutdown?.({});
  rmSync(`${home}/memory_store.db`);
  writeFileSync(`${home}/memory_store.db`, "this is a text file, and not a short one".repeat(100));
  await expect(async () => provider.initialize("s", { hermes_home: home })).rejects.toThrow(/cannot be used/);
  expect(await provider.handleToolCall?.("fact_store", { action: "list" }, {})).toContain("cannot be used");
  expect(await provider.prefetch?.("x", { session_id: "s" })).toBe("");
});
