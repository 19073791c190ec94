// What work costs on a short and on a long list, and how the cost grows. CPU time of this thread: a busy machine, or a garbage
// collector on another core, does not count.
import { round } from "../statistics.ts";

export type Work = () => unknown;

export type Cost = { readonly cpu_ms: number; readonly ms: number };

export type Growth = {
  readonly short: Cost;
  readonly long: Cost;
  /** CPU time of the long list for one of the short. */
  readonly ratio: number;
};

/** CPU time is counted in coarse steps, so a sample repeats quick work for at least so long. */
const LEAST_SAMPLE_MS = 60;

/**
 * The short list is worked on so much more often that both samples see equally many messages and pay their share of collected
 * garbage. The two are run in turns, and of each the quickest sample counts: other work only ever adds.
 */
export async function growth(
  short: Work,
  long: Work,
  { times, rounds }: { readonly times: number; readonly rounds: number },
): Promise<Growth> {
  const repeats = await repeatsFor(long);
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
async function repeatsFor(work: Work): Promise<number> {
  for (let repeats = 1; ; repeats *= 2)
    if ((await cost(work, repeats)).cpu_ms * repeats >= LEAST_SAMPLE_MS) return repeats;
}

/** Of one run, on average. */
async function cost(work: Work, runs: number): Promise<Cost> {
  const startedAt = performance.now();
  const before = process.threadCpuUsage();
  for (let run = 0; run < runs; run += 1) await work();
  const { user, system } = process.threadCpuUsage(before);
  return { cpu_ms: (user + system) / 1000 / runs, ms: (performance.now() - startedAt) / runs };
}

function quickest(costs: readonly Cost[]): Cost {
  return costs.reduce((a, b) => (b.cpu_ms < a.cpu_ms ? b : a));
}

function rounded({ cpu_ms, ms }: Cost): Cost {
  return { cpu_ms: round(cpu_ms, 4), ms: round(ms, 4) };
}
