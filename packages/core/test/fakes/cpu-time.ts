// Time this thread spent computing. The clock on the wall would also count what a busy machine gave to others.

/** Milliseconds of the quickest of five runs. */
export function leastCpuMs(run: () => void): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}

/**
 * Is `large`, on four times the text, linear work? It may take four times as long and some more; quadratic work takes
 * sixteen. The floor keeps the coarseness of the measurement out.
 */
export function isInProportion(small: number, large: number): boolean {
  return large < Math.max(small, 3) * 10;
}
