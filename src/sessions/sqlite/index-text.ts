// The text of the original's index as SQL, for the search of before. To be deleted with it.
/** Scripts written without blanks between words, where only a trigram index finds a part of a sentence. */
export const UNSPACED_SCRIPTS: readonly (readonly [from: number, to: number])[] = [
  [0x0e00, 0x0fff], // Thai, Lao, Tibetan
  [0x1000, 0x109f], // Myanmar
  [0x1100, 0x11ff], // Hangul letters
  [0x1780, 0x17ff], // Khmer
  [0x2e80, 0x9fff], // radicals, CJK punctuation, Kana, Bopomofo, Hangul, Han
  [0xa960, 0xa97f],
  [0xac00, 0xd7ff], // Hangul syllables
  [0xf900, 0xfaff], // Han, compatibility
  [0xff66, 0xffdc], // half-width Kana and Hangul
  [0x20000, 0x3fffd], // Han, extensions
];

const STRUCTURED_PREFIX = "x'006A736F6E3A'";

/** The text of the original's own index, without what its tokenizer and ours read differently. */
export function referenceText(row: string): string {
  const structured = `CAST(substr(CAST(${row}.content AS BLOB), 7) AS TEXT)`;
  const content = `CASE WHEN ${isStructured(row)} THEN ${cutAtZero(structured)} ELSE ${cutAtZero(`${row}.content`)} END`;
  return [content, cutAtZero(`${row}.tool_name`), cutAtZero(`${row}.tool_calls`)]
    .map((part) => `COALESCE(${part}, '')`)
    .join(" || ' ' || ");
}

function hasZero(value: string): string {
  return `COALESCE(instr(CAST(${value} AS BLOB), x'00'), 0) > 0`;
}

function isStructured(row: string): string {
  return `substr(CAST(${row}.content AS BLOB), 1, 6) = ${STRUCTURED_PREFIX}`;
}

/** `replace` and `substr` on text stop at a zero byte; on a blob they do not. */
function cutAtZero(value: string): string {
  const blob = `CAST(${value} AS BLOB)`;
  const head = `CAST(substr(${blob}, 1, instr(${blob}, x'00') - 1) AS TEXT)`;
  return `(CASE WHEN ${hasZero(value)} THEN ${head} ELSE CAST(${value} AS TEXT) END)`;
}
