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
