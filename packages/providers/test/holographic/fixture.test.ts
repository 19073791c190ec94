// The eight facts of the specification under both scorings.
import { describe, expect, it } from "vitest";
import { Encoder, similarity } from "../../src/holographic/phase-vectors.ts";
import { FIXTURE, openFixture, REFERENCE } from "./fact-home.ts";

describe("with the original's scoring", () => {
  it("a limit of 0 gives nothing and one below it all but the last", async () => {
    const facts = await openFixture(REFERENCE);
    expect(await facts.ids("related", { entity: "John Doe", limit: 0 })).toEqual([]);
    expect(await facts.ids("related", { entity: "John Doe", limit: -6 })).toEqual([7, 1]);
    expect(await facts.ids("search", { query: "John Doe", limit: -3 })).toEqual([7]);
  });
});

describe("with structural scoring", () => {
  it("measures the entity in each vector", () => {
    const encoder = new Encoder(1024);
    const key = encoder.entity("John Doe");
    const names = [
      ["John Doe"],
      ["John Doe"],
      [],
      [],
      ["John Doe", "Jane Smith", "Apollo"],
      [],
      ["John Doe"],
    ];
    const measured = [0, 1, 4, 6].map((i) =>
      similarity(encoder.fact(FIXTURE[i]?.[0] ?? "", names[i] ?? []), key),
    );
    const expected = [0.642134, 0.631907, 0.417133, 0.649649];
    for (const [i, value] of expected.entries()) expect(measured[i]).toBeCloseTo(value, 5);
  });

  it("probe lists exactly the facts about the entity, the clearest first", async () => {
    const facts = await openFixture();
    const rows = await facts.rows("probe", { entity: "john doe" });
    expect(rows.map(({ fact_id }) => fact_id)).toEqual([7, 1, 2, 5]);
    expect(rows[0]?.score).toBeCloseTo(((0.649649 + 1) / 2) * 0.5, 5);
    expect(await facts.ids("probe", { entity: "John Doe", category: "user_pref" })).toEqual([2]);
  });

  it("reason needs all entities", async () => {
    const facts = await openFixture();
    const rows = await facts.rows("reason", { entities: ["John Doe", "Jane Smith"] });
    expect(rows.map(({ fact_id }) => fact_id)).toEqual([5]);
    expect(rows[0]?.score).toBeCloseTo(((0.417133 + 1) / 2) * 0.5, 5);
    expect(await facts.ids("reason", { entities: ["John Doe", "Guido"] })).toEqual([]);
  });

  it("related also finds a word of the text", async () => {
    const facts = await openFixture();
    const [first] = await facts.rows("related", { entity: "rust" });
    expect([first?.fact_id, first?.score]).toEqual([1, expect.closeTo(0.3029295906, 6)]);
    expect(await facts.ids("related", { entity: "John Doe" })).toEqual([7, 1, 2, 5]);
  });

  it("contradict finds the same statement with another value", async () => {
    const facts = await openFixture();
    const { results } = await facts.ask("contradict");
    expect(results).toEqual([
      {
        fact_a: expect.objectContaining({ fact_id: 1, content: FIXTURE[0]?.[0] }),
        fact_b: expect.objectContaining({ fact_id: 7, content: FIXTURE[6]?.[0] }),
        entity_overlap: 1,
        content_similarity: expect.any(Number),
        contradiction_score: expect.any(Number),
        shared_entities: ["john doe"],
      },
    ]);
  });
});
