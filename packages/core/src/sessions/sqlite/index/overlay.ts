// Documents of messages that the index in the file does not hold as they are now, in a database in memory. A read-only
// handle searches everything this way that was queued, or never indexed; a writable one the few rows of the last moment.
import { createHash } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { documentText } from "../../search/document.ts";
import type { Connection } from "../connection.ts";
import { documentFields, marksOf, type SourceRow } from "./catch-up.ts";
import { dayOfRow, FTS, keyOf, LARGEST_ID, RESERVED_IDS, TABLES } from "./tables.ts";

/** How much of a file is searched without an index. The rest is counted, and the answer says so. */
export const OVERLAY_ROWS = 20_000;
const OVERLAY_BYTES = 64_000_000;
/** Texts made at a time, about 50 ms. Reading a text that is known already costs a tenth of that. */
export const BYTES_PER_SLICE = 500_000;

/** Numbers that exist only in memory begin here: those in a file are counted up from 1. */
const FIRST_OWN_NUMBER = 2 ** 40;

type Entry = { readonly n: number; readonly hash: string; readonly bytes: number };
type Row = SourceRow & { readonly id: number; readonly day: number };

/** Numbers of the file, and numbers of our own for what it has none for. */
export type Numbers = {
  session(id: string): number | undefined;
  word(word: string): number | undefined;
};

export class Overlay {
  readonly #db = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, StatementSync>();
  readonly #entries = new Map<number, Entry>();
  readonly #sessions = new OwnNumbers();
  readonly #words = new OwnNumbers();
  /** Rows whose id does not fit into a key: the id that stands in the key for them. */
  readonly #places = new Map<number, number>();
  readonly #ids = new Map<number, number>();
  #bytes = 0;

  constructor() {
    for (const { name, sql } of TABLES) if (name === FTS) this.#db.exec(sql);
    this.#db.exec(`CREATE VIRTUAL TABLE terms USING fts5vocab(${FTS}, row)`);
  }

  get size(): number {
    return this.#entries.size;
  }

  isFull(): boolean {
    return this.#entries.size >= OVERLAY_ROWS || this.#bytes >= OVERLAY_BYTES;
  }

  has(key: number): boolean {
    return this.#entries.has(key);
  }

  numberOf(key: number): number | undefined {
    return this.#entries.get(key)?.n;
  }

  /** The id of the message, where it is not the one in the key. */
  idOf(key: number): number | undefined {
    return this.#ids.get(key);
  }

  sessionNumber(id: string): number | undefined {
    return this.#sessions.find(id);
  }

  sessionOf(n: number): string | undefined {
    return this.#sessions.word(n);
  }

  wordNumber(word: string): number | undefined {
    return this.#words.find(word);
  }

  /** Reads one message and holds its document from now on. False when there is no such message, or it does not fit in any more. */
  put(row: Row, numbers: Numbers): { readonly key: number | undefined; readonly made: number } {
    const key = this.#keyFor(row);
    if (key === undefined) return { key, made: 0 };
    const session = row.session_id ?? "";
    const n = numbers.session(session) ?? this.#sessions.give(session);
    const marks = marksOf(row, n, (word) => numbers.word(word) ?? this.#words.give(word));
    const hash = hashOf(row, Object.values(marks).join(","));
    const known = this.#entries.get(key);
    if (known?.hash === hash) return { key, made: 0 };
    if (known === undefined && this.isFull()) return { key: undefined, made: 0 };
    this.remove(key);
    this.#run(`INSERT INTO ${FTS}(rowid, text) VALUES (CAST(? AS INT), ?)`, key, documentText(row, marks));
    this.#entries.set(key, { n, hash, bytes: row.bytes });
    this.#bytes += row.bytes;
    return { key, made: row.bytes };
  }

  remove(key: number): void {
    const known = this.#entries.get(key);
    if (known === undefined) return;
    this.#run(`DELETE FROM ${FTS} WHERE rowid = CAST(? AS INT)`, key);
    this.#entries.delete(key);
    this.#bytes -= known.bytes;
  }

  keepOnly(keys: ReadonlySet<number>): void {
    for (const key of [...this.#entries.keys()]) if (!keys.has(key)) this.remove(key);
  }

  /** Like the statement in `reader.ts`. */
  matches(sql: string, values: { match: string; from: number; to: number; limit: number }): number[] {
    if (this.#entries.size === 0) return [];
    return this.#statement(sql)
      .all(values)
      .map((row) => Number(row.key));
  }

  terms(from: string, limit: number): string[] {
    if (this.#entries.size === 0) return [];
    const found = this.#statement("SELECT term FROM terms WHERE term >= ? ORDER BY term LIMIT ?").all(
      from,
      limit,
    );
    return found.map((row) => String(row.term));
  }

  close(): void {
    this.#db.close();
  }

  #keyFor({ id, day }: Row): number | undefined {
    if (id >= 1 && id <= LARGEST_ID) return keyOf(day, id);
    let place = this.#places.get(id);
    if (place === undefined) {
      if (this.#places.size >= RESERVED_IDS) return undefined;
      place = LARGEST_ID + 1 + this.#places.size;
      this.#places.set(id, place);
    }
    const key = keyOf(day, place);
    this.#ids.set(key, id);
    return key;
  }

  #run(sql: string, ...values: (string | number)[]): void {
    this.#statement(sql).run(...values);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

class OwnNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #words: string[] = [];

  find(word: string): number | undefined {
    return this.#numbers.get(word);
  }

  word(n: number): string | undefined {
    return this.#words[n - FIRST_OWN_NUMBER];
  }

  give(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    const n = FIRST_OWN_NUMBER + this.#words.length;
    this.#words.push(word);
    this.#numbers.set(word, n);
    return n;
  }
}

function hashOf(row: Row, marks: string): string {
  const hash = createHash("sha1").update(marks);
  for (const part of [row.role, row.content, row.tool_name, row.tool_calls])
    hash.update(part === null ? "\0-" : "\0+").update(part ?? "");
  return hash.digest("base64");
}

function rowsSql(columns: ReadonlySet<string>): string {
  return `
    SELECT m.id AS id, ${dayOfRow("m")} AS day, ${documentFields(columns)}
    FROM messages m LEFT JOIN sessions s ON s.id = m.session_id WHERE m.id = CAST(:id AS INT)`;
}

/** Puts messages into an overlay, a slice at a time. */
export class OverlayFill {
  readonly #overlay: Overlay;
  readonly #ids: readonly number[];
  readonly #seen = new Set<number>();
  #at = 0;

  constructor(overlay: Overlay, ids: readonly number[]) {
    this.#overlay = overlay;
    this.#ids = ids;
  }

  get isDone(): boolean {
    return this.#at >= this.#ids.length;
  }

  /** Inside a read transaction. */
  step(connection: Connection, columns: ReadonlySet<string>, numbers: Numbers, limit: number): void {
    const sql = rowsSql(columns);
    for (let made = 0; made < limit && !this.isDone; this.#at += 1) {
      const id = this.#ids[this.#at];
      const row = connection.get<Row>(sql, { id: id ?? null, large: Number.MAX_SAFE_INTEGER });
      if (row === undefined) continue;
      const put = this.#overlay.put(row, numbers);
      if (put.key !== undefined) this.#seen.add(put.key);
      made += put.made + 200;
    }
    if (this.isDone) this.#overlay.keepOnly(this.#seen);
  }
}
