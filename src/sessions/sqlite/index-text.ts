// SQL expressions for the text that is indexed. They run inside triggers, so the original's SQLite (3.40) evaluates
// them too: built-in functions of that version only, no table function in a view (an FTS5 rebuild fails on them), and no
// zero byte may reach a tokenizer (3.40 and 3.53 disagree about what follows one).

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
/** Longer unbroken runs of these characters are encoded data, not words. */
const LONGEST_WORD = 256;
/** Values under these keys are machine words (`function`, `call_8f3a`) that would match everybody's questions. */
const SILENT_KEYS = "('type', 'id', 'call_id')";

/** A row without JSON and without zero bytes: what it says, and which tool said it. */
function plainText(row: string): string {
  const content = `COALESCE(${row}.content, '')`;
  return `CASE WHEN COALESCE(${row}.tool_name, '') = '' THEN ${content} ELSE ${content} || ' ' || ${row}.tool_name END`;
}

/** Whether something has to be worked out of the row, and then kept in the side table, to know its text. */
export function needsSideText(row: string): string {
  return `(${row}.tool_calls IS NOT NULL OR ${isUnreadable(row)})`;
}

/** Values for the columns `text` and `extra` of the side table: the whole text, or what follows the plain one. */
export function sideText(row: string): string {
  const calls = `COALESCE(${jsonWords(`${row}.tool_calls`)}, '')`;
  const structured = `CAST(substr(CAST(${row}.content AS BLOB), 7) AS TEXT)`;
  const content = `CASE WHEN ${isStructured(row)} THEN ${jsonWords(structured)} ELSE ${cutAtZero(`${row}.content`)} END`;
  const whole = [content, cutAtZero(`${row}.tool_name`), calls]
    .map((part) => `COALESCE(${part}, '')`)
    .join(" || ' ' || ");
  return `CASE WHEN ${isUnreadable(row)} THEN ${whole} END, CASE WHEN NOT ${isUnreadable(row)} THEN ${calls} END`;
}

/** The text of a row; `side` is the alias of its row in the side table, all NULL when there is none. */
export function wholeText(row: string, side: string): string {
  const plain = plainText(row);
  return `COALESCE(${side}.text, CASE WHEN ${side}.extra IS NULL THEN ${plain} ELSE ${plain} || ' ' || ${side}.extra END)`;
}

/** The text of the original's own index, without what its tokenizer and ours read differently. */
export function referenceText(row: string): string {
  const structured = `CAST(substr(CAST(${row}.content AS BLOB), 7) AS TEXT)`;
  const content = `CASE WHEN ${isStructured(row)} THEN ${cutAtZero(structured)} ELSE ${cutAtZero(`${row}.content`)} END`;
  return [content, cutAtZero(`${row}.tool_name`), cutAtZero(`${row}.tool_calls`)]
    .map((part) => `COALESCE(${part}, '')`)
    .join(" || ' ' || ");
}

/** The first test is cheap and settles the matter for plain ASCII. */
export function isUnspaced(text: string): string {
  return `(length(CAST(${text} AS BLOB)) > length(${text}) AND ${text} GLOB '*[${ranges()}]*')`;
}

export function hasZero(value: string): string {
  return `COALESCE(instr(CAST(${value} AS BLOB), x'00'), 0) > 0`;
}

/** JSON, bytes, or text with a zero byte in it. */
function isUnreadable(row: string): string {
  return `(typeof(${row}.content) = 'blob' OR ${hasZero(`${row}.content`)} OR ${hasZero(`${row}.tool_name`)})`;
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

/** JSON text that is none is indexed as it stands. */
function jsonWords(json: string): string {
  const readable = withoutZero(json);
  return `(CASE WHEN json_valid(${readable}) THEN ${atoms(readable)} ELSE ${cutAtZero(json)} END)`;
}

/** Escaped zeros become blanks. Escaped backslashes are spelled out first: what follows one of them is no escape. */
function withoutZero(json: string): string {
  return `replace(replace(${json}, '\\\\', '\\u005c'), '\\u0000', ' ')`;
}

function atoms(json: string): string {
  const decoded = `(SELECT group_concat(b.atom, ' ') FROM json_tree(${withoutZero("a.atom")}) b WHERE ${isWord("b")})`;
  const word = `CASE WHEN a.key = 'arguments' AND a.type = 'text' AND json_valid(a.atom) THEN ${decoded} ELSE a.atom END`;
  return (
    `(SELECT group_concat(${word}, ' ') FROM json_tree(${json}) a ` +
    `WHERE (a.key IS NULL OR a.key NOT IN ${SILENT_KEYS}) AND ${isWord("a")})`
  );
}

function isWord(node: string): string {
  const isEncoded = `(length(${node}.atom) >= ${LONGEST_WORD} AND ${node}.atom NOT GLOB '*[^A-Za-z0-9+/=_-]*')`;
  const isText = `(${node}.type = 'text' AND ${node}.atom NOT LIKE 'data:%' AND NOT ${isEncoded})`;
  return `(${node}.type IN ('integer', 'real') OR ${isText})`;
}

function ranges(): string {
  return UNSPACED_SCRIPTS.map(
    ([from, to]) => `${String.fromCodePoint(from)}-${String.fromCodePoint(to)}`,
  ).join("");
}
