// Probe, related, reason and contradict: eligible facts, aliases, and that a scan of the vectors in memory gives the ranking of the exact
// formula.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bind, Encoder, similarity, unbind } from "../../src/holographic/phase-vectors.ts";
import { LevelMatrix, SCAN_ERROR } from "../../src/holographic/vector-index.ts";
import { shortlist } from "../../src/holographic/vector-queries.ts";
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

  it("was matched by patterns in the original", async () => {
    const facts = await openFacts({ settings: REFERENCE });
    await facts.add('the "snakeXcase" typo');
    await facts.add('the "snake_case" rule');
    expect(facts.sql("SELECT name FROM entities")).toEqual([["snakeXcase"]]);
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

  it("that a fact is trusted for comes before one it is not", async () => {
    const facts = await openFacts();
    await facts.add("Jane Smith likes tea");
    await facts.add("Jane Smith likes jam");
    await facts.ask("update", { fact_id: 2, trust_delta: 0.3 });
    expect(await facts.ids("probe", { entity: "Jane Smith" })).toEqual([2, 1]);
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

it("answers missing arguments", async () => {
  const facts = await openFacts();
  expect(await facts.refusal("probe")).toBe("Missing required argument: 'entity'");
  expect(await facts.refusal("related")).toBe("Missing required argument: 'entity'");
  for (const entities of [undefined, [], "Jane"])
    expect(await facts.refusal("reason", { entities })).toBe("reason requires 'entities' list");
});

describe("the vectors in memory", () => {
  const angles = fc.array(fc.double({ min: 0, max: 6.283, noNaN: true }), { minLength: 16, maxLength: 16 });

  it("are scanned to within the error that is allowed for", () => {
    fc.assert(
      fc.property(fc.array(angles, { minLength: 1, maxLength: 20 }), angles, (vectors, key) => {
        const matrix = new LevelMatrix(16);
        for (const [row, vector] of vectors.entries()) matrix.set(row, Float64Array.from(vector));
        const rows = [...vectors.keys()];
        const scanned = matrix.scan(Float64Array.from(key), rows);
        for (const row of rows) {
          const exact = similarity(Float64Array.from(vectors[row] ?? []), Float64Array.from(key));
          expect(Math.abs((scanned[row] ?? 0) - exact)).toBeLessThanOrEqual(SCAN_ERROR);
        }
      }),
    );
  });

  it("are dense after rows were taken out", () => {
    const matrix = new LevelMatrix(4);
    const vector = (angle: number) => new Float64Array(4).fill(angle);
    for (let row = 0; row < 1200; row += 1) matrix.set(row, vector(row / 1000));
    matrix.remove(10);
    matrix.remove(1198);
    expect(matrix.rows).toBe(1198);
    expect(matrix.scan(vector(1.199), [10])[0]).toBeCloseTo(1, 6);
  });

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

describe("vectors in memory follow", () => {
  it("our own writes", async () => {
    const facts = await openFacts({ settings: REFERENCE });
    await facts.add("Maria Duarte owns the kiln", { category: "project" });
    await facts.add("the van is blue");
    expect((await facts.ids("related", { entity: "Maria Duarte" }))[0]).toBe(1);
    await facts.add("Maria Duarte likes celadon");
    expect((await facts.ids("related", { entity: "Maria Duarte", limit: 2 })).toSorted()).toEqual([1, 3]);
    await facts.ask("update", { fact_id: 1, content: "somebody owns the kiln" });
    expect(await facts.ids("related", { entity: "Maria Duarte", limit: 1 })).toEqual([3]);
    await facts.ask("update", { fact_id: 3, category: "tool" });
    expect(await facts.ids("related", { entity: "Maria Duarte", category: "tool" })).toEqual([3]);
    await facts.ask("remove", { fact_id: 3 });
    expect((await facts.ids("related", { entity: "Maria Duarte" })).toSorted()).toEqual([1, 2]);
    for (let i = 0; i < 9; i += 1) await facts.call("fact_feedback", { action: "helpful", fact_id: 2 });
    expect(await facts.ids("related", { entity: "Maria Duarte", limit: 1 })).toEqual([2]);
  });

  it("the names that others add", async () => {
    const home = await openFacts();
    const other = await openFacts({ home: home.home });
    await home.add("'Guido' likes tea");
    expect(await home.ids("probe", { entity: "BDFL" })).toEqual([]);
    await other.add("Guido aka BDFL");
    expect((await home.ids("probe", { entity: "BDFL" })).toSorted()).toEqual([1, 2]);
    await home.add("'BDFL' is a title");
    expect(home.sql("SELECT name FROM entities")).toEqual([["Guido"]]);
  });

  it("those of others, also several within one second", async () => {
    const home = await openFacts({ settings: REFERENCE });
    const other = await openFacts({ home: home.home });
    await home.add("Maria Duarte owns the kiln");
    await home.add("the van is blue");
    expect((await home.ids("related", { entity: "Maria Duarte" }))[0]).toBe(1);
    await other.ask("update", { fact_id: 2, content: "the van of Maria Duarte" });
    await other.ask("update", { fact_id: 1, content: "Tomas Reis owns the kiln" });
    expect(await home.ids("related", { entity: "Maria Duarte", limit: 1 })).toEqual([2]);
    await other.ask("update", { fact_id: 1, content: "Maria Duarte" });
    expect(await home.ids("related", { entity: "Maria Duarte", limit: 1 })).toEqual([1]);
    await other.ask("remove", { fact_id: 1 });
    await other.add("Keiko Mori teaches");
    expect(await home.ids("related", { entity: "Keiko Mori" })).toEqual([3, 2]);
    expect(await home.ids("probe", { entity: "Keiko Mori" })).toHaveLength(2);
    await other.ask("remove", { fact_id: 3 });
    expect(await home.ids("probe", { entity: "Keiko Mori" })).toEqual([2]);
  });
});

it("an entity with more facts than are computed at once is ranked too", async () => {
  const facts = await openFacts({ settings: { hrr_dim: 64 } });
  for (let i = 0; i < 230; i += 1) await facts.add(`Maria Duarte bought glaze number ${i}`);
  await facts.ask("update", { fact_id: 177, trust_delta: 0.2 });
  await facts.ask("update", { fact_id: 3, trust_delta: 0.3 });
  expect(await facts.ids("probe", { entity: "Maria Duarte", limit: 2 })).toEqual([3, 177]);
  expect(await facts.ids("probe", { entity: "Maria Duarte", limit: 100 })).toHaveLength(100);
});

describe("the shortlist of a scan", () => {
  const fact = (id: number, similar: number, tier = 0) => ({ id, similar, tier, trust: 1 });

  it("has every fact that the error of a scan could bring among the first", () => {
    const near = 0.5 - SCAN_ERROR;
    const contenders = [fact(1, 0.9), fact(2, 0.5), fact(3, near), fact(4, 0.1)];
    expect([...shortlist(contenders, 2).keys()]).toEqual([1, 2, 3]);
  });

  it("prefers a lower tier to any score", () => {
    const contenders = [fact(1, 0.9, 1), fact(2, 0.1), fact(3, 0.2)];
    expect([...shortlist(contenders, 2)]).toEqual([
      [3, 0],
      [2, 0],
    ]);
  });
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
  it("are rarely found, because shared entities make the vectors similar", async () => {
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
    // Another program may have written a different vector.
    facts.meddle("UPDATE facts SET hrr_vector = zeroblob(8192) WHERE fact_id = 2");
    const [row] = (await facts.ask("contradict")).results ?? [];
    expect(row).toMatchObject({ entity_overlap: 1, shared_entities: ["tomas reuter"] });
    expect(row?.contradiction_score).toBeCloseTo(1 - (Number(row?.content_similarity) + 1) / 2, 2);
  });
});
