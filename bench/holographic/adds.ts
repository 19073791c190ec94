// Adds facts one by one, alternating with the floor, so that a slow moment of the disk affects both.

import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { quantile, round } from "../statistics.ts";
import { openFactHome, type Settings } from "./fact-home.ts";
import type { GeneratedFact } from "./generate.ts";
import { ORGANISATIONS, PEOPLE, PROJECTS } from "./names.ts";

export type Adds = AddRates & {
  /** The store's rate divided by that of `full`, which is as durable. */
  readonly of_floor: number;
  /** Bare tables: with an fsync for every commit (`full`), or only for checkpoints (`normal`). */
  readonly floor: { readonly full: AddRates; readonly normal: AddRates };
};

type AddOne = (fact: GeneratedFact) => unknown;

/** Facts per block: enough to warm the caches, and few enough that the disk's speed hardly changes within a block. */
const TURN = 100;

/** Fills the home, which must be empty. The floor's files are beside it. */
export async function measureAdds(
  home: string,
  settings: Settings,
  facts: readonly GeneratedFact[],
): Promise<Adds> {
  await using store = await openFactHome(home, settings);
  using full = openFloor(`${home}-full.db`, "full");
  using normal = openFloor(`${home}-normal.db`, "normal");
  const addToStore = meter(({ content, category, tags }) => store.ask("add", { content, category, tags }));
  const addToFull = meter((fact) => full.add(fact));
  const addToNormal = meter((fact) => normal.add(fact));
  for (let start = 0; start < facts.length; start += TURN) {
    const turn = facts.slice(start, start + TURN);
    for (const { addAll } of [addToStore, addToFull, addToNormal]) await addAll(turn);
  }
  const rates = addToStore.rates();
  const floor = { full: addToFull.rates(), normal: addToNormal.rates() };
  return { ...rates, of_floor: round(rates.per_s / floor.full.per_s, 3), floor };
}

function meter(add: AddOne) {
  const times: number[] = [];
  let cpuMs = 0;
  return {
    async addAll(facts: readonly GeneratedFact[]): Promise<void> {
      const before = process.cpuUsage();
      for (const fact of facts) {
        const startedAt = performance.now();
        await add(fact);
        times.push(performance.now() - startedAt);
      }
      const { user, system } = process.cpuUsage(before);
      cpuMs += (user + system) / 1000;
    },
    rates: () => addRates(times, cpuMs),
  };
}

// Facts added per second, one per call: at the beginning, at the end and overall.

type AddRates = {
  readonly per_s: number;
  /** For the first and the last thousand facts (or tenth, of fewer than 10,000): shows a cost that grows with the size. */
  readonly first_per_s: number;
  readonly last_per_s: number;
  /** Per second of CPU time, without waiting for the disk and for other programs. */
  readonly per_cpu_s: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
};

/** `times` in milliseconds, in the order of the calls; `cpuMs` for all of them together. */
function addRates(times: readonly number[], cpuMs: number): AddRates {
  const part = Math.max(1, Math.min(1000, Math.floor(times.length / 10)));
  return {
    per_s: perSecond(times),
    first_per_s: perSecond(times.slice(0, part)),
    last_per_s: perSecond(times.slice(-part)),
    per_cpu_s: round((times.length / cpuMs) * 1000, 0),
    p50_ms: round(quantile(times, 0.5), 3),
    p95_ms: round(quantile(times, 0.95), 3),
  };
}

function perSecond(times: readonly number[]): number {
  return round((times.length / times.reduce((sum, ms) => sum + ms, 0)) * 1000, 0);
}

// The floor: the cost of a fact in bare tables (row with a vector, full-text index, links, the vector of its category), with one
// immediate transaction per fact.

/** `full`: every commit waits for the disk. `normal`: only a checkpoint does, so a power failure may lose commits. */
type Durability = "full" | "normal";

type Floor = Disposable & { add(fact: GeneratedFact): void };

/** As long as a stored vector; its content makes no difference. */
const VECTOR = randomBytes(1024 * 8);

const ENTITY_IDS = new Map([...PEOPLE, ...PROJECTS, ...ORGANISATIONS].map((name, i) => [name, i + 1]));

function openFloor(path: string, durability: Durability): Floor {
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
