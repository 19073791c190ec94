// Outdated vectors are computed again while other work goes on.
import { describe, expect, it } from "vitest";
import { type FactHome, openFacts, REFERENCE } from "./fact-home.ts";

const CONTENTS = Array.from({ length: 90 }, (_, i) => `Jane Smith bought glaze number ${i}`);

async function filled(dim: number): Promise<FactHome> {
  const facts = await openFacts({ settings: { hrr_dim: dim } });
  for (const [i, content] of CONTENTS.entries())
    await facts.add(content, { category: i % 3 === 0 ? "tool" : "project" });
  return facts;
}

function state(facts: FactHome): unknown[][][] {
  return [
    facts.sql("SELECT fact_id, content, hrr_vector FROM facts ORDER BY fact_id"),
    facts.sql("SELECT bank_name, dim, fact_count, vector FROM memory_banks ORDER BY bank_name"),
  ];
}

describe("after hrr_dim was changed", () => {
  it("everything is as if it had always been so", async () => {
    const before = await filled(32);
    await before.provider.shutdown?.({});
    const after = await openFacts({ home: before.home, settings: { hrr_dim: 48 } });
    expect((await after.ids("probe", { entity: "Jane Smith", limit: 100 })).length).toBe(90);
    expect(state(after)).toEqual(state(await filled(48)));
    const times = after.sql("SELECT count(*) FROM facts WHERE updated_at > created_at");
    expect(times).toEqual([[0]]);
  });

  it("nothing fails meanwhile", async () => {
    const before = await filled(32);
    await before.provider.shutdown?.({});
    const after = await openFacts({ home: before.home, settings: { hrr_dim: 64 } });
    const [added, found, recalled] = await Promise.all([
      after.add("Jane Smith likes tea", { category: "project" }),
      after.ids("search", { query: "glaze number 7" }),
      after.recall("which glaze?"),
      after.ask("update", { fact_id: 90, content: "Jane Smith sold glaze number 90" }),
      after.ask("remove", { fact_id: 89 }),
    ]);
    expect([added, found[0]]).toEqual([91, 8]);
    expect(recalled).toContain("glaze");
    expect(await after.ids("probe", { entity: "Jane Smith", limit: 100 })).toHaveLength(90);
    expect(after.sql("SELECT DISTINCT length(hrr_vector) FROM facts")).toEqual([[512]]);
    const counts = after.sql("SELECT bank_name, dim, fact_count FROM memory_banks ORDER BY bank_name");
    expect(counts).toEqual([
      ["cat:project", 64, 60],
      ["cat:tool", 64, 30],
    ]);
  });
});

describe("facts without a vector", () => {
  it("get one", async () => {
    const facts = await filled(32);
    const before = state(facts);
    facts.meddle("UPDATE facts SET hrr_vector = NULL WHERE fact_id % 2 = 0");
    await facts.provider.shutdown?.({});
    const again = await openFacts({ home: facts.home });
    await again.ids("probe", { entity: "Jane Smith" });
    expect(state(again)).toEqual(before);
  });

  it("stay without by the original's rules, and are passed over by vector queries", async () => {
    const facts = await openFacts({ settings: REFERENCE });
    await facts.add("Jane Smith likes tea");
    await facts.add("Jane Smith likes jam");
    facts.meddle("UPDATE facts SET hrr_vector = NULL WHERE fact_id = 1");
    await facts.provider.shutdown?.({});
    const again = await openFacts({ home: facts.home });
    for (const action of ["probe", "related"])
      expect(await again.ids(action, { entity: "Jane Smith" })).toEqual([2]);
    expect(await again.ids("contradict")).toEqual([]);
    expect((await again.ids("search", { query: "Jane" })).toSorted()).toEqual([1, 2]);
  });
});
