// Which pairs of facts are reported as disagreeing.
import { describe, expect, it } from "vitest";
import { type FactHome, openFacts, REFERENCE } from "./fact-home.ts";

async function pairs(facts: FactHome, args: Record<string, unknown> = {}): Promise<unknown[]> {
  const rows = (await facts.ask("contradict", args)).results as unknown as {
    fact_a: { fact_id: number };
    fact_b: { fact_id: number };
  }[];
  return rows.map(({ fact_a, fact_b }) => [fact_a.fact_id, fact_b.fact_id]);
}

describe("structural contradictions", () => {
  it("are the same statement with another value, the most alike first", async () => {
    const facts = await openFacts();
    await facts.add("Atlas Gateway listens on port 8443 in staging", { category: "project" });
    await facts.add("Tomas Reuter works from the Lisbon office");
    await facts.add("Atlas Gateway listens on port 9443 in staging", { category: "project" });
    await facts.add("Tomas Reuter lives in a house by the sea");
    await facts.add("Tomas Reuter works from an office in Tallinn");
    await facts.add("somebody works from the Lisbon office");
    expect(await pairs(facts)).toEqual([
      [1, 3],
      [2, 5],
    ]);
    expect(await pairs(facts, { limit: 1 })).toEqual([[1, 3]]);
    expect(await pairs(facts, { category: "general" })).toEqual([[2, 5]]);
  });

  it("are not statements of which one only says more", async () => {
    const facts = await openFacts();
    await facts.add("Tomas Reuter works from the Lisbon office");
    await facts.add("Tomas Reuter works from the Lisbon office today");
    await facts.add("the Lisbon office: Tomas Reuter works from");
    expect(await pairs(facts)).toEqual([]);
  });

  it("need a good part of their entities in common", async () => {
    const facts = await openFacts();
    await facts.add("Ann Ray, Bob Ray, Cid Ray and Dan Ray drink tea");
    await facts.add("Ann Ray, Eve Ray, Fay Ray and Gus Ray drink milk");
    expect(await pairs(facts)).toEqual([]);
  });

  it("show both facts without counts", async () => {
    const facts = await openFacts();
    await facts.add("Tomas Reuter works from the Lisbon office");
    await facts.add("Tomas Reuter works from the Tallinn office");
    const [row] = (await facts.ask("contradict")).results ?? [];
    expect(Object.keys(row ?? {})).toEqual([
      "fact_a",
      "fact_b",
      "entity_overlap",
      "content_similarity",
      "contradiction_score",
      "shared_entities",
    ]);
    expect(Object.keys((row as { fact_a?: object } | undefined)?.fact_a ?? {})).toEqual([
      "fact_id",
      "content",
      "category",
      "tags",
      "trust_score",
      "created_at",
      "updated_at",
    ]);
  });

  it("are looked for among the 500 facts changed last", async () => {
    const facts = await openFacts({ settings: { hrr_dim: 64 } });
    await facts.add("Tomas Reuter works from the Lisbon office");
    await facts.add("Tomas Reuter works from the Tallinn office");
    for (let i = 0; i < 498; i += 1) await facts.add(`filler ${i}`);
    expect(await pairs(facts)).toEqual([[1, 2]]);
    facts.meddle("UPDATE facts SET updated_at = '2020-01-01 00:00:00' WHERE fact_id = 1");
    await facts.add("one more");
    expect(await pairs(facts)).toEqual([]);
  });
});

describe("the original's contradictions", () => {
  it("are hardly ever found: what is shared makes the vectors alike", async () => {
    const facts = await openFacts({ settings: REFERENCE });
    await facts.add("Tomas Reuter works from the Lisbon office");
    await facts.add("Tomas Reuter works from the Tallinn office");
    await facts.add("Tomas Reuter lives in a house by the sea");
    expect(await pairs(facts)).toEqual([]);
  });

  it("are found where vectors are unlike although the entities are the same", async () => {
    const facts = await openFacts({ settings: REFERENCE });
    await facts.add("Tomas Reuter works from the Lisbon office");
    await facts.add("Tomas Reuter lives in a house by the sea");
    // Another program may keep a vector of its own making.
    facts.meddle("UPDATE facts SET hrr_vector = zeroblob(8192) WHERE fact_id = 2");
    const [row] = (await facts.ask("contradict")).results ?? [];
    expect(row).toMatchObject({ entity_overlap: 1, shared_entities: ["tomas reuter"] });
    expect(row?.contradiction_score).toBeCloseTo(1 - (Number(row?.content_similarity) + 1) / 2, 2);
  });
});
