// The two tags of the fence, and comparing text with them. Case is folded for ASCII only: folding that changes
// lengths or lets foreign letters stand for ours would move or hide a tag.

export const TAG_NAME = "memory-context";
export const OPEN_TAG = `<${TAG_NAME}>`;
export const CLOSE_TAG = `</${TAG_NAME}>`;

/** Where `text` from `at` stops agreeing with the lower-case `word` from `skip`: a difference, or the end of either. */
export function endOfMatch(text: string, at: number, word: string, skip = 0): number {
  const end = Math.min(text.length, at + word.length - skip);
  const shift = skip - at;
  let index = at;
  while (index < end && folded(text.charCodeAt(index)) === word.charCodeAt(index + shift)) index += 1;
  return index;
}

function folded(unit: number): number {
  return unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
}
