// Times of calls, each and in total.

import type { CorpusMessage } from "../corpus/index.ts";
import { quantile, round } from "../statistics.ts";

export type Milliseconds = { readonly p50_ms: number; readonly p95_ms: number };

export type Speed = Milliseconds & {
  readonly messages: number;
  readonly calls: number;
  readonly per_s: number;
  readonly per_cpu_s: number;
};

/** Includes closing the target. */
export async function measureAppends<Input>(
  batches: readonly Batch<Input>[],
  append: (sessionId: string, inputs: readonly Input[]) => unknown,
  target: Target<Input>,
): Promise<Speed> {
  const times: number[] = [];
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  for (const [id, batch] of batches) {
    const calledAt = performance.now();
    await append(id, batch);
    times.push(performance.now() - calledAt);
  }
  await target.close();
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  const messages = batches.reduce((sum, [, batch]) => sum + batch.length, 0);
  return {
    messages,
    calls: times.length,
    per_s: round(messages / seconds, 0),
    per_cpu_s: round(messages / ((cpu.user + cpu.system) / 1e6), 0),
    ...percentiles(times),
  };
}

/** Five calls to warm up, then `count` measured ones. */
export async function repeat(count: number, call: (i: number) => Promise<unknown>): Promise<Milliseconds> {
  const times: number[] = [];
  for (let i = -5; i < count; i += 1) {
    const calledAt = performance.now();
    await call(i + 5);
    if (i >= 0) times.push(performance.now() - calledAt);
  }
  return percentiles(times);
}

function percentiles(times: readonly number[]): Milliseconds {
  return { p50_ms: round(quantile(times, 0.5), 3), p95_ms: round(quantile(times, 0.95), 3) };
}

// The messages of a session in batches of twenty, for `appendMany`.

export type Batch<Input> = readonly [sessionId: string, inputs: readonly Input[]];

/** Only full batches are measured; if a corpus has none, the short ones are. */
export function wholeBatches<Input>(bySession: ReadonlyMap<string, readonly Input[]>) {
  const all = [...bySession].flatMap(([id, inputs]) =>
    inBatches(inputs).map((batch): Batch<Input> => [id, batch]),
  );
  const whole = all.filter(([, batch]) => batch.length === BATCH);
  if (whole.length === 0) return { whole: all, rest: [] };
  return { whole, rest: all.filter(([, batch]) => batch.length < BATCH) };
}

export function inBatches<Input>(inputs: readonly Input[]): (readonly Input[])[] {
  const batches: (readonly Input[])[] = [];
  for (let i = 0; i < inputs.length; i += BATCH) batches.push(inputs.slice(i, i + BATCH));
  return batches;
}

const BATCH = 20;

// A target that a benchmark fills: the store or the floor.

/** `Input`: a message in the target's form, converted before the measurement starts. */
export type Target<Input> = {
  createSession(id: string, startedAt: number): unknown;
  prepare(message: CorpusMessage): Input;
  appendOne(sessionId: string, input: Input): unknown;
  appendMany(sessionId: string, inputs: readonly Input[]): unknown;
  close(): unknown;
};
