// What work costs on a short and on a long list, and how the cost grows. In CPU time of this process, garbage collection
// included: what a busy machine gives to others does not count.
import { round } from "../statistics.ts";

export type Work = () => unknown;

type Cost = { readonly cpu_ms: number; readonly ms: number };

export type Growth = {
  readonly short: Cost;
  readonly long: Cost;
  /** CPU time of the long list for one of the short. */
  readonly ratio: number;
};

export type Sampling = {
  /** How many short lists make a long one. */
  readonly times: number;
  readonly rounds: number;
  /** A sample repeats quick work for at least so long, so that it has its share of collected garbage. */
  readonly sampleMs: number;
};

/**
 * The short list is worked on so much more often that both samples see equally many messages and pay their share of collected
 * garbage. The two are run in turns, and of each the quickest sample counts: other work only ever adds.
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

/** Found by doubling, which also warms up. */
async function repeatsFor(work: Work, sampleMs: number): Promise<number> {
  for (let repeats = 1; ; repeats *= 2)
    if ((await cost(work, repeats)).cpu_ms * repeats >= sampleMs) return repeats;
}

/** Of one run, on average. */
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
