// Chance that a seed decides, the same on every machine.

export type Random = () => number;

/** Marsaglia's xorshift with 128 bits of state: small and quick. */
export function randomNumbers(seed: number): Random {
  const state = new Uint32Array(4);
  for (let i = 0; i < 4; i += 1) state[i] = Math.imul((seed >>> 0) + i + 1, 0x9e3779b1) ^ (seed + 0x5bd1 * i);
  const next = () => {
    const [a = 0, b = 0, c = 0, d = 0] = state;
    const mixed = a ^ (a << 11);
    state[0] = b;
    state[1] = c;
    state[2] = d;
    state[3] = d ^ (d >>> 19) ^ mixed ^ (mixed >>> 8);
    return (state[3] ?? 0) / 2 ** 32;
  };
  // Seeds that differ in one bit give similar first numbers.
  for (let i = 0; i < 20; i += 1) next();
  return next;
}

/** Picks by Zipf's law with Mandelbrot's shift: the item of rank r about 1 / (r + 2.7) of the time. */
export function zipf(items: readonly string[], random: Random): () => string {
  const upTo = new Float64Array(items.length);
  let sum = 0;
  for (let rank = 0; rank < items.length; rank += 1) {
    sum += 1 / (rank + 2.7);
    upTo[rank] = sum;
  }
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = items.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((upTo[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return items[low] ?? "";
  };
}

export function hex(random: Random, digits: number): string {
  let out = "";
  while (out.length < digits) out += Math.floor(random() * 16).toString(16);
  return out;
}

export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("Nothing to pick from.");
  return item;
}
