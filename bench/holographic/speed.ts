// Speed of a large store: adding, the first question after opening, and every kind of question once it is warm.

import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pick, randomNumbers } from "../../packages/core/test/fakes/random.ts";
import { progress, quantile, round } from "../statistics.ts";
import { type FactHome, openFactHome, type Settings } from "./fact-home.ts";
import { type GeneratedFact, ORGANISATIONS, PEOPLE, PROJECTS } from "./generate.ts";

export type Speed = {
  readonly adds: Adds;
  /** Opening the filled store and asking the first question, each time with a new provider. */
  readonly first_ms: Readonly<Record<string, number>>;
  readonly queries: Readonly<Record<string, QueryTimes>>;
  readonly rss_mb: { readonly before: number; readonly filled: number; readonly asked: number };
  readonly db_mb: number;
};

type QueryTimes = {
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
  /** Mean CPU time. */
  readonly cpu_ms: number;
  /** Share of the questions that got at least one row. */
  readonly answered: number;
};

const WARM_UP = 5;
const MEGABYTE = 2 ** 20;

export async function measureSpeed(
  home: string,
  settings: Settings,
  facts: readonly GeneratedFact[],
  queries: Readonly<Record<string, readonly Query[]>>,
): Promise<Speed> {
  const before = residentMegabytes();
  const adds = await measureAdds(home, settings, facts);
  const filled = residentMegabytes();
  progress(`${facts.length} facts added, ${adds.per_s} a second`);
  // Before the warm questions, while their code has not run yet.
  const first_ms = await firstQueries(home, settings, queries);
  await using store = await openFactHome(home, settings);
  const times: Record<string, QueryTimes> = {};
  for (const [kind, each] of Object.entries(queries)) {
    times[kind] = await measure(each, (query) => query(store));
    progress(`${kind}: p95 ${times[kind].p95_ms} ms`);
  }
  return {
    adds,
    first_ms,
    queries: times,
    rss_mb: { before, filled, asked: residentMegabytes() },
    db_mb: round(statSync(join(home, "memory_store.db")).size / MEGABYTE, 1),
  };
}

async function firstQueries(
  home: string,
  settings: Settings,
  queries: Readonly<Record<string, readonly Query[]>>,
): Promise<Record<string, number>> {
  const first: Record<string, number> = {};
  for (const [kind, [query]] of Object.entries(queries)) {
    const openedAt = performance.now();
    await using store = await openFactHome(home, settings);
    first.open ??= round(performance.now() - openedAt, 1);
    const askedAt = performance.now();
    await query?.(store);
    first[kind] = round(performance.now() - askedAt, 1);
  }
  return first;
}

async function measure(
  queries: readonly Query[],
  ask: (query: Query) => Promise<number>,
): Promise<QueryTimes> {
  for (const query of queries.slice(0, WARM_UP)) await ask(query);
  const times: number[] = [];
  let answered = 0;
  const cpuBefore = process.cpuUsage();
  for (const query of queries) {
    const startedAt = performance.now();
    const rows = await ask(query);
    times.push(performance.now() - startedAt);
    if (rows > 0) answered += 1;
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    p50_ms: round(quantile(times, 0.5), 3),
    p95_ms: round(quantile(times, 0.95), 3),
    max_ms: round(Math.max(...times), 3),
    cpu_ms: round((user + system) / 1000 / times.length, 3),
    answered: round(answered / times.length, 3),
  };
}

function residentMegabytes(): number {
  return round(process.memoryUsage.rss() / MEGABYTE, 0);
}

// Adds facts one by one, alternating with the floor, so that a slow moment of the disk affects both.

type Adds = AddRates & {
  /** The store's rate divided by that of `full`, which is as durable. */
  readonly of_floor: number;
  /** Bare tables: with an fsync for every commit (`full`), or only for checkpoints (`normal`). */
  readonly floor: { readonly full: AddRates; readonly normal: AddRates };
};

type AddOne = (fact: GeneratedFact) => unknown;

/** Facts per block: enough to warm the caches, and few enough that the disk's speed hardly changes within a block. */
const TURN = 100;

/** Fills the home, which must be empty. The floor's files are beside it. */
async function measureAdds(home: string, settings: Settings, facts: readonly GeneratedFact[]): Promise<Adds> {
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

// Questions for the filled store, made from its facts, so that each has an answer.

/** Returns the number of rows found. */
type Query = (store: FactHome) => Promise<number>;

/** A rare word occurs in at most this many facts. */
const RARE_FACTS = 3;
const COMMON_WORDS = 20;
const CATEGORIES = [undefined, "user_pref", "project", "tool", "general"] as const;

export function drawQueries(
  facts: readonly GeneratedFact[],
  count: number,
  seed: number,
): Readonly<Record<string, readonly Query[]>> {
  const random = randomNumbers(seed);
  const counts = wordCounts(facts);
  const rare = [...counts].filter(([, n]) => n <= RARE_FACTS).map(([word]) => word);
  const common = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, COMMON_WORDS)
    .map(([word]) => word);
  const named = facts.filter(({ names }) => names.length > 0);
  const namedTwice = facts.filter(({ names }) => names.length > 1);
  const name = () => pick(pick(named, random).names, random);
  const sentence = () => {
    const fact = pick(named, random);
    return pick(QUESTIONS, random)(fact.names[0] ?? "", fact.topic);
  };
  const rows = (action: string, args: Readonly<Record<string, unknown>>) => async (store: FactHome) =>
    (await store.rows(action, args)).length;
  const times = (make: (i: number) => Query) => Array.from({ length: count }, (_, i) => make(i));
  const category = (i: number) => ({ category: CATEGORIES[i % CATEGORIES.length] });
  return {
    search_rare: times(() => rows("search", { query: pick(rare, random) })),
    search_common: times(() => rows("search", { query: pick(common, random) })),
    search_sentence: times(() => rows("search", { query: sentence() })),
    before_a_turn: times(() => {
      const query = sentence();
      return async (store) => (await store.recall(query)).split("\n").length - 1;
    }),
    probe: times(() => rows("probe", { entity: name() })),
    probe_category: times(() => {
      const { names, category } = pick(named, random);
      return rows("probe", { entity: names[0], category });
    }),
    related: times(() => rows("related", { entity: name() })),
    reason: times(() => rows("reason", { entities: pick(namedTwice, random).names })),
    contradict: times((i) => rows("contradict", category(i))),
    list: times((i) => rows("list", category(i))),
  };
}

const QUESTIONS: readonly ((name: string, topic: string) => string)[] = [
  (name, topic) => `What did ${name} decide about ${topic}, and why?`,
  (name, topic) => `Who else besides ${name} is working on the ${topic} at the moment?`,
  (name, topic) => `Could you remind me how ${topic} is done for ${name}?`,
  (name, topic) => `I'm meeting ${name} tomorrow. What should I know about their ${topic}?`,
];

/** The number of facts with each word. */
function wordCounts(facts: readonly GeneratedFact[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { content } of facts)
    for (const word of new Set(content.toLowerCase().match(/[a-z]{3,}/g) ?? []))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
