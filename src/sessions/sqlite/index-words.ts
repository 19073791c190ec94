// The words of texts that mix scripts with and without blanks, for the word index. SQL cannot take a text apart, so this
// is done where messages are stored by us, and when an index is built; rows the original writes are indexed as they are.
import type { DatabaseSync } from "node:sqlite";

// Han and Kana with their punctuation. Scripts whose words stand between blanks (Hangul), or in which the original looks
// for whole words (Thai), stay.
const RUN_WITHOUT_BLANKS = /[\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\uff66-\uff9f\u{20000}-\u{3fffd}]+/gu;

// What separates words for the tokenizer too, so that leaving it out changes nothing but the size.
const SEPARATORS = /[\p{P}\p{S}\p{Z}\p{Cc}]+/gu;
/** Stands for a run between two words: a phrase must not reach over what was said in between. */
const GAP = "\u3007";

/** What is left of the text between runs of Han and Kana; null when there are none and the text is its own words. */
export function wordsBetweenRuns(text: string): string | null {
  const pieces = text.split(RUN_WITHOUT_BLANKS);
  if (pieces.length === 1) return null;
  const words = pieces.map((piece) => piece.replace(SEPARATORS, " ").trim()).filter((piece) => piece !== "");
  return words.join(` ${GAP} `);
}

/** The text of a row that the index reads straight off it; null for all others. */
export function readableText(row: {
  readonly content: string | null;
  readonly tool_name: string | null;
  readonly tool_calls: string | null;
}): string | null {
  if (row.content === null || row.tool_calls !== null || row.content.includes("\0")) return null;
  return row.tool_name ? `${row.content} ${row.tool_name}` : row.content;
}

const ROWS_AT_ONCE = 200;
const NEXT_TEXTS = `
  SELECT id, content FROM hermes_memory_trigrams WHERE id > :from AND id <= :to ORDER BY id LIMIT ${ROWS_AT_ONCE}
`;
export const PUT_WORDS = `
  INSERT INTO hermes_memory_text(message_id, words) VALUES (:id, :words)
  ON CONFLICT(message_id) DO UPDATE SET words = excluded.words
`;

/** Inside a transaction, before the rows are put into the word index. */
export function fillWords(db: DatabaseSync, from: number, to: number): void {
  const next = db.prepare(NEXT_TEXTS);
  const put = db.prepare(PUT_WORDS);
  for (let at = from; ; ) {
    const rows = next.all({ from: at, to }) as { id: number; content: string }[];
    for (const { id, content } of rows) {
      const words = wordsBetweenRuns(content);
      if (words !== null) put.run({ id, words });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_AT_ONCE) return;
    at = last.id;
  }
}
