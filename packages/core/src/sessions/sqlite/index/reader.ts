// Reads the search index: the index in the file, and an overlay in memory with the messages whose indexed version is missing or
// outdated. A reader is valid inside the transaction it was created for.
import { createHash } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { documentText } from "../../search/document.ts";
import type { Connection } from "../connection.ts";
import { documentFields, marksOf, readTodo, type SourceRow } from "./indexing.ts";
import {
  DOC,
  dayOfRow,
  FTS,
  hasKey,
  idInKey,
  isUsable,
  keyOf,
  LARGE,
  LARGEST_ID,
  messageColumns,
  QUEUE,
  RESERVED_IDS,
  SESSION_NUMBERS,
  TABLES,
  WORD_NUMBERS,
} from "./tables.ts";

export interface IndexReader {
  /** Keys of matching documents in order of key (day, then id), from the file and the overlay together. */
  keys(match: string, options: KeyOptions): number[];
  /** Ids of the messages, in the order given. Only the reader knows them, because not every id fits into a key. */
  messageIds(keys: readonly number[]): number[];
  /** The keys whose documents have the fewest words, shortest first. Without messages in the overlay. */
  shortest(keys: readonly number[], limit: number): number[];
  /** Session numbers of keys, in the order given. */
  sessionNumbers(keys: readonly number[]): number[];
  numberOfSession(id: string): number | undefined;
  sessionOfNumber(n: number): string | undefined;
  numberOfWord(word: string): number | undefined;
  /** Terms of the index in order, starting at `from` (inclusive), while they begin with `prefix`; at most `limit`. */
  terms(prefix: string, limit: number, from?: string): string[];
  /** How many messages this reader cannot find: neither indexed nor in the overlay. 0 when complete. */
  readonly notSearched: number;
}

type KeyOptions = {
  readonly order: "newest" | "oldest";
  readonly limit: number;
  /** Lowest and highest key, both inclusive. */
  readonly from?: number;
  readonly to?: number;
};

/** How many messages are searched without an index. The rest is counted, and the answer says so. */
const OVERLAY_ROWS = 20_000;

const ASCENDING = `
  SELECT rowid AS key FROM ${FTS} WHERE ${FTS} MATCH :match
    AND rowid >= CAST(:from AS INT) AND rowid <= CAST(:to AS INT) ORDER BY rowid LIMIT :limit`;
const DESCENDING = ASCENDING.replace("ORDER BY rowid", "ORDER BY rowid DESC");
/** FTS5 stores the number of words as a varint, and varints sort like the numbers they encode. */
const SHORTEST = `
  SELECT d.id AS key FROM json_each(:keys) k CROSS JOIN ${FTS}_docsize d ON d.id = k.value ORDER BY d.sz LIMIT :limit`;
const HIGHEST_KEY = Number.MAX_SAFE_INTEGER;
const VOCABULARY = "hermes_memory_terms";
const TERMS = `SELECT term FROM temp.${VOCABULARY} WHERE term >= :from ORDER BY term LIMIT :limit`;

/** The index of one connection, prepared step by step; answers one transaction at a time. */
export class Reading {
  readonly #connection: Connection;
  #overlay: Overlay | undefined;
  /** The state of the file that the overlay was made for. */
  #moment = "";
  #fill: OverlayFill | undefined;
  #pending: ReadonlySet<number> = new Set();
  #notSearched = 0;
  #hasIndex = false;
  #isIndexIgnored = false;
  #columns: ReadonlySet<string> = new Set();
  #restarts = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Inside a read transaction. Undefined when preparing it takes longer than one slice; call again after yielding. */
  step(): IndexReader | undefined {
    const connection = this.#connection;
    const moment = momentOf(connection);
    if (moment !== this.#moment || this.#fill === undefined) {
      this.#restarts = this.#fill?.isDone === false ? this.#restarts + 1 : 0;
      this.#begin();
      this.#moment = moment;
    }
    const fill = this.#fill;
    const overlay = this.#overlay;
    if (fill === undefined || overlay === undefined) return undefined; // cannot happen: #begin sets both
    if (!fill.isDone) {
      // Without this, a program that writes all the time could prevent the overlay from ever being complete.
      const limit = this.#restarts < 3 ? BYTES_PER_SLICE : Number.POSITIVE_INFINITY;
      fill.step(connection, this.#columns, this.#numbers(), limit);
      if (!fill.isDone) return undefined;
    }
    return this.#reader(overlay);
  }

  /** From now on every message goes into the overlay: the index in the file is damaged, and this handle may not repair it. */
  ignoreIndex(): void {
    this.#isIndexIgnored = true;
    this.#fill = undefined;
    this.close();
  }

  close(): void {
    this.#overlay?.close();
    this.#overlay = undefined;
  }

  /** Determines which messages the overlay needs now. */
  #begin(): void {
    const connection = this.#connection;
    this.#overlay ??= new Overlay();
    this.#columns = messageColumns(connection);
    this.#hasIndex = !this.#isIndexIgnored && isUsable(connection.db);
    const isReadOnly = connection.readOnlyBecause !== undefined;
    const ids: number[] = [];
    let missed = 0;
    if (this.#hasIndex) {
      const keys = connection.all<{ key: number }>(`SELECT key FROM ${QUEUE} UNION SELECT key FROM ${LARGE}`);
      this.#pending = new Set(keys.map(({ key }) => key));
      const todo = readTodo(connection);
      for (const key of [...this.#pending].reverse()) if (idInKey(key) > todo) ids.push(idInKey(key));
      if (todo > 0 && isReadOnly) ids.push(...idsUpTo(connection, todo));
      if (todo > 0)
        missed = countUpTo(connection, todo) - (isReadOnly ? Math.min(OVERLAY_ROWS, ids.length) : 0);
      ids.push(...oddIds(connection));
    } else {
      this.#pending = new Set();
      ids.push(...connection.all<{ id: number }>(NEWEST_IDS).map(({ id }) => id));
      missed = (connection.get<{ n: number }>("SELECT COUNT(*) AS n FROM messages")?.n ?? 0) - ids.length;
    }
    this.#notSearched = Math.max(0, missed);
    this.#fill = new OverlayFill(this.#overlay, ids);
  }

  #numbers() {
    const connection = this.#connection;
    if (!this.#hasIndex) return { session: () => undefined, word: () => undefined };
    return {
      session: (id: string) => connection.get<{ n: number }>(FIND_SESSION, { word: id })?.n,
      word: (word: string) => connection.get<{ n: number }>(FIND_WORD, { word })?.n,
    };
  }

  #reader(overlay: Overlay): IndexReader {
    const connection = this.#connection;
    const numbers = this.#numbers();
    const hasIndex = this.#hasIndex;
    const pending = this.#pending;
    return {
      keys(match, { order, limit, from = 0, to = HIGHEST_KEY }) {
        const sql = order === "newest" ? DESCENDING : ASCENDING;
        let found: number[] = [];
        if (hasIndex && limit > 0) {
          const values = { match, from, to, limit: limit + pending.size };
          // As one JSON text: one row per key would cost six times as much.
          const { keys = "[]" } = connection.get<{ keys: string }>(listed(sql), values) ?? {};
          const all = JSON.parse(keys) as number[];
          found = pending.size === 0 ? all : all.filter((key) => !pending.has(key)).slice(0, limit);
        }
        const over = overlay.matches(sql, { match, from, to, limit });
        if (over.length === 0) return found;
        const sign = order === "newest" ? -1 : 1;
        return [...found, ...over].sort((a, b) => sign * (a - b)).slice(0, limit);
      },
      shortest(keys, limit) {
        if (!hasIndex) return [];
        const values = { keys: JSON.stringify(keys.filter((key) => !pending.has(key))), limit };
        const { keys: found = "[]" } = connection.get<{ keys: string }>(listed(SHORTEST), values) ?? {};
        return JSON.parse(found) as number[];
      },
      messageIds: (keys) => keys.map((key) => overlay.idOf(key) ?? idInKey(key)),
      sessionNumbers: (keys) =>
        keys.map(
          (key) => overlay.numberOf(key) ?? connection.get<{ n: number }>(NUMBER_OF_KEY, { key })?.n ?? 0,
        ),
      numberOfSession: (id) => numbers.session(id) ?? overlay.sessionNumber(id),
      sessionOfNumber: (n) =>
        overlay.sessionOf(n) ??
        (hasIndex ? connection.get<{ session_id: string }>(SESSION_OF, { n })?.session_id : undefined),
      numberOfWord: (word) => numbers.word(word) ?? overlay.wordNumber(word),
      terms(prefix, limit, from = prefix) {
        const start = from < prefix ? prefix : from;
        const own = hasIndex
          ? connection.all<{ term: string }>(TERMS, { from: start, limit }).map(({ term }) => term)
          : [];
        const all = new Set(
          [...own, ...overlay.terms(start, limit)].filter((term) => term.startsWith(prefix)),
        );
        return [...all].sort(byBytes).slice(0, limit);
      },
      notSearched: this.#notSearched,
    };
  }
}

const FIND_SESSION = `SELECT n FROM ${SESSION_NUMBERS} WHERE session_id = :word`;
const FIND_WORD = `SELECT n FROM ${WORD_NUMBERS} WHERE word = :word`;
const SESSION_OF = `SELECT session_id FROM ${SESSION_NUMBERS} WHERE n = CAST(:n AS INT)`;
const NUMBER_OF_KEY = `SELECT n FROM ${DOC} WHERE key = CAST(:key AS INT)`;
const NEWEST_IDS = `SELECT id FROM messages ORDER BY id DESC LIMIT ${OVERLAY_ROWS}`;

function listed(sql: string): string {
  return `SELECT json_group_array(key) AS keys FROM (${sql})`;
}

/** Changes with every commit that the connection can see, including its own. */
export function momentOf(connection: Connection): string {
  const version = connection.get<{ data_version: number }>("PRAGMA data_version")?.data_version;
  const own = connection.get<{ n: number }>("SELECT total_changes() AS n")?.n;
  return `${version}:${own}`;
}

/** Makes the vocabulary of the index available as a temporary table of this connection. */
export function prepareVocabulary(connection: Connection): void {
  connection.db.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS temp.${VOCABULARY} USING fts5vocab(main, ${FTS}, row)`,
  );
}

function idsUpTo(connection: Connection, todo: number): number[] {
  const sql = `SELECT id FROM messages m WHERE m.id <= :todo AND ${hasKey("m")} ORDER BY id DESC LIMIT ${OVERLAY_ROWS}`;
  return connection.all<{ id: number }>(sql, { todo }).map(({ id }) => id);
}

/** The unary plus makes SQLite count in the smallest index instead of reading the table with all its texts. */
function countUpTo(connection: Connection, todo: number): number {
  const sql = "SELECT COUNT(*) AS n FROM messages WHERE +id BETWEEN 1 AND :todo";
  return connection.get<{ n: number }>(sql, { todo })?.n ?? 0;
}

function oddIds(connection: Connection): number[] {
  const bounds = connection.get<{ odd: number }>(
    `SELECT COALESCE((SELECT MIN(id) FROM messages), 1) < 1 OR COALESCE((SELECT MAX(id) FROM messages), 1) > ${LARGEST_ID} AS odd`,
  );
  if (bounds?.odd !== 1) return [];
  // Two ranges, because a condition with OR would read the whole table.
  const sql = `SELECT id FROM (SELECT id FROM messages WHERE id > ${LARGEST_ID} UNION ALL SELECT id FROM messages WHERE id < 1)
    WHERE id BETWEEN -${Number.MAX_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER} LIMIT ${OVERLAY_ROWS}`;
  return connection.all<{ id: number }>(sql).map(({ id }) => id);
}

/** SQLite's order of terms: by UTF-8 bytes. */
function byBytes(a: string, b: string): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

// ---- The overlay ----
// Documents in an in-memory database for messages whose indexed version is missing or outdated. A read-only handle uses it for
// everything queued or never indexed; a writable one only for the most recent rows.

const OVERLAY_BYTES = 64_000_000;
/** Texts prepared per slice, about 50 ms. Checking an unchanged text costs a tenth of that. */
const BYTES_PER_SLICE = 500_000;

/** Numbers that exist only in memory start here; numbers in a file count up from 1. */
const FIRST_OWN_NUMBER = 2 ** 40;

type Entry = { readonly n: number; readonly hash: string; readonly bytes: number };
type Row = SourceRow & { readonly id: number; readonly day: number };

/** Numbers stored in the file; undefined for words it has no number for. */
type Numbers = {
  session(id: string): number | undefined;
  word(word: string): number | undefined;
};

class Overlay {
  readonly #db = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, StatementSync>();
  readonly #entries = new Map<number, Entry>();
  readonly #sessions = new OwnNumbers();
  readonly #words = new OwnNumbers();
  /** For rows whose id does not fit into a key: the substitute id in the key. */
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

  /** The id of the message, if it differs from the id in the key. */
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

  /** Adds the document of a message. `key` is undefined when it does not fit; `made` is the size of a new document in bytes. */
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

  /** Same statement as for the index in the file. */
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

/** Adds messages to an overlay, one slice at a time. */
class OverlayFill {
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
