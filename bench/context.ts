// The cost of keeping a conversation within the window, without the model: pruning, boundaries, assembly (with a summariser that
// answers at once) and cache markers. Measured on a short list and on one ten times as long: the cost must grow linearly.
import {
  applyPromptCaching,
  ContextCompressor,
  DEFAULT_SETTINGS,
  deriveBudgets,
  estimateMessages,
} from "@hermes-memory/core/internal/context";
import { HermesError } from "@hermes-memory/core/internal/lib";
import type { Message } from "@hermes-memory/core/internal/message";
import { assemble } from "../packages/core/src/context/compressor/handoff.ts";
import { findBoundaries, findHeadEnd, planCompaction } from "../packages/core/src/context/compressor/plan.ts";
import { pruneToolResults } from "../packages/core/src/context/compressor/prune.ts";
import { makeHistory } from "./context/history.ts";
import { round } from "./statistics.ts";

const SHORT = 2_000;
const TIMES = 10;
/** Ten times the messages, and some room for a list that no longer fits the processor's caches. */
const MOST_RATIO = 13;
const ROUNDS = 5;
const SAMPLE_MS = 60;
const SEED = 6;
const WINDOW = 128_000;

const SUMMARY = "## Goal\nGo on.\n\n## Critical Context\nNothing beside what follows.";
const SETTINGS = { contextLength: WINDOW, ...DEFAULT_SETTINGS };
const BUDGETS = deriveBudgets(SETTINGS);

export async function run(flags: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const count = wholeNumber(flags, "messages", SHORT);
  const sampling = {
    times: TIMES,
    rounds: wholeNumber(flags, "rounds", ROUNDS),
    sampleMs: wholeNumber(flags, "sample-ms", SAMPLE_MS),
  };
  const long = makeHistory(count * TIMES, wholeNumber(flags, "seed", SEED));
  // Ten different short lists: a single one would stay in the processor's caches, and the long list cannot.
  const shorts = Array.from({ length: TIMES }, (_, part) => long.slice(part * count, (part + 1) * count));
  const measure = async (workOn: WorkOn): Promise<Growth> => {
    const works = shorts.map(workOn);
    let next = 0;
    const short: Work = () => works[next++ % TIMES]?.();
    return growth(short, workOn(long), sampling);
  };
  const measured: Record<string, Growth> = {};
  for (const [name, workOn] of Object.entries(COMPACTION)) measured[name] = await measure(workOn);
  const caching: Record<string, Growth> = {};
  for (const [name, workOn] of Object.entries(CACHING)) caching[name] = await measure(workOn);
  const copy = await measure((messages) => () => messages.slice());
  return {
    bench: "context",
    messages: [count, long.length],
    tokens: [estimateMessages(shorts[0] ?? []), estimateMessages(long)],
    after: [await after(shorts[0] ?? []), await after(long)],
    ...measured,
    ...caching,
    floor: { structured_clone: await measure((messages) => () => structuredClone(messages)), copy },
    most_compaction_ratio: Math.max(...Object.values(measured).map(({ ratio }) => ratio)),
    meets: {
      ...Object.fromEntries(Object.entries(measured).map(([name, { ratio }]) => [name, ratio <= MOST_RATIO])),
      ...Object.fromEntries(
        Object.entries(caching).map(([name, cost]) => [`${name}_like_a_copy`, isLikeACopy(cost, copy)]),
      ),
    },
  };
}

/**
 * Setting markers costs about as much as copying the array. That copy does not grow linearly: an array of more than 128 kB gets its
 * own memory from the system, which takes longer than filling it.
 */
function isLikeACopy({ ratio, long }: Growth, copy: Growth): boolean {
  return ratio <= MOST_RATIO || long.cpu_ms <= copy.long.cpu_ms * MOST_OVER_COPY;
}

const MOST_OVER_COPY = 1.5;

/** Prepares the input, unmeasured, and returns the work to measure. */
type WorkOn = (messages: readonly Message[]) => Work;

const COMPACTION: Readonly<Record<string, WorkOn>> = {
  prune: (messages) => {
    const rules = { ...BUDGETS, ...SETTINGS, headEnd: findHeadEnd(messages, SETTINGS.protectFirstN) };
    return () => pruneToolResults(messages, rules);
  },
  boundaries: (messages) => () => findBoundaries(messages, SETTINGS, BUDGETS),
  assembly: (messages) => {
    const { pruned, boundaries } = planCompaction(messages, SETTINGS, BUDGETS);
    return () => assemble(pruned.messages, boundaries, SUMMARY);
  },
  // The three steps as `compress` runs them before and after it asks the model.
  without_requests: (messages) => () => {
    const { pruned, boundaries } = planCompaction(messages, SETTINGS, BUDGETS);
    return assemble(pruned.messages, boundaries, SUMMARY);
  },
  // Also builds the summary requests: removes secrets and cuts the text to the model's window.
  compress: (messages) => () => compressor().compress(messages),
};

const CACHING: Readonly<Record<string, WorkOn>> = {
  caching_native: (messages) => () => applyPromptCaching(messages, { native: true }),
  caching_envelope: (messages) => () => applyPromptCaching(messages),
};

function compressor(): ContextCompressor {
  return new ContextCompressor({ contextLength: WINDOW, summarizer: { complete: async () => SUMMARY } });
}

async function after(messages: readonly Message[]): Promise<object> {
  const { kind, messages: list, tokensAfter, prunedResults } = await compressor().compress(messages);
  return { kind, messages: list.length, tokens: tokensAfter, pruned_results: prunedResults };
}

function wholeNumber(flags: Readonly<Record<string, string>>, name: string, standard: number): number {
  const given = flags[name];
  if (given === undefined) return standard;
  if (/^[1-9]\d{0,6}$/.test(given)) return Number(given);
  throw new HermesError("bad-flag", `--${name} takes a whole number above 0, not '${given}'.`);
}

// The cost of the same work on a short and on a long list, and its growth. Measured in CPU time of this process with garbage
// collection, so that other processes on a busy machine do not count.

type Work = () => unknown;

type Cost = { readonly cpu_ms: number; readonly ms: number };

type Growth = {
  readonly short: Cost;
  readonly long: Cost;
  /** CPU time of the long list divided by that of the short one. */
  readonly ratio: number;
};

type Sampling = {
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
async function growth(short: Work, long: Work, { times, rounds, sampleMs }: Sampling): Promise<Growth> {
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
