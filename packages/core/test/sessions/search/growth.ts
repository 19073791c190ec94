// How the run time of a function grows with its input. A ratio of CPU times, so slow and busy machines pass too.

const TIMES = 8;
const RUNS = 5;

/** About 1 when eight times the input takes eight times as long; about 8 for quadratic growth. */
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
  repeat(); // warm-up, also of what a long input allocates
  run(large);
  return fastest(() => run(large)) / fastest(repeat);
}

function fastest(run: () => unknown): number {
  const times = Array.from({ length: RUNS }, () => {
    const start = process.cpuUsage();
    run();
    return process.cpuUsage(start).user / 1000;
  });
  return Math.max(Math.min(...times), 0.05);
}
