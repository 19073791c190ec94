// Suggestions for mistyped words, and the check for config keys that this program does not know.
import { isRecord } from "../lib/index.ts";
import { CONFIG_KEYS, findConfigKey, isKnownSection } from "./keys.ts";

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

export type Unknown = { readonly suggestion?: string };

/** Undefined when this program reads or accepts the key or a section above it. Used by `config get`, `set` and `check`. */
export function unknownKey(path: readonly string[], value: unknown): Unknown | undefined {
  for (let length = 1; length <= path.length; length += 1) {
    const part = path.slice(0, length);
    const suggestion = suggest(part);
    const known = findConfigKey(part);
    // `hygiene_*` is accepted, but `hygiene_thresold` is a typing mistake for a key we read.
    const isPrefixOnly = known !== undefined && /[^.]\*$/.test(known.key);
    if (known !== undefined && !(isPrefixOnly && suggestion !== undefined)) return undefined;
    if (isKnownSection(part)) continue;
    const isHolder = length < path.length || isRecord(value);
    // `memory.<provider>` holds the settings of that provider.
    if (suggestion === undefined && length === 2 && path[0] === "memory" && isHolder) return undefined;
    const meant = suggest(path) ?? suggestion;
    return meant === undefined ? {} : { suggestion: meant };
  }
  return undefined;
}

/** A known key with nearly the same spelling, or one that we read with the same name in another section. */
function suggest(path: readonly string[]): string | undefined {
  const name = path.at(-1) ?? "";
  let rows = CONFIG_KEYS.map(({ key, kind }) => ({ parts: key.split("."), kind }));
  const elsewhere = rows.find(
    ({ parts, kind }) => kind !== "unused" && !parts.includes("*") && parts.at(-1) === name,
  );
  // A common name such as `enabled` in a section that may belong to another program is no reason for a suggestion.
  if (elsewhere !== undefined && (name.includes("_") || path.length === 1)) return elsewhere.parts.join(".");
  const meant: string[] = [];
  for (const [depth, part] of path.entries()) {
    const names = rows.flatMap(({ parts: { [depth]: each = "*" } }) => (each.endsWith("*") ? [] : [each]));
    const right = names.includes(part) ? part : nearest(part, names);
    rows = rows.filter(({ parts, kind }) =>
      depth < parts.length ? parts[depth] === (right ?? "*") : kind === "section",
    );
    if (rows.length === 0) return undefined;
    meant.push(right ?? part);
  }
  return meant.every((part, depth) => part === path[depth]) ? undefined : meant.join(".");
}

/** Insertions, deletions, replacements and swaps of neighbouring letters, each counted as one. */
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
