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
import { type Growth, growth, type Work } from "./context/measure.ts";

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
