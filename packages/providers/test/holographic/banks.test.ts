// The bank of each category is equal to the bundle of all its facts, unless it is large and changed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bundle, similarity } from "../../src/holographic/phase-vectors.ts";
import { type FactHome, openFacts, REFERENCE } from "./fact-home.ts";

function vectorOf(bytes: unknown): Float64Array {
  return new Float64Array(new Uint8Array(bytes as Uint8Array).buffer);
}

/** Name and count of each bank, after comparing it with the facts of its category. */
function checkedBanks(facts: FactHome): unknown[][] {
  const banks = facts.sql("SELECT bank_name, fact_count, vector, dim FROM memory_banks ORDER BY bank_name");
  for (const [name, count, bytes, dim] of banks) {
    const sql = "SELECT hrr_vector FROM facts WHERE 'cat:' || category = ? AND hrr_vector IS NOT NULL";
    const vectors = facts.sql(sql, String(name)).map(([each]) => vectorOf(each));
    expect([vectors.length, vectorOf(bytes).length]).toEqual([count, dim]);
    expect(similarity(bundle(vectors), vectorOf(bytes))).toBeGreaterThan(1 - 1e-9);
  }
  return banks.map(([name, count]) => [name, count]);
}

const small = { hrr_dim: 32 };

describe("a bank", () => {
  it("follows adding, moving, changing and removing", async () => {
    const facts = await openFacts({ settings: small });
    await facts.add("one", { category: "tool" });
    await facts.add("two", { category: "tool" });
    await facts.add("three", { category: "project" });
    expect(checkedBanks(facts)).toEqual([
      ["cat:project", 1],
      ["cat:tool", 2],
    ]);
    await facts.ask("update", { fact_id: 1, category: "project" });
    expect(checkedBanks(facts)).toEqual([
      ["cat:project", 2],
      ["cat:tool", 1],
    ]);
    await facts.ask("update", { fact_id: 2, content: "zwei" });
    await facts.ask("update", { fact_id: 3, content: "drei", category: "tool" });
    expect(checkedBanks(facts)).toEqual([
      ["cat:project", 1],
      ["cat:tool", 2],
    ]);
    await facts.ask("remove", { fact_id: 1 });
    expect(checkedBanks(facts)).toEqual([["cat:tool", 2]]);
  });

  it("is the bundle of its facts after any sequence of operations", async () => {
    const category = fc.constantFrom("tool", "project");
    const operation = fc.oneof(
      fc.record({ action: fc.constant("add"), content: fc.string({ minLength: 1, maxLength: 6 }), category }),
      fc.record({ action: fc.constant("update"), fact_id: fc.integer({ min: 1, max: 6 }), category }),
      fc.record({
        action: fc.constant("update"),
        fact_id: fc.integer({ min: 1, max: 6 }),
        content: fc.string({ minLength: 1, maxLength: 6 }),
      }),
      fc.record({ action: fc.constant("remove"), fact_id: fc.integer({ min: 1, max: 6 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 15 }), async (operations) => {
        const facts = await openFacts({ settings: small });
        for (const each of operations) await facts.call("fact_store", each);
        checkedBanks(facts);
        await facts.provider.shutdown?.({});
      }),
      { numRuns: 15 },
    );
  });
});

it("a large bank is gone while it is changed, and made anew at the end and for a probe", async () => {
  const facts = await openFacts({ settings: { ...REFERENCE, ...small } });
  for (let i = 0; i < 65; i += 1) await facts.add(`fact ${i}`);
  expect(checkedBanks(facts)).toEqual([]);
  await facts.ids("probe", { entity: "x", category: "general" });
  expect(checkedBanks(facts)).toEqual([["cat:general", 65]]);
  await facts.add("one more");
  await facts.provider.shutdown?.({});
  expect(checkedBanks(facts)).toEqual([["cat:general", 66]]);
});

it("a bank that another program has left with another number of facts or another length is made anew", async () => {
  const facts = await openFacts({ settings: { ...REFERENCE, ...small } });
  await facts.add("one");
  await facts.add("two");
  for (const damage of ["fact_count = 7", "dim = 16, vector = zeroblob(128)"]) {
    facts.meddle(`UPDATE memory_banks SET ${damage}`);
    await facts.ids("probe", { entity: "x", category: "general" });
    expect(checkedBanks(facts)).toEqual([["cat:general", 2]]);
  }
});

it("the table of versions up to 0.3.x is dropped", async () => {
  const facts = await openFacts();
  facts.meddle("CREATE TABLE hermes_memory_bank_sums (bank_name TEXT)");
  const again = await openFacts({ home: facts.home });
  expect(again.sql("SELECT name FROM sqlite_master WHERE name = 'hermes_memory_bank_sums'")).toEqual([]);
});

it("a category that holds more than its bundle can tell apart is warned about once", async () => {
  const warnings: string[] = [];
  const note = (message: string) => void warnings.push(message);
  const logger = { debug() {}, info() {}, warn: note, error: note, dropped: 0 };
  const facts = await openFacts({ settings: { ...REFERENCE, hrr_dim: 16 }, logger });
  for (let i = 0; i < 4; i += 1) await facts.add(`fact ${i}`);
  await facts.ids("probe", { entity: "x", category: "general" });
  expect(warnings).toEqual([]);
  await facts.add("one too many");
  for (let i = 0; i < 2; i += 1) await facts.ids("probe", { entity: "x", category: "general" });
  expect(warnings).toEqual([expect.stringMatching(/'general' holds 5 facts/)]);
});
