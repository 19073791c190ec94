// Several processes on one file, and processes that are killed.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { startChild } from "../../../core/test/fakes/child.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { openFacts, queryFile, writeSettings } from "./fact-home.ts";

const SCRIPT = join(import.meta.dirname, "adding-process.ts");
const DIM = 64; // what is tested does not depend on it, and it is faster

function home(): string {
  const directory = tempDirectory();
  writeSettings(directory, { hrr_dim: DIM });
  return directory;
}

function startAdding(directory: string, name: string, count: number) {
  return startChild(process.execPath, [SCRIPT, directory, name, String(count)]);
}

/** Every fact is complete: two links, a vector, its words in the index. */
function expectConsistent(directory: string): void {
  const path = join(directory, "memory_store.db");
  const [count] = queryFile(path, "SELECT count(*) FROM facts").flat();
  const odd = queryFile(
    path,
    `SELECT content FROM facts f WHERE length(hrr_vector) IS NOT ${DIM * 8}
      OR (SELECT count(*) FROM fact_entities l WHERE l.fact_id = f.fact_id) <> 2`,
  );
  expect(odd).toEqual([]);
  expect(queryFile(path, "SELECT name FROM entities GROUP BY lower(name) HAVING count(*) > 1")).toEqual([]);
  expect(queryFile(path, "SELECT count(*) FROM facts_fts WHERE facts_fts MATCH 'saw'")).toEqual([[count]]);
  using db = new DatabaseSync(path);
  db.exec("INSERT INTO facts_fts(facts_fts, rank) VALUES ('integrity-check', 1)");
}

describe("two processes that add at the same time", () => {
  it("lose nothing and make no entity twice", async () => {
    const directory = home();
    const children = ["one", "two"].map((name) => startAdding(directory, name, 40));
    const said = (await Promise.all(children.map((child) => child.rest()))).flat();
    const added = said.filter((line) => line !== "ready");
    expect(added).toHaveLength(80);
    const stored = queryFile(join(directory, "memory_store.db"), "SELECT content FROM facts").flat();
    expect(stored.toSorted()).toEqual(added.toSorted());
    expectConsistent(directory);
    const facts = await openFacts({ home: directory });
    expect(await facts.ids("probe", { entity: "Maria Duarte", limit: 100 })).toHaveLength(80);
  });
});

describe("a process killed while it adds", () => {
  it.each([1, 7, 20])("after %d facts leaves whole facts, and all it has reported", async (lines) => {
    const directory = home();
    const child = startAdding(directory, "killed", 0);
    const reported: string[] = [];
    while (reported.length <= lines) reported.push((await child.nextLine()) ?? "");
    await child.kill();
    const stored = queryFile(join(directory, "memory_store.db"), "SELECT content FROM facts").flat();
    expect(stored).toEqual(expect.arrayContaining(reported.slice(1)));
    expectConsistent(directory);
    const facts = await openFacts({ home: directory });
    expect(
      await facts.add("Maria Duarte and Tomas Reis saw the end", { category: "project" }),
    ).toBeGreaterThan(lines);
    expectConsistent(directory);
  });
});

describe("while another process holds the write lock", () => {
  it("reading works, adding waits with the event loop free", async () => {
    const facts = await openFacts({ home: home() });
    await facts.add("Maria Duarte and Tomas Reis saw the van");
    const other = new DatabaseSync(facts.path);
    other.exec("BEGIN IMMEDIATE");
    const adding = facts.add("Maria Duarte and Tomas Reis saw the kiln");
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 5);
    expect(await facts.ids("search", { query: "van" })).toEqual([1]);
    expect(await facts.recall("the van")).toContain("saw the van");
    expect(await facts.ids("probe", { entity: "Tomas Reis" })).toEqual([1]);
    expect(facts.sql("SELECT retrieval_count FROM facts")).toEqual([[0]]);
    await new Promise<void>((resolve) => {
      const check = setInterval(() => {
        if (ticks < 5) return;
        clearInterval(check);
        resolve();
      }, 5);
    });
    other.exec("COMMIT");
    other.close();
    expect(await adding).toBe(2);
    clearInterval(timer);
  });
});
