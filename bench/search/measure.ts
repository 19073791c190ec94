// Measures queries. Each runs three times; the first run, which fills caches, is not counted.
import { HIDDEN_SOURCES, type SessionStore, sessionSearchTool } from "@hermes-memory/core/internal/sessions";
import { z } from "zod";
import { progress, quantile, round } from "../statistics.ts";
import type { Queries } from "./queries.ts";

export type Timed = {
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly cpu_p50_ms: number;
  readonly cpu_p95_ms: number;
  readonly queries: number;
  /** The number of queries that found something. */
  readonly answered: number;
};

export type ByKind = Readonly<Record<string, Timed>>;

const RUNS = 3;

export function measureSearch(store: SessionStore, queries: Queries): Promise<ByKind> {
  return measureKinds("search", queries, (query) => search(store, query));
}

/** The same words in order of time. */
export function measureNewest(store: SessionStore, queries: Queries): Promise<ByKind> {
  const { common = [], very_common = [] } = queries;
  return measureKinds("newest", { common, very_common }, async (query) => {
    const options = { limit: 20, sort: "newest", excludeSources: HIDDEN_SOURCES };
    return (await store.searchMessages(query, options)).length;
  });
}

export function measureDiscover(store: SessionStore, queries: Queries): Promise<ByKind> {
  return measureKinds("discover", queries, (query) => discover(store, query));
}

/** Runs every path before the measurement, so that it is compiled. */
export async function warmUp(store: SessionStore, queries: Queries): Promise<void> {
  for (const list of Object.values(queries))
    for (const query of list.slice(0, 5)) {
      await search(store, query);
      await discover(store, query);
    }
}

/** Returns the number of conversations found. */
export async function discover(store: SessionStore, query: string): Promise<number> {
  return foundSessions(await sessionSearchTool(store, { query, limit: 3 })).length;
}

async function search(store: SessionStore, query: string): Promise<number> {
  return (await store.searchMessages(query, { limit: 20, excludeSources: HIDDEN_SOURCES })).length;
}

/** `call` returns the number of hits. */
export async function measure<T>(items: readonly T[], call: (item: T) => Promise<number>): Promise<Timed> {
  const times: number[] = [];
  const cpuTimes: number[] = [];
  let answered = 0;
  for (const item of items) {
    let found = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const cpuBefore = process.cpuUsage();
      const calledAt = performance.now();
      found = await call(item);
      const ms = performance.now() - calledAt;
      const cpu = process.cpuUsage(cpuBefore);
      if (run === 0) continue;
      times.push(ms);
      cpuTimes.push((cpu.user + cpu.system) / 1000);
    }
    if (found > 0) answered += 1;
  }
  return {
    p50_ms: round(quantile(times, 0.5), 3),
    p95_ms: round(quantile(times, 0.95), 3),
    cpu_p50_ms: round(quantile(cpuTimes, 0.5), 3),
    cpu_p95_ms: round(quantile(cpuTimes, 0.95), 3),
    queries: items.length,
    answered,
  };
}

async function measureKinds(
  name: string,
  queries: Queries,
  call: (query: string) => Promise<number>,
): Promise<ByKind> {
  const byKind: Record<string, Timed> = {};
  for (const [kind, list] of Object.entries(queries)) {
    byKind[kind] = await measure(list, call);
    progress(`${name}.${kind}: ${JSON.stringify(byKind[kind])}`);
  }
  return byKind;
}

// Reads the answer of the search tool. The tool never throws, so a benchmark has to check for errors.

/** The sessions of a `discover`, best first. */
export function foundSessions(answer: object): string[] {
  const parsed = discovered.safeParse(answer);
  if (!parsed.success) throw new Error(`The search tool failed: ${JSON.stringify(answer).slice(0, 500)}`);
  return parsed.data.results.map(({ session_id }) => session_id);
}

export function checkScrolled(answer: object): void {
  if (!scrolled.safeParse(answer).success)
    throw new Error(`The search tool failed to scroll: ${JSON.stringify(answer).slice(0, 500)}`);
}

const discovered = z.object({
  success: z.literal(true),
  mode: z.literal("discover"),
  results: z.array(z.object({ session_id: z.string() })),
});
const scrolled = z.object({ success: z.literal(true), messages: z.array(z.unknown()).min(1) });
