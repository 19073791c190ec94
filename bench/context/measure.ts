// The cost of the same work on a short and on a long list, and its growth. Measured in CPU time of this process with garbage
// collection, so that other processes on a busy machine do not count.
import { round } from "../statistics.ts";

export type Work = () => unknown;

type Cost = { readonly cpu_ms: number; readonly ms: number };

export type Growth = {
  readonly short: Cost;
  readonly long: Cost;
  /** CPU time of the long list divided by that of the short one. */
  readonly ratio: number;
};

export type Sampling = {
  /** How many short lists make a long one. */
  readonly times: number;
  readonly rounds: number;
  /** A sample repeats quick work for at least this long, so that it includes garbage collection. */
  readonly sampleMs: number;
};

/**
 * The short list is processed `times` as often, so that both samples see the same number of messages and include garbage collection.
 * The two alternate, and the quickest sample of each counts: other work on the machine can only add time.
 */
export async function growth(
  short: Work,
  long: Work,
  { times, rounds, sampleMs }: Sampling,
): Promise<Growth> {
  const repeats = await repeatsFor(long, sampleMs);
  const costs: { short: Cost[]; long: Cost[] } = { short: [], long: [] };
  for (let done = 0; done < rounds; done += 1) {
    costs.short.push(await cost(short, times * repeats));
    costs.long.push(await cost(long, repeats));
  }
  const least = { short: quickest(costs.short), long: quickest(costs.long) };
  return {
    short: rounded(least.short),
    long: rounded(least.long),
    ratio: round(least.long.cpu_ms / least.short.cpu_ms),
  };
}

/** Doubles until a sample is long enough; this also warms up. */
async function repeatsFor(work: Work, sampleMs: number): Promise<number> {
  for (let repeats = 1; ; repeats *= 2)
    if ((await cost(work, repeats)).cpu_ms * repeats >= sampleMs) return repeats;
}

/** The average cost of one run. */
async function cost(work: Work, runs: number): Promise<Cost> {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  for (let run = 0; run < runs; run += 1) await work();
  const { user, system } = process.cpuUsage(before);
  return { cpu_ms: (user + system) / 1000 / runs, ms: (performance.now() - startedAt) / runs };
}

function quickest(costs: readonly Cost[]): Cost {
  return costs.reduce((a, b) => (b.cpu_ms < a.cpu_ms ? b : a));
}

function rounded({ cpu_ms, ms }: Cost): Cost {
  return { cpu_ms: round(cpu_ms, 4), ms: round(ms, 4) };
}
