// Places between the characters a person sees, and between words. The cursor only ever stands at one of them.

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
const ASCII = /^[\n\x20-\x7e]*$/;
const WORD = /[\p{L}\p{N}\p{M}_]/u;

export function graphemesOf(text: string): readonly string[] {
  // Splitting is much cheaper than segmenting, and long pasted texts are mostly like this.
  if (ASCII.test(text)) return text.split("");
  return Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
}

/** The place before the character that ends at `cursor`. */
export function before(text: string, cursor: number): number {
  if (cursor <= 0) return 0;
  const start = lineStart(text, cursor);
  if (start === cursor) return cursor - 1; // the newline itself
  return cursor - (graphemesOf(text.slice(start, cursor)).at(-1)?.length ?? 1);
}

/** The place behind the character that begins at `cursor`. */
export function after(text: string, cursor: number): number {
  if (cursor >= text.length) return text.length;
  const end = lineEnd(text, cursor);
  if (end === cursor) return cursor + 1;
  return cursor + (graphemesOf(text.slice(cursor, end))[0]?.length ?? 1);
}

export function wordBefore(text: string, cursor: number): number {
  let place = cursor;
  while (place > 0 && !WORD.test(text.slice(before(text, place), place))) place = before(text, place);
  while (place > 0 && WORD.test(text.slice(before(text, place), place))) place = before(text, place);
  return place;
}

export function wordAfter(text: string, cursor: number): number {
  let place = cursor;
  while (place < text.length && !WORD.test(text.slice(place, after(text, place)))) place = after(text, place);
  while (place < text.length && WORD.test(text.slice(place, after(text, place)))) place = after(text, place);
  return place;
}

export function lineStart(text: string, cursor: number): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

export function lineEnd(text: string, cursor: number): number {
  const end = text.indexOf("\n", cursor);
  return end < 0 ? text.length : end;
}
