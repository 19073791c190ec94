// The plain words of a database, each with the number of messages that contain it.
import type { DatabaseSync } from "node:sqlite";

export type Word = { readonly term: string; readonly holders: number };
export type Vocabulary = {
  /** The most frequent first. */
  readonly words: readonly Word[];
  readonly messages: number;
};

/** Read from the index, which keeps these counts. */
export function vocabularyOf(db: DatabaseSync): Vocabulary {
  db.exec("CREATE VIRTUAL TABLE temp.bench_words USING fts5vocab(main, hermes_memory_fts, row)");
  const words: Word[] = [];
  for (const row of db.prepare("SELECT term, doc AS holders FROM temp.bench_words").iterate()) {
    const { term, holders } = row as Word;
    if (PLAIN_WORD.test(term)) words.push({ term, holders });
  }
  const counted = db.prepare("SELECT COUNT(*) AS messages FROM messages").get() as { messages: number };
  return { words: words.sort((a, b) => b.holders - a.holders || byName(a, b)), ...counted };
}

/** The words whose number of messages is closest to the wanted one. */
export function nearest(words: readonly Word[], holders: number, count: number): string[] {
  return words
    .map((word) => ({ ...word, distance: Math.abs(word.holders - holders) }))
    .sort((a, b) => a.distance - b.distance || byName(a, b))
    .slice(0, count)
    .map(({ term }) => term);
}

/** Operators of the query language are not plain words. */
const PLAIN_WORD = /^(?!(?:and|or|not|near)$)[a-z]{2,20}$/;

function byName(a: Word, b: Word): number {
  return a.term < b.term ? -1 : 1;
}
