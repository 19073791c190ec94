// Speed of a large store: adding, the first question after opening, and every kind of question once it is warm.
import { statSync } from "node:fs";
import { join } from "node:path";
import { progress, quantile, round } from "../statistics.ts";
import { type Adds, measureAdds } from "./adds.ts";
import { openFactHome, type Settings } from "./fact-home.ts";
import type { GeneratedFact } from "./generate.ts";
import type { Query } from "./queries.ts";

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
