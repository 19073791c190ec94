// Probe, related, reason and contradict: eligible facts, aliases, and the ranking of the exact formula.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bind, Encoder, similarity, unbind } from "../../src/holographic/phase-vectors.ts";
import { type FactHome, openFacts, REFERENCE } from "./fact-home.ts";

describe("an entity", () => {
  it("is matched exactly, whatever its case, and without wildcards", async () => {
    const facts = await openFacts();
    await facts.add('the "50%" sale is on');
    await facts.add('the "50x" lens is broken');
    await facts.add('the "snake_case" rule');
    await facts.add('the "snakeXcase" typo');
    expect(facts.sql("SELECT count(*) FROM entities")).toEqual([[4]]);
    expect(await facts.ids("probe", { entity: "50%" })).toEqual([1]);
    expect(await facts.ids("probe", { entity: "SNAKE_CASE" })).toEqual([3]);
  });

  it("is found under its alias, whichever name was known first", async () => {
    const facts = await openFacts();
    await facts.add("Guido aka BDFL created Python");
    await facts.add("'BDFL' means benevolent dictator");
    await facts.add("Robert Smith plays chess");
    await facts.add("Bob also known as Robert Smith lives here");
    await facts.add("'Bob' owns a boat");
    expect(facts.sql("SELECT name, aliases FROM entities ORDER BY entity_id")).toEqual([
      ["Guido", "BDFL"],
      ["Robert Smith", "Bob"],
    ]);
    for (const entity of ["Guido", "bdfl"])
      expect((await facts.ids("probe", { entity })).toSorted()).toEqual([1, 2]);
    for (const entity of ["bob", "Robert Smith"])
      expect((await facts.ids("probe", { entity })).toSorted()).toEqual([3, 4, 5]);
  });

  it("that became two before the alias was told is asked for under both names", async () => {
    const facts = await openFacts();
    await facts.add("'Ann' sings");
    await facts.add("'Annie' dances");
    await facts.add("Ann aka Annie");
    for (const entity of ["Ann", "annie"])
      expect((await facts.ids("probe", { entity })).toSorted()).toEqual([1, 2, 3]);
  });

  it("is found where it is only named, after the facts linked to it", async () => {
    const facts = await openFacts();
    await facts.add("Apollo is deployed on Fridays");
    await facts.add('The "Apollo" service is owned by Jane Smith');
    expect(await facts.ids("probe", { entity: "apollo" })).toEqual([2, 1]);
    expect(await facts.ids("reason", { entities: ["Jane Smith", "Fridays"] })).toEqual([]);
    expect(await facts.ids("probe", { entity: "Zeus" })).toEqual([]);
  });

  it("without any vectors is searched for", async () => {
    const facts = await openFacts({ settings: REFERENCE });
    await facts.add("Jane Smith likes tea");
    facts.meddle("UPDATE facts SET hrr_vector = NULL");
    const [row] = await facts.rows("probe", { entity: "Jane" });
    expect(row).toMatchObject({ fact_id: 1, fts_rank: 1 });
    expect(await facts.ids("reason", { entities: ["Jane", "tea"] })).toEqual([1]);
  });
});

describe("the vectors", () => {
  const DIM = 96;
  const words = ["kiln", "glaze", "wheel", "clay", "shelf", "van", "cup", "raku"];
  const names = ["Maria Duarte", "Tomas Reis", "Keiko Mori", "Noor Haddad"];
  const sentence = fc
    .tuple(fc.subarray(names), fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 6 }))
    .map(([who, what]) => `${who.join(" and ")} ${what.join(" ")}`.trim());

  async function expectExactOrder(facts: FactHome, action: string, asked: string[]): Promise<void> {
    const encoder = new Encoder(DIM);
    const rows = facts.sql("SELECT fact_id, content, hrr_vector FROM facts ORDER BY fact_id");
    const scores = rows.map(([id, content, bytes]) => {
      const vector = new Float64Array(new Uint8Array(bytes as Uint8Array).buffer);
      return {
        id: Number(id),
        score: ((exact(action, encoder, vector, String(content), asked) + 1) / 2) * 0.5,
      };
    });
    const args = action === "reason" ? { entities: asked } : { entity: asked[0] };
    const found = await facts.rows(action, { ...args, limit: 3 });
    const best = scores.toSorted((a, b) => b.score - a.score).slice(0, 3);
    expect(found.map(({ score }) => score)).toEqual(best.map(({ score }) => expect.closeTo(score, 12)));
    for (const { fact_id, score } of found)
      expect(score).toBeCloseTo(scores.find(({ id }) => id === fact_id)?.score ?? 0, 12);
  }

  it.each(["probe", "related", "reason"])(
    "give %s the order of the exact formula, also after changes",
    async (action) => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(sentence, { minLength: 2, maxLength: 25 }),
          fc.subarray(names, { minLength: 1, maxLength: 3 }),
          fc.array(fc.nat(), { maxLength: 6 }),
          async (contents, asked, removals) => {
            const facts = await openFacts({ settings: { ...REFERENCE, hrr_dim: DIM } });
            for (const content of contents) await facts.add(content);
            await expectExactOrder(facts, action, asked);
            for (const at of removals) await facts.ask("remove", { fact_id: 1 + (at % contents.length) });
            await expectExactOrder(facts, action, asked);
            await facts.add(`${asked.join(" and ")} at last`);
            await facts.call("fact_store", { action: "update", fact_id: 1, content: "nothing left" });
            await expectExactOrder(facts, action, asked);
            await facts.provider.shutdown?.({});
          },
        ),
        { numRuns: 12 },
      );
    },
  );

  function exact(
    action: string,
    encoder: Encoder,
    vector: Float64Array,
    content: string,
    asked: string[],
  ): number {
    const [first = ""] = asked;
    const atom = encoder.atom(first.toLowerCase());
    if (action === "probe")
      return similarity(unbind(vector, bind(atom, encoder.roleEntity)), encoder.content(content));
    if (action === "related") {
      const rest = unbind(vector, atom);
      return Math.max(similarity(rest, encoder.roleEntity), similarity(rest, encoder.roleContent));
    }
    return Math.min(
      ...asked.map((name) => similarity(unbind(vector, encoder.entity(name)), encoder.roleContent)),
    );
  }
});

it("names that other processes add are known", async () => {
  const home = await openFacts();
  const other = await openFacts({ home: home.home });
  await home.add("'Guido' likes tea");
  expect(await home.ids("probe", { entity: "BDFL" })).toEqual([]);
  await other.add("Guido aka BDFL");
  expect((await home.ids("probe", { entity: "BDFL" })).toSorted()).toEqual([1, 2]);
  await home.add("'BDFL' is a title");
  expect(home.sql("SELECT name FROM entities")).toEqual([["Guido"]]);
});

it("an entity with more facts than are read at once is ranked too", async () => {
  const facts = await openFacts({ settings: { hrr_dim: 64 } });
  for (let i = 0; i < 300; i += 1) await facts.add(`Maria Duarte bought glaze number ${i}`);
  await facts.ask("update", { fact_id: 177, trust_delta: 0.2 });
  await facts.ask("update", { fact_id: 3, trust_delta: 0.3 });
  expect(await facts.ids("probe", { entity: "Maria Duarte", limit: 2 })).toEqual([3, 177]);
  expect(await facts.ids("probe", { entity: "Maria Duarte", limit: 100 })).toHaveLength(100);
});

// ---- Contradictions

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

  it("are looked for among the 500 facts changed last", async () => {
    const facts = await openFacts({ settings: { hrr_dim: 64 } });
    await facts.add("Tomas Reuter works from the Lisbon office");
    await facts.add("Tomas Reuter works from the Tallinn office");
    expect(await pairs(facts)).toEqual([[1, 2]]);
    facts.meddle(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO facts (content, hrr_vector, updated_at)
       SELECT 'filler ' || i, zeroblob(512), '2999-01-01 00:00:00' FROM n`,
    );
    expect(await pairs(facts)).toEqual([]);
  });
});

it("the original finds contradictions where vectors are unlike although the entities are the same", async () => {
  const facts = await openFacts({ settings: REFERENCE });
  await facts.add("Tomas Reuter works from the Lisbon office");
  await facts.add("Tomas Reuter lives in a house by the sea");
  // Another program may have written a different vector.
  facts.meddle("UPDATE facts SET hrr_vector = zeroblob(8192) WHERE fact_id = 2");
  const [row] = (await facts.ask("contradict")).results ?? [];
  expect(row).toMatchObject({ entity_overlap: 1, shared_entities: ["tomas reuter"] });
  expect(row?.contradiction_score).toBeCloseTo(1 - (Number(row?.content_similarity) + 1) / 2, 2);
});
