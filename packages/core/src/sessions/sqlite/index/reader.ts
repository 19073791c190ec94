// Reads the search index: the index in the file, and an overlay in memory with the messages whose indexed version is missing or
// outdated. A reader is valid inside the transaction it was created for.
import { createHash } from "node:crypto";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { columnOf, documentText, filterToken, HIDDEN_TOKEN } from "../../search/document.ts";
import { idInKey, LAST_ID } from "../../search/reads.ts";
import { type Connection, featuresOf } from "../connection.ts";
import { documentFields, marksOf, readTodo, type SourceRow } from "./indexing.ts";
import {
  DOC,
  FTS,
  hasKey,
  isUsable,
  keyOfRow,
  LARGE,
  QUEUE,
  SESSION_NUMBERS,
  TABLES,
  WORD_NUMBERS,
} from "./tables.ts";

export interface IndexReader {
  /** Keys of matching documents in order of key (day, then id), from the file and the overlay together. */
  keys(match: string, options: KeyOptions): number[];
  /** Per session, its newest keys whose messages are not hidden, newest first. */
  keysOfSessions(asked: readonly { readonly session: string; readonly limit: number }[]): number[][];
  /** The keys whose documents have the fewest words, shortest first. Without messages in the overlay. */
  shortest(keys: readonly number[], limit: number): number[];
  numberOfSession(id: string): number | undefined;
  numberOfWord(word: string): number | undefined;
  /** Terms of the index that begin with `prefix`, in order; at most `limit`. */
  terms(prefix: string, limit: number): readonly string[];
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
/**
 * FTS5 stores the number of words of each column as a varint, and varints sort like the numbers they encode. All columns but one are
 * zero: one byte each.
 */
const SHORTEST = `
  SELECT d.id AS key FROM json_each(:keys) k CROSS JOIN ${FTS}_docsize d ON d.id = k.value
  ORDER BY length(d.sz), replace(hex(d.sz), '00', '') LIMIT :limit`;
const MOST_REMEMBERED = 2000;
const HIGHEST_KEY = Number.MAX_SAFE_INTEGER;
/** Two walks of the ids that are out of range: none, in a file that programs wrote. */
const WITHOUT_KEY = `SELECT (SELECT COUNT(*) FROM messages WHERE id < 1) + (SELECT COUNT(*) FROM messages WHERE id > ${LAST_ID}) AS n`;
const VOCABULARY = "hermes_memory_terms";
const TERMS = `SELECT term FROM temp.${VOCABULARY} WHERE term >= :prefix AND term <= :prefix || char(0x10ffff) ORDER BY term LIMIT :limit`;

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
  #columns: ReadonlySet<string> = new Set();
  #restarts = 0;
  /** Until the file changes: the vocabulary counts the messages of every term that it passes. */
  readonly #terms = new Map<string, readonly string[]>();

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

  close(): void {
    this.#overlay?.close();
    this.#overlay = undefined;
  }

  /** Determines which messages the overlay needs now. */
  #begin(): void {
    const connection = this.#connection;
    this.#terms.clear();
    this.#overlay ??= new Overlay();
    this.#columns = featuresOf(connection).messages;
    this.#hasIndex = isUsable(connection.db);
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
      missed += connection.get<{ n: number }>(WITHOUT_KEY)?.n ?? 0;
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
    const known = this.#terms;
    if (known.size > MOST_REMEMBERED) known.clear();
    const overOf = (session: string, limit: number) => {
      const n = numbers.session(session) ?? overlay.sessionNumber(session);
      const match = `"${filterToken("session", n ?? 0)}" NOT "${HIDDEN_TOKEN}"`;
      return overlay.matches(DESCENDING, { match, from: 0, to: HIGHEST_KEY, limit });
    };
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
      keysOfSessions(asked) {
        const limit = Math.max(0, ...asked.map((each) => each.limit)) + pending.size;
        const sessions = JSON.stringify(asked.map(({ session }) => session));
        const found = hasIndex ? connection.all<{ keys: string }>(OF_SESSIONS, { sessions, limit }) : [];
        return asked.map(({ session, limit }, at) => {
          const own = JSON.parse(found[at]?.keys ?? "[]") as number[];
          const over = overlay.isEmpty ? [] : overOf(session, limit);
          const all = [...own.filter((key) => !pending.has(key)), ...over];
          return (over.length === 0 ? all : all.sort((a, b) => b - a)).slice(0, limit);
        });
      },
      shortest(keys, limit) {
        if (!hasIndex) return [];
        const values = { keys: JSON.stringify(keys.filter((key) => !pending.has(key))), limit };
        const { keys: found = "[]" } = connection.get<{ keys: string }>(listed(SHORTEST), values) ?? {};
        return JSON.parse(found) as number[];
      },
      numberOfSession: (id) => numbers.session(id) ?? overlay.sessionNumber(id),
      numberOfWord: (word) => numbers.word(word) ?? overlay.wordNumber(word),
      terms(prefix, limit) {
        const asked = `${limit} ${prefix}`;
        const found = known.get(asked);
        if (found !== undefined) return found;
        const own = hasIndex ? connection.all<{ term: string }>(TERMS, { prefix, limit }) : [];
        const all = new Set([...own.map(({ term }) => term), ...overlay.terms(prefix, limit)]);
        const terms = [...all].sort(byBytes).slice(0, limit);
        known.set(asked, terms);
        return terms;
      },
      notSearched: this.#notSearched,
    };
  }
}

const OF_SESSIONS = `
  SELECT (SELECT json_group_array(key) FROM (SELECT d.key FROM ${DOC} d WHERE d.n = s.n ORDER BY d.key DESC LIMIT :limit)) AS keys
  FROM json_each(:sessions) j LEFT JOIN ${SESSION_NUMBERS} s ON s.session_id = j.value ORDER BY j.key`;
const FIND_SESSION = `SELECT n FROM ${SESSION_NUMBERS} WHERE session_id = :word`;
const FIND_WORD = `SELECT n FROM ${WORD_NUMBERS} WHERE word = :word`;
const NEWEST_IDS = `SELECT id FROM messages ORDER BY id DESC LIMIT ${OVERLAY_ROWS}`;

function listed(sql: string): string {
  return `SELECT json_group_array(key) AS keys FROM (${sql})`;
}

/** Changes with every commit that the connection can see, including its own. */
function momentOf(connection: Connection): string {
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

type Entry = { readonly hash: string; readonly bytes: number };

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
  #bytes = 0;

  constructor() {
    for (const { name, sql } of TABLES) if (name === FTS) this.#db.exec(sql);
    this.#db.exec(`CREATE VIRTUAL TABLE terms USING fts5vocab(${FTS}, row)`);
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  isFull(): boolean {
    return this.#entries.size >= OVERLAY_ROWS || this.#bytes >= OVERLAY_BYTES;
  }

  sessionNumber(id: string): number | undefined {
    return this.#sessions.find(id);
  }

  wordNumber(word: string): number | undefined {
    return this.#words.find(word);
  }

  /** Adds the document of a message. `key` is undefined when it does not fit; `made` is the size of a new document in bytes. */
  put(row: SourceRow, numbers: Numbers): { readonly key: number | undefined; readonly made: number } {
    const { key } = row;
    const session = row.session_id ?? "";
    const n = numbers.session(session) ?? this.#sessions.give(session);
    const marks = marksOf(row, n, (word) => numbers.word(word) ?? this.#words.give(word));
    const hash = hashOf(row, Object.values(marks).join(","));
    const known = this.#entries.get(key);
    if (known?.hash === hash) return { key, made: 0 };
    if (known === undefined && this.isFull()) return { key: undefined, made: 0 };
    this.remove(key);
    this.#run(
      `INSERT INTO ${FTS}(rowid, ${columnOf(row)}) VALUES (CAST(? AS INT), ?)`,
      key,
      documentText(row, marks),
    );
    this.#entries.set(key, { hash, bytes: row.bytes });
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

  terms(prefix: string, limit: number): string[] {
    if (this.#entries.size === 0) return [];
    const found = this.#statement(TERMS.replace(`temp.${VOCABULARY}`, "terms")).all({ prefix, limit });
    return found.map((row) => String(row.term));
  }

  close(): void {
    this.#db.close();
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

  find(word: string): number | undefined {
    return this.#numbers.get(word);
  }

  give(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    const n = FIRST_OWN_NUMBER + this.#numbers.size;
    this.#numbers.set(word, n);
    return n;
  }
}

function hashOf(row: SourceRow, marks: string): string {
  const hash = createHash("sha1").update(marks);
  for (const part of [row.role, row.content, row.tool_name, row.tool_calls])
    hash.update(part === null ? "\0-" : "\0+").update(part ?? "");
  return hash.digest("base64");
}

function rowsSql(columns: ReadonlySet<string>): string {
  return `
    SELECT ${keyOfRow("m")} AS key, ${documentFields(columns)}
    FROM messages m LEFT JOIN sessions s ON s.id = m.session_id WHERE m.id = CAST(:id AS INT) AND ${hasKey("m")}`;
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
      const row = connection.get<SourceRow>(sql, { id: id ?? null, large: Number.MAX_SAFE_INTEGER });
      if (row === undefined) continue;
      const put = this.#overlay.put(row, numbers);
      if (put.key !== undefined) this.#seen.add(put.key);
      made += put.made + 200;
    }
    if (this.isDone) this.#overlay.keepOnly(this.#seen);
  }
}
