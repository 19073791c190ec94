// Fills a target in three phases: load, append in batches, append one by one. The last two are measured.

import { codePointLength } from "@hermes-memory/core/internal/lib";
import { textBytesOf } from "../corpus/index.ts";
import { progress } from "../statistics.ts";
import { type Corpus, messagesOf } from "./corpus.ts";
import { type Batch, inBatches, measureAppends, type Speed, type Target, wholeBatches } from "./timing.ts";

export type Filled = Totals & {
  readonly loaded: number;
  readonly append: Speed;
  readonly appendMany20: Speed;
};

/** Every phase opens and closes the target, so that it includes the checkpoints that it causes. */
export async function fill<Input>(
  open: () => Promise<Target<Input>> | Target<Input>,
  corpus: Corpus,
  label: string,
): Promise<Filled> {
  const plan = planFor(corpus.size);
  const intake = intakeFrom<Input>(corpus);
  await load(await open(), intake, { count: plan.load, label });
  const { appendMany20, rest } = await appendInBatches(await open(), intake, plan.many);
  progress(`${label}: appendMany measured`);
  const append = await appendOneByOne(await open(), intake, { count: plan.one, before: rest });
  progress(`${label}: append measured`);
  return { ...intake.totals(), loaded: plan.load, append, appendMany20 };
}

/**
 * The number of messages in each phase. The database has nearly its full size before the measurement. The batches get an eighth,
 * because about a fifth of that remains in batches that are not full.
 */
function planFor(size: number): { load: number; many: number; one: number } {
  const one = Math.min(Math.max(2_000, Math.ceil(size / 10)), Math.ceil(size / 4));
  const many = Math.min(Math.max(12_500, Math.ceil(size / 8)), Math.floor(size / 2));
  return { load: size - many - one, many, one };
}

/** Unmeasured. Closes the target. */
export async function load<Input>(
  target: Target<Input>,
  intake: Intake<Input>,
  { count, label }: { count: number; label: string },
): Promise<void> {
  for (let loaded = 0; loaded < count; ) {
    const step = Math.min(5_000, count - loaded);
    for (const [id, inputs] of await intake.take(target, step))
      for (const batch of inBatches(inputs)) await target.appendMany(id, batch);
    loaded += step;
    progress(`${label}: ${loaded} of ${count} messages loaded`);
  }
  await target.close();
}

async function appendInBatches<Input>(
  target: Target<Input>,
  intake: Intake<Input>,
  count: number,
): Promise<{ appendMany20: Speed; rest: readonly Batch<Input>[] }> {
  const { whole, rest } = wholeBatches(await intake.take(target, count));
  const appendMany20 = await measureAppends(whole, (id, batch) => target.appendMany(id, batch), target);
  return { appendMany20, rest };
}

/** Messages left over from the phase before are written first, unmeasured. */
async function appendOneByOne<Input>(
  target: Target<Input>,
  intake: Intake<Input>,
  { count, before }: { count: number; before: readonly Batch<Input>[] },
): Promise<Speed> {
  for (const [id, batch] of before) await target.appendMany(id, batch);
  const singles = [...(await intake.take(target, count))].flatMap(([id, inputs]) =>
    inputs.map((input): Batch<Input> => [id, [input]]),
  );
  return measureAppends(singles, (id, [input]) => input && target.appendOne(id, input), target);
}

// Feeds messages of the corpus into a target: creates each session when its first message comes, and counts the text.

type Totals = { readonly sessions: number; readonly chars: number; readonly textBytes: number };

type Intake<Input> = {
  /** The next `count` messages, prepared for the target and grouped by session. */
  take(target: Target<Input>, count: number): Promise<Map<string, Input[]>>;
  /** Of all messages taken so far. */
  totals(): Totals;
};

export function intakeFrom<Input>(corpus: Corpus): Intake<Input> {
  const source = messagesOf(corpus);
  const sessions = new Set<string>();
  let chars = 0;
  let textBytes = 0;
  return {
    async take(target, count) {
      const bySession = new Map<string, Input[]>();
      for (let i = 0; i < count; i += 1) {
        const { value: message, done } = await source.next();
        if (done) break;
        chars += typeof message.content === "string" ? codePointLength(message.content) : 0;
        textBytes += textBytesOf(message);
        if (!sessions.has(message.s)) await target.createSession(message.s, message.ts);
        sessions.add(message.s);
        const inputs = bySession.get(message.s);
        if (inputs) inputs.push(target.prepare(message));
        else bySession.set(message.s, [target.prepare(message)]);
      }
      return bySession;
    },
    totals: () => ({ sessions: sessions.size, chars, textBytes }),
  };
}
