// How the time of a function grows with the size of what it gets. A ratio of times, so no machine is too slow for it.

const TIMES = 8;
const RUNS = 5;

/** About 1 when eight times the size takes eight times as long; about 8 for the square of it. */
export function growthOf<T>(
  makeInput: (size: number) => T,
  run: (input: T) => unknown,
  size: number,
): number {
  const small = makeInput(size);
  const large = makeInput(size * TIMES);
  const repeat = () => {
    for (let i = 0; i < TIMES; i += 1) run(small);
  };
  repeat(); // compiled before it is measured
  return fastest(() => run(large)) / fastest(repeat);
}

function fastest(run: () => unknown): number {
  const times = Array.from({ length: RUNS }, () => {
    const start = performance.now();
    run();
    return performance.now() - start;
  });
  return Math.max(Math.min(...times), 0.05);
}
