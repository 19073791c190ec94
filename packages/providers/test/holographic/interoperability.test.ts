// One file, two programs: each reads what the other wrote, this one and the Python original.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type FactHome, openFacts, queryFile, REFERENCE } from "./fact-home.ts";
import { hasPython, type PythonFact, pythonAdds, pythonCreates, pythonReads } from "./reference-program.ts";

const FACTS: readonly PythonFact[] = [
  ["John Doe uses Rust for the backend", "project", "rust,backend", ["John Doe"]],
  ["Jane Smith uses Python", "project", "", ["Jane Smith"]],
  ["deploys run on friday", "tool", "deploy", []],
];

if (!hasPython) console.warn("No python3 with FTS5: the tests against a Python program are skipped.");

describe.skipIf(!hasPython)("a file that the original wrote", () => {
  function created(): string {
    const home = tempDirectory();
    pythonCreates(join(home, "memory_store.db"), FACTS);
    return home;
  }

  it("gives the answers of a file of our own", async () => {
    const theirs = await openFacts({ home: created(), settings: REFERENCE });
    const ours = await openFacts({ settings: REFERENCE });
    for (const [content, category, tags] of FACTS) await ours.add(content, { category, tags });
    const questions: [string, object][] = [
      ["search", { query: "uses" }],
      ["related", { entity: "John Doe" }],
      ["probe", { entity: "Jane Smith" }],
      ["probe", { entity: "Jane Smith", category: "project" }],
      ["reason", { entities: ["John Doe", "Jane Smith"] }],
      ["list", {}],
    ];
    for (const [action, args] of questions) {
      const shown = async (facts: FactHome) =>
        (await facts.rows(action, args as Record<string, unknown>)).map(
          ({ created_at, updated_at, ...row }) => row,
        );
      const expected = (await shown(ours)).map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([key, value]) => [
            key,
            typeof value === "number" ? expect.closeTo(value, 9) : value,
          ]),
        ),
      );
      expect(await shown(theirs)).toEqual(expected);
    }
  });

  it("has the same tables, indexes and triggers as ours, but for those named after us", async () => {
    const objects = (path: string) =>
      queryFile(
        path,
        "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE '%hermes_memory_%' ORDER BY name",
      );
    const home = created();
    const ours = await openFacts();
    expect(objects(ours.path)).toEqual(objects(join(home, "memory_store.db")));
    for (const table of ["facts", "entities", "fact_entities", "memory_banks"]) {
      const columns = `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info('${table}')`;
      expect(ours.sql(columns)).toEqual(queryFile(join(home, "memory_store.db"), columns));
    }
  });

  it("is carried on together", async () => {
    const home = created();
    const facts = await openFacts({ home });
    expect(await facts.add("Jane Smith plays chess", { category: "project" })).toBe(4);
    pythonAdds(facts.path, [["John Doe plays go", "project", "", ["John Doe"]]]);
    expect((await facts.ids("probe", { entity: "john doe" })).toSorted()).toEqual([1, 5]);
    expect(await facts.add("Jane Smith left", { category: "project" })).toBe(6);
    expect(pythonReads(facts.path, "plays")).toEqual({
      contents: [
        ...FACTS.map(([content]) => content),
        "Jane Smith plays chess",
        "John Doe plays go",
        "Jane Smith left",
      ],
      vectors_apart: expect.closeTo(0, 9),
      found: [4, 5],
      banks: [
        ["cat:project", 1024, 5],
        ["cat:tool", 1024, 1],
      ],
      check: "ok",
    });
    expect(facts.sql("SELECT count(*) FROM entities")).toEqual([[2]]);
  });
});

describe.skipIf(!hasPython)("a file of ours", () => {
  it("is read by Python: rows, full text, vectors, banks", async () => {
    const facts = await openFacts();
    for (const [content, category, tags] of FACTS) await facts.add(content, { category, tags });
    await facts.ask("update", { fact_id: 3, content: "deploys never run on fridays" });
    await facts.provider.shutdown?.({});
    expect(pythonReads(facts.path, "deploys OR rust")).toEqual({
      contents: [FACTS[0]?.[0], FACTS[1]?.[0], "deploys never run on fridays"],
      vectors_apart: expect.closeTo(0, 9),
      found: [1, 3],
      banks: [
        ["cat:project", 1024, 2],
        ["cat:tool", 1024, 1],
      ],
      check: "ok",
    });
  });
});

describe("an older file", () => {
  /** Without the column for vectors, in rollback mode, with facts in it. */
  function older(): string {
    const home = tempDirectory();
    using db = new DatabaseSync(join(home, "memory_store.db"));
    db.exec(`
      CREATE TABLE facts (
        fact_id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL UNIQUE, category TEXT DEFAULT 'general',
        tags TEXT DEFAULT '', trust_score REAL DEFAULT 0.5, retrieval_count INTEGER DEFAULT 0,
        helpful_count INTEGER DEFAULT 0, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
      );
      CREATE TABLE entities (
        entity_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, entity_type TEXT DEFAULT 'unknown',
        aliases TEXT DEFAULT '', created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
      );
      CREATE TABLE fact_entities (fact_id INTEGER, entity_id INTEGER, PRIMARY KEY (fact_id, entity_id));
      CREATE VIRTUAL TABLE facts_fts USING fts5(content, tags, content=facts, content_rowid=fact_id);
      CREATE TRIGGER facts_ai AFTER INSERT ON facts BEGIN
        INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags);
      END;
      INSERT INTO facts (content, category, tags) VALUES ('Jane Smith owns the kiln', 'project', 'kiln');
      INSERT INTO entities (name) VALUES ('Jane Smith');
      INSERT INTO fact_entities VALUES (1, 1);
    `);
    return home;
  }

  it("gets the missing tables and keeps its facts", async () => {
    const facts = await openFacts({ home: older() });
    expect(facts.sql("PRAGMA journal_mode")).toEqual([["wal"]]);
    expect(await facts.ids("search", { query: "kiln" })).toEqual([1]);
    expect(await facts.ids("probe", { entity: "jane smith" })).toEqual([1]);
    expect(await facts.add("Jane Smith likes tea")).toBe(2);
    expect(facts.sql("SELECT count(*) FROM entities")).toEqual([[1]]);
    await facts.ask("update", { fact_id: 1, content: "Jane Smith sold the oven" });
    expect(await facts.ids("search", { query: "owns" })).toEqual([]);
  });

  it("has no vectors by the original's rules, and is searched without", async () => {
    const facts = await openFacts({ home: older(), settings: REFERENCE });
    const [row] = await facts.rows("search", { query: "kiln" });
    expect(row?.score).toBeCloseTo((0.4 + 0.3 * (1 / 5) + 0.3 * 0.5) * 0.5, 9);
    await facts.add("Jane Smith likes tea");
    expect(await facts.ids("related", { entity: "Jane Smith" })).toEqual([2]);
    expect(facts.sql("SELECT fact_id FROM facts WHERE hrr_vector IS NULL")).toEqual([[1]]);
  });
});
