// The floor: the cost of a fact in bare tables (row with a vector, full-text index, links, the vector of its category), with one
// immediate transaction per fact.
import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import type { GeneratedFact } from "./generate.ts";
import { ORGANISATIONS, PEOPLE, PROJECTS } from "./names.ts";

/** `full`: every commit waits for the disk. `normal`: only a checkpoint does, so a power failure may lose commits. */
export type Durability = "full" | "normal";

export type Floor = Disposable & { add(fact: GeneratedFact): void };

/** As long as a stored vector; its content makes no difference. */
const VECTOR = randomBytes(1024 * 8);

const ENTITY_IDS = new Map([...PEOPLE, ...PROJECTS, ...ORGANISATIONS].map((name, i) => [name, i + 1]));

export function openFloor(path: string, durability: Durability): Floor {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability}; ${TABLES}`);
  const row = db.prepare("INSERT INTO facts (content, category, tags, hrr_vector) VALUES (?, ?, ?, ?)");
  const words = db.prepare("INSERT INTO facts_fts (rowid, content, tags) VALUES (?, ?, ?)");
  const link = db.prepare("INSERT INTO fact_entities (fact_id, entity_id) VALUES (?, ?)");
  const bank = db.prepare("INSERT OR REPLACE INTO memory_banks (bank_name, vector) VALUES (?, ?)");
  return {
    add({ content, category, tags, names }) {
      db.exec("BEGIN IMMEDIATE");
      const id = row.run(content, category, tags, VECTOR).lastInsertRowid;
      words.run(id, content, tags);
      for (const name of names) link.run(id, ENTITY_IDS.get(name) ?? 0);
      bank.run(`cat:${category}`, VECTOR);
      db.exec("COMMIT");
    },
    [Symbol.dispose]: () => db.close(),
  };
}

const TABLES = `
  CREATE TABLE facts (
    fact_id INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE, category TEXT, tags TEXT, hrr_vector BLOB
  );
  CREATE TABLE fact_entities (fact_id INTEGER, entity_id INTEGER, PRIMARY KEY (fact_id, entity_id));
  CREATE TABLE memory_banks (bank_name TEXT PRIMARY KEY, vector BLOB NOT NULL);
  CREATE VIRTUAL TABLE facts_fts USING fts5(content, tags, content=facts, content_rowid=fact_id);
`;
