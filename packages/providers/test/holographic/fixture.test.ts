// The eight facts of the specification under both scorings.
import { describe, expect, it } from "vitest";
import { Encoder, similarity } from "../../src/holographic/phase-vectors.ts";
import { type FactHome, FIXTURE, floats, openFixture, REFERENCE } from "./fact-home.ts";

type Expected = readonly (readonly [id: number, score: number])[];

async function expectScores(
  facts: FactHome,
  action: string,
  args: object,
  expected: Expected,
): Promise<void> {
  const rows = await facts.rows(action, args as Record<string, unknown>);
  expect(rows.slice(0, expected.length).map(({ fact_id }) => fact_id)).toEqual(expected.map(([id]) => id));
  for (const [i, [, score]] of expected.entries()) expect(rows[i]?.score).toBeCloseTo(score, 6);
}

describe("with the original's scoring", () => {
  it("links the entities the original links", async () => {
    const facts = await openFixture(REFERENCE);
    expect(facts.sql("SELECT name FROM entities ORDER BY entity_id").flat()).toEqual([
      "John Doe",
      "Jane Smith",
      "Apollo",
      "Python",
      "Guido",
      "BDFL created",
    ]);
    const links = facts.sql(
      "SELECT fact_id || '-' || entity_id FROM fact_entities ORDER BY fact_id, entity_id",
    );
    expect(links.flat().join(" ")).toBe("1-1 2-1 3-2 4-2 4-3 5-1 5-2 5-3 7-1 8-4 8-5 8-6");
  });

  it("keeps the original's vectors and banks", async () => {
    const facts = await openFixture(REFERENCE);
    const banks = facts.sql("SELECT bank_name, dim, fact_count FROM memory_banks ORDER BY bank_name");
    expect(banks).toEqual([
      ["cat:general", 1024, 1],
      ["cat:project", 1024, 5],
      ["cat:tool", 1024, 1],
      ["cat:user_pref", 1024, 1],
    ]);
    const [vector, bank] = facts.sql(`
      SELECT hrr_vector FROM facts WHERE fact_id = 1
      UNION ALL SELECT vector FROM memory_banks WHERE bank_name = 'cat:project'
    `);
    const starts = [
      [vector, [0.9983934529260758, 6.194339672719373, 0.6554803664587996]],
      [bank, [6.233740553631625, 6.0384206613589, 0.5814486921572113]],
    ] as const;
    for (const [row, start] of starts)
      for (const [i, angle] of start.entries()) expect(floats(row?.[0])[i]).toBeCloseTo(angle, 9);
  });

  it.each<[string, object, Expected]>([
    [
      "search",
      { query: "backend" },
      [
        [1, 0.2939742769],
        [7, 0.2466219077],
      ],
    ],
    [
      "search",
      { query: "John Doe" },
      [
        [7, 0.3171075341],
        [2, 0.3017511036],
        [1, 0.3009713029],
        [5, 0.2836789881],
      ],
    ],
    [
      "search",
      { query: "rust OR python" },
      [
        [1, 0.2889333126],
        [3, 0.2135143068],
        [8, 0.2014189602],
      ],
    ],
    ["search", { query: "tags:rust" }, [[1, 0.2764678463]]],
    [
      "related",
      { entity: "John Doe" },
      [
        [7, 0.4124122005],
        [1, 0.41053344],
        [2, 0.40797667],
        [5, 0.3542832266],
        [8, 0.2574573235],
        [6, 0.2490122864],
        [4, 0.2486902383],
        [3, 0.2463439148],
      ],
    ],
    [
      "related",
      { entity: "rust" },
      [
        [1, 0.3029295906],
        [7, 0.261434101],
      ],
    ],
    [
      "probe",
      { entity: "John Doe" },
      [
        [3, 0.2553584462],
        [7, 0.2501713118],
        [6, 0.2472084075],
        [1, 0.2456649073],
        [2, 0.2441208635],
        [8, 0.2430575084],
        [4, 0.242631719],
        [5, 0.2369917661],
      ],
    ],
    [
      "probe",
      { entity: "john doe", category: "project" },
      [
        [5, 0.2588448997],
        [4, 0.2540646836],
        [1, 0.2449721146],
        [3, 0.244928551],
        [7, 0.2430781327],
      ],
    ],
    [
      "reason",
      { entities: ["John Doe", "Jane Smith"] },
      [
        [8, 0.2446913999],
        [3, 0.2441206911],
        [6, 0.2439762596],
      ],
    ],
  ])("%s %j", async (action, args, expected) => {
    await expectScores(await openFixture(REFERENCE), action, args, expected);
  });

  it("ranks by how well the full text fits", async () => {
    const facts = await openFixture(REFERENCE);
    const ranks = (await facts.rows("search", { query: "backend" })).map(({ fts_rank }) => fts_rank);
    expect(ranks).toEqual([1, expect.closeTo(0.7516129032, 6)]);
  });

  it.each(["what does john use?", "C++", "deploy-process", "editor config", ""])(
    "a search for %j finds nothing",
    async (query) => {
      expect(await (await openFixture(REFERENCE)).ids("search", { query })).toEqual([]);
    },
  );

  it("reason puts the fact about both last, and contradict finds nothing", async () => {
    const facts = await openFixture(REFERENCE);
    const last = (await facts.rows("reason", { entities: ["John Doe", "Jane Smith"] })).at(-1);
    expect([last?.fact_id, last?.score]).toEqual([5, expect.closeTo(0.2377487372, 6)]);
    expect(await facts.ask("contradict")).toEqual({ results: [], count: 0 });
  });

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

  it("a sentence finds the fact it asks for", async () => {
    const facts = await openFixture();
    expect((await facts.ids("search", { query: "what does john use?" }))[0]).toBe(7);
    expect(await facts.ids("search", { query: "When is the deploy-process run?" })).toContain(6);
  });
});
