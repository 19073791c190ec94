// How the run time of a function grows with its input. Clock time is longer on a busy machine, and some systems count CPU time in steps
// of milliseconds, down to none for a short run: the lower of both counts for the long input, the higher one for the short.

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
  repeat(); // warm-up
  return fastest(() => run(large), Math.min) / fastest(repeat, Math.max);
}

function fastest(run: () => unknown, choose: (cpuMs: number, clockMs: number) => number): number {
  const times = Array.from({ length: RUNS }, () => {
    const [startMs, start] = [performance.now(), process.cpuUsage()];
    run();
    return choose(process.cpuUsage(start).user / 1000, performance.now() - startMs);
  });
  return Math.max(Math.min(...times), 0.05);
}
