// The words an index holds. Walking them costs a seek each, whatever the number of messages behind a word.
import { irregularForms, stem } from "../../search/stem.ts";
import type { Connection } from "../connection.ts";
import type { Conditions } from "./filters.ts";
import type { Direction } from "./rows.ts";

const WORDS = "hermes_memory_word_list";
const TRIGRAMS = "hermes_memory_trigram_list";
/** A star in the beginning of a word can stand for very many; more than these are not looked at. */
const MOST_SEEKS = 80;
const SHORTEST_BEGINNING = 3;

const NEXT_WORD = `SELECT term FROM temp.${WORDS} WHERE term >= :from LIMIT 1`;

/** Temporary tables in memory: they work on read-only files too, and nobody else sees them. */
export function openVocabulary(connection: Connection): void {
  const { db } = connection;
  db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.${WORDS} USING fts5vocab(main, messages_fts, instance)`);
  db.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS temp.${TRIGRAMS} USING fts5vocab(main, messages_fts_trigram, instance)`,
  );
}

/** Other forms of a word that occur: those with its stem. */
export function formsOf(connection: Connection, word: string): string[] {
  const root = stem(word);
  const beginnings = new Set(
    [word, root].map(beginningOf).filter((text) => text.length >= SHORTEST_BEGINNING),
  );
  const shortest = [...beginnings].filter(
    (text) => ![...beginnings].some((other) => other !== text && text.startsWith(other)),
  );
  const regular = shortest.flatMap((text) => wordsBeginning(connection, text));
  const irregular = irregularForms(root).filter((form) => wordExists(connection, form));
  return [...new Set([...regular, ...irregular])].filter((form) => form !== word && stem(form) === root);
}

/** Words one slip of the finger away. */
export function similarTo(connection: Connection, word: string): string[] {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return [];
  return wordsBeginning(connection, word.slice(0, 3)).filter((other) => isOneSlipAway(word, other));
}

export function wordExists(connection: Connection, word: string): boolean {
  return connection.get<{ term: string }>(NEXT_WORD, { from: word })?.term === word;
}

/** The words that begin like this, and whether these are all. */
export function wordsWithBeginning(
  connection: Connection,
  text: string,
): { readonly words: readonly string[]; readonly isComplete: boolean } {
  const words = wordsBeginning(connection, text);
  return { words, isComplete: words.length < MOST_SEEKS };
}

/** Messages with one or two characters somewhere in them; `most` occurrences are looked at. */
export function idsOfTrigrams(
  connection: Connection,
  text: string,
  most: number,
): { readonly ids: Set<number>; readonly isComplete: boolean } {
  const sql = `SELECT doc FROM temp.${TRIGRAMS} WHERE term >= :from AND term < :to LIMIT :most`;
  const rows = connection.all<{ doc: number }>(sql, { from: text, to: `${text}\u{10ffff}`, most });
  return { ids: new Set(rows.map((row) => row.doc)), isComplete: rows.length < most };
}

/** Messages of the trigram index that the filters allow, from one end; `walked` of them are looked at. */
export function latestTexts(
  connection: Connection,
  { where, values }: Conditions,
  options: { readonly walked: number; readonly limit: number; readonly direction: Direction },
): number[] {
  const sql = `
    SELECT m.id FROM (
      SELECT id FROM messages_fts_trigram_docsize
      ORDER BY id ${options.direction === "newest" ? "DESC" : "ASC"} LIMIT :walked
    ) d CROSS JOIN messages m ON m.id = d.id JOIN sessions s ON s.id = m.session_id
    WHERE ${where} LIMIT :limit
  `;
  const { walked, limit } = options;
  return connection.all<{ id: number }>(sql, { ...values, walked, limit }).map((row) => row.id);
}

/** In order; at most `MOST_SEEKS` of them. */
function wordsBeginning(connection: Connection, text: string): string[] {
  const found: string[] = [];
  let from = text;
  for (let seeks = 0; seeks < MOST_SEEKS; seeks += 1) {
    const term = connection.get<{ term: string }>(NEXT_WORD, { from })?.term;
    if (term === undefined || !term.startsWith(text)) break;
    found.push(term);
    from = `${term}\u0001`; // the next possible word
  }
  return found;
}

/** What the forms of a word have in common: without the ending a stemmer may have changed. */
function beginningOf(word: string): string {
  const ending = word.length >= 6 ? 2 : 1;
  return word.slice(0, Math.max(SHORTEST_BEGINNING, word.length - ending));
}

function isOneSlipAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (a.length === b.length) {
    const isSwap = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
    return isSwap || restA.slice(1) === restB.slice(1);
  }
  return a.length > b.length ? restA.slice(1) === restB : restA === restB.slice(1);
}
