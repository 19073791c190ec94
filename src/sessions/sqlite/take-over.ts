// Takes an index of the original's out of the reach of zero bytes, row by row. Its triggers hand them to the trigram
// tokenizer, which stops at the first one in SQLite 3.40 and skips them in 3.53. FTS5 deletes a row by tokenizing
// the text again, so a library would delete other entries than those that the other one made.
import type { DatabaseSync } from "node:sqlite";
import { sqliteCode } from "./failures.ts";
import type { FtsTable } from "./index-layout.ts";
import { hasZero, referenceText } from "./index-text.ts";

/** Which part of its text a row was indexed by: up to the first zero byte, or the whole without its zero bytes. */
export type IndexedPart = "head" | "whole" | "unknown";

/** `tokens` is how many the row has in a trigram index, `text` is what the index was given. */
export function indexedPart(text: Uint8Array, tokens: number): IndexedPart {
  if (tokens === trigrams(text)) return "whole";
  return tokens === trigrams(headOf(text)) ? "head" : "unknown";
}

/** Ascending ids of the messages that the original's triggers indexed with a zero byte. */
export function messagesWithZeros(db: DatabaseSync): number[] {
  const ids: number[] = [];
  for (const row of db.prepare(WITH_ZEROS).iterate()) ids.push(Number(row.id));
  return ids;
}

/**
 * To be called inside a write transaction, while the table has no triggers. Afterwards the rows are indexed as our own
 * triggers would have done it. False when that cannot be done, and the table has to be filled anew: it does not hold
 * what it should, and may be half changed.
 */
export function takeOverRows(db: DatabaseSync, name: FtsTable, ids: readonly number[]): boolean {
  try {
    if (!isCountedRight(db, name)) return false;
    const rows = name === "messages_fts_trigram" ? rowsOfTrigrams(db, ids) : rowsOfWords(db, ids);
    if (rows === undefined) return false;
    cutTexts(db, name, rows.heads);
    replaceRows(db, name, rows.changed);
    return true;
  } catch (cause) {
    if (isIndexFault(cause)) return false;
    throw cause; // a full disk may have ended the transaction; nothing may be done as if it had not
  }
}

const WITH_ZEROS = `
  SELECT id FROM messages WHERE ${hasZero("content")} OR ${hasZero("tool_name")} OR ${hasZero("tool_calls")} ORDER BY id
`;

/**
 * The index keeps a total of its tokens. A library that deleted a row of the other's took off what it counted itself,
 * which shows here even when the message is gone; entries of it are still in the index then. Only deletions in both
 * directions that cancel out exactly are not seen; what they leave behind, a repair finds.
 */
function isCountedRight(db: DatabaseSync, name: FtsTable): boolean {
  const totals = db.prepare(`SELECT block FROM ${name}_data WHERE id = 1`).get()?.block;
  const [rows = 0, tokens = 0] = totals instanceof Uint8Array ? varints(totals) : [];
  let countedRows = 0;
  let countedTokens = 0;
  for (const size of db.prepare(`SELECT sz, COUNT(*) AS n FROM ${name}_docsize GROUP BY sz`).iterate()) {
    const [length = 0] = size.sz instanceof Uint8Array ? varints(size.sz) : [];
    countedRows += Number(size.n);
    countedTokens += length * Number(size.n);
  }
  return rows === countedRows && tokens === countedTokens;
}

type Rows = {
  /** Those whose index entries were made of the text up to the first zero byte. */
  readonly heads: readonly number[];
  /** Those that are to be indexed by another text than now. */
  readonly changed: readonly number[];
};

function rowsOfTrigrams(db: DatabaseSync, ids: readonly number[]): Rows | undefined {
  const find = db.prepare(
    `SELECT CAST(c.c0 AS BLOB) AS text, d.sz AS size, c.c0 IS ${referenceText("m")} AS isDone
     FROM messages m JOIN messages_fts_trigram_content c ON c.id = m.id
     JOIN messages_fts_trigram_docsize d ON d.id = m.id WHERE m.id = ?`,
  );
  const heads: number[] = [];
  const changed: number[] = [];
  for (const id of ids) {
    const { text, size, isDone } = find.get(id) ?? {};
    if (!(text instanceof Uint8Array && size instanceof Uint8Array)) return undefined;
    const part = indexedPart(text, varints(size)[0] ?? 0);
    if (part === "unknown") return undefined;
    if (part === "head") heads.push(id);
    if (isDone !== 1) changed.push(id);
  }
  return { heads, changed };
}

/** The word tokenizers agree about zero bytes, so nothing has to be found out. */
function rowsOfWords(db: DatabaseSync, ids: readonly number[]): Rows | undefined {
  const find = db.prepare(
    `SELECT c.c0 IS ${referenceText("m")} AS isDone
     FROM messages m JOIN messages_fts_content c ON c.id = m.id WHERE m.id = ?`,
  );
  const changed: number[] = [];
  for (const id of ids) {
    const row = find.get(id);
    if (row === undefined) return undefined;
    if (row.isDone !== 1) changed.push(id);
  }
  return { heads: [], changed };
}

/** What the index believes it was given becomes what its entries were made of. */
function cutTexts(db: DatabaseSync, name: FtsTable, ids: readonly number[]): void {
  if (ids.length === 0) return;
  const blob = "CAST(c0 AS BLOB)";
  db.enableDefensive(false); // SQLite guards the tables an index consists of
  try {
    const cut = db.prepare(
      `UPDATE ${name}_content SET c0 = CAST(substr(${blob}, 1, instr(${blob}, x'00') - 1) AS TEXT) WHERE id = ?`,
    );
    for (const id of ids) cut.run(id);
  } finally {
    db.enableDefensive(true);
  }
}

/** In ascending order and with single rows, or FTS5 would write a piece of index for each of them. */
function replaceRows(db: DatabaseSync, name: FtsTable, ids: readonly number[]): void {
  const remove = db.prepare(`DELETE FROM ${name} WHERE rowid = ?`);
  const add = db.prepare(
    `INSERT INTO ${name}(rowid, content) VALUES (?1, (SELECT ${referenceText("m")} FROM messages m WHERE m.id = ?1))`,
  );
  for (const id of ids) {
    remove.run(id);
    add.run(id);
  }
}

const ERROR = 1;
const CORRUPT = 11;

/** It contradicts itself, or does not consist of the tables it should. */
function isIndexFault(cause: unknown): boolean {
  const code = (sqliteCode(cause) ?? 0) & 0xff;
  return code === ERROR || code === CORRUPT;
}

// ---- what FTS5 makes of bytes ----

function trigrams(text: Uint8Array): number {
  return Math.max(0, characters(text) - 2);
}

function headOf(text: Uint8Array): Uint8Array {
  const zero = text.indexOf(0);
  return zero === -1 ? text : text.subarray(0, zero);
}

/** Without zero bytes. As FTS5 reads UTF-8: a first byte takes all continuing bytes with it, however many they are. */
function characters(text: Uint8Array): number {
  let count = 0;
  let isContinued = false;
  for (const byte of text) {
    const continues = byte >= 0x80 && byte < 0xc0;
    if (!(continues && isContinued) && byte !== 0) count += 1;
    isContinued = byte >= 0xc0 || (continues && isContinued);
  }
  return count;
}

/** Seven bits a byte, the highest first; a byte below 128 is the last one of its number. */
function varints(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0;
  }
  return numbers;
}
