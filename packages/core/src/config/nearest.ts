// The known word someone probably meant when they mistyped one.

/** The closest candidate within a third of the word's length (at least one, at most three edits), or undefined. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const allowed = Math.min(3, Math.max(1, Math.floor(word.length / 3)));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    if (candidate === word || Math.abs(candidate.length - word.length) > allowed) continue;
    const distance = editDistance(word, candidate);
    if (distance <= allowed && (best === undefined || distance < best.distance))
      best = { candidate, distance };
  }
  return best?.candidate;
}

/** Insertions, deletions, replacements and swaps of neighbours, each counted once. */
function editDistance(one: string, other: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      let cost = Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwap) cost = Math.min(cost, (beforePrevious[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[other.length] ?? 0;
}
