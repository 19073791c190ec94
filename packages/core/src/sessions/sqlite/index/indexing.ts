// Adds messages to the search index: queued ones, messages never indexed, and large messages in a worker thread.
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import {
  type Column,
  columnOf,
  documentText,
  type IndexRow,
  markTokens,
  personWord,
  textsOf,
} from "../../search/document.ts";
import { idInKey } from "../../search/reads.ts";
import { indexText } from "../../search/words.ts";
import { type Connection, featuresOf, isHidden, userPlatform } from "../connection.ts";
import { toSessionError } from "../failures.ts";
import { DOC, FTS, hasKey, keyOfRow, LARGE, QUEUE, SESSION_NUMBERS, STATE, WORD_NUMBERS } from "./tables.ts";

// ---- Queue and build ----
// One short step per transaction. Every step can be repeated or interrupted, and several processes may work on one file, because
// the remaining work is stored in the file.

/** Other programs wait at most one second for the write lock; a step takes about a tenth of that. */
const ROWS_PER_STEP = 1000;
const BYTES_PER_STEP = 1_500_000;
/** Longer messages are indexed in a worker thread: at about 10 MB per second they would block the event loop. */
const LARGE_BYTES = 1_000_000;

/** A message with the columns its document is made of, and whether the index has one. */
export type SourceRow = IndexRow & {
  readonly key: number;
  /** NULL when no message has this key (any more). */
  readonly session_id: string | null;
  readonly source: string | null;
  readonly user_id: string | null;
  /** The platform that the user id belongs to. */
  readonly user_platform: string | null;
  readonly is_hidden: number;
  readonly bytes: number;
  readonly is_indexed: number;
};

/** In bytes, because `length` of a text stops at its first NUL, and structured content starts with one. */
const BYTES =
  "COALESCE(octet_length(m.content), 0) + COALESCE(octet_length(m.tool_calls), 0) + COALESCE(octet_length(m.tool_name), 0)";

/** SQL: the columns a document is made of; `m` is the message, `s` its session. Texts longer than `:large` bytes are NULL. */
export function documentFields(columns: ReadonlySet<string>): string {
  const unlessLarge = (value: string) => `CASE WHEN ${BYTES} <= :large THEN ${value} END`;
  // Other programs may have declared the columns differently or left them out, so every value is cast and has a default.
  const content = "CASE typeof(m.content) WHEN 'blob' THEN m.content ELSE CAST(m.content AS TEXT) END";
  return `
    CASE WHEN m.id IS NOT NULL THEN COALESCE(CAST(m.session_id AS TEXT), '') END AS session_id,
    COALESCE(CAST(m.role AS TEXT), '') AS role, ${unlessLarge(content)} AS content,
    ${unlessLarge("CAST(m.tool_name AS TEXT)")} AS tool_name, ${unlessLarge("CAST(m.tool_calls AS TEXT)")} AS tool_calls,
    CAST(s.source AS TEXT) AS source, CAST(s.user_id AS TEXT) AS user_id,
    CASE WHEN s.user_id IS NOT NULL THEN CAST(${userPlatform("s")} AS TEXT) END AS user_platform, ${isHidden("m", columns)} AS is_hidden,
    ${BYTES} AS bytes`;
}

const IS_INDEXED = `EXISTS (SELECT 1 FROM ${DOC} d WHERE d.key = `;

function queuedRows(columns: ReadonlySet<string>): string {
  return `
    SELECT q.key AS key, ${documentFields(columns)}, ${IS_INDEXED} q.key) AS is_indexed
    FROM ${QUEUE} q
    LEFT JOIN messages m ON m.id = (q.key & 4294967295) AND ${keyOfRow("m")} = q.key
    LEFT JOIN sessions s ON s.id = m.session_id
    ORDER BY q.key LIMIT ${ROWS_PER_STEP}`;
}

function rowsNotBuilt(columns: ReadonlySet<string>): string {
  return `
    SELECT m.id AS id, ${keyOfRow("m")} AS key, ${documentFields(columns)}, ${IS_INDEXED} ${keyOfRow("m")}) AS is_indexed
    FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
    WHERE m.id <= :todo AND ${hasKey("m")} ORDER BY m.id DESC LIMIT ${ROWS_PER_STEP}`;
}

export function readTodo(connection: Connection): number {
  return connection.get<{ todo: number }>(`SELECT todo FROM ${STATE}`)?.todo ?? 0;
}

/** Inside a write transaction: indexes up to 1,000 queued messages. True when the queue is empty. */
export function catchUpStep(connection: Connection, columns: ReadonlySet<string>): boolean {
  const { rows, isLast } = take(
    connection.iterate<SourceRow>(queuedRows(columns), { large: LARGE_BYTES }),
    ROWS_PER_STEP,
  );
  const last = rows.at(-1);
  if (last === undefined) return true;
  const todo = readTodo(connection);
  // The build will reach rows up to `todo` later and index them then.
  putRows(
    connection,
    rows.map((row) => (idInKey(row.key) > todo ? row : { ...row, session_id: null })),
  );
  connection.run(`DELETE FROM ${QUEUE} WHERE key <= CAST(:last AS INT)`, { last: last.key });
  return isLast;
}

/** Inside a write transaction: indexes up to 1,000 messages that were never indexed, newest first. True when none is left. */
export function buildStep(connection: Connection, columns: ReadonlySet<string>): boolean {
  const todo = readTodo(connection);
  if (todo <= 0) return true;
  const { rows, isLast } = take(
    connection.iterate<SourceRow & { id: number }>(rowsNotBuilt(columns), { todo, large: LARGE_BYTES }),
    ROWS_PER_STEP,
  );
  const lowest = rows.at(-1)?.id;
  putRows(
    connection,
    rows.toSorted((a, b) => a.key - b.key),
  );
  const isDone = isLast || lowest === undefined;
  connection.run(`UPDATE ${STATE} SET todo = :todo`, { todo: isDone ? 0 : lowest - 1 });
  return isDone;
}

function take<Row extends SourceRow>(found: Iterable<Row>, limit: number): { rows: Row[]; isLast: boolean } {
  const rows: Row[] = [];
  let bytes = 0;
  for (const row of found) {
    if (rows.length > 0 && bytes >= BYTES_PER_STEP) return { rows, isLast: false };
    rows.push(row);
    if (row.bytes <= LARGE_BYTES) bytes += row.bytes;
  }
  return { rows, isLast: rows.length < limit };
}

/** `rows` in order of key: FTS5 writes an index segment whenever the order is broken. */
function putRows(connection: Connection, rows: readonly SourceRow[]): void {
  const numbers = numbersIn(connection);
  for (const { key, is_indexed } of rows) if (is_indexed) removeDocument(connection, key);
  for (const row of rows) {
    if (row.session_id === null) {
      connection.run(`DELETE FROM ${LARGE} WHERE key = CAST(:key AS INT)`, { key: row.key });
    } else if (row.bytes > LARGE_BYTES) {
      // For the worker thread below: no process has started, so the ticket is empty and it is free at once.
      connection.run(
        `INSERT INTO ${LARGE}(key, ticket, until) VALUES (CAST(:key AS INT), '', 0)
         ON CONFLICT(key) DO UPDATE SET ticket = '', until = 0`,
        { key: row.key },
      );
    } else {
      const n = numbers.session(row.session_id);
      putDocument(connection, row, n, documentText(row, numbers.marks(row, n)));
    }
  }
}

const insertFts = (column: Column) =>
  `INSERT INTO ${FTS}(rowid, ${column}) VALUES (CAST(:key AS INT), :text)`;
const INSERT_DOC = `INSERT INTO ${DOC}(key, n) VALUES (CAST(:key AS INT), :n)`;

function putDocument(connection: Connection, row: SourceRow, n: number, text: string): void {
  const { key } = row;
  connection.run(insertFts(columnOf(row)), { key, text });
  connection.run(INSERT_DOC, { key, n: row.is_hidden === 1 ? -n : n });
}

function removeDocument(connection: Connection, key: number): void {
  connection.run(`DELETE FROM ${FTS} WHERE rowid = CAST(:key AS INT)`, { key });
  connection.run(`DELETE FROM ${DOC} WHERE key = CAST(:key AS INT)`, { key });
}

const SESSION_NUMBER = `SELECT n FROM ${SESSION_NUMBERS} WHERE session_id = :word`;
const WORD_NUMBER = `SELECT n FROM ${WORD_NUMBERS} WHERE word = :word`;
const ADD_SESSION = `INSERT INTO ${SESSION_NUMBERS}(session_id) VALUES (:word)`;
const ADD_WORD = `INSERT INTO ${WORD_NUMBERS}(word) VALUES (:word)`;

/** Numbers of sessions and words, assigned when missing. For one transaction: a rollback undoes new ones. */
function numbersIn(connection: Connection) {
  const numbered = (find: string, add: string) => {
    const known = new Map<string, number>();
    return (word: string): number => {
      let n = known.get(word) ?? connection.get<{ n: number }>(find, { word })?.n;
      n ??= connection.run(add, { word }).lastId;
      known.set(word, n);
      return n;
    };
  };
  const session = numbered(SESSION_NUMBER, ADD_SESSION);
  const word = numbered(WORD_NUMBER, ADD_WORD);
  return { session, marks: (row: SourceRow, n: number) => marksOf(row, n, word) };
}

export function marksOf(row: SourceRow, session: number, word: (word: string) => number) {
  return {
    session,
    source: word(row.source ?? ""),
    role: word(row.role),
    user: row.user_id === null ? null : word(row.user_id),
    person:
      row.user_id === null || row.user_platform === null
        ? null
        : word(personWord(row.user_platform, row.user_id)),
    isHidden: row.is_hidden === 1,
  };
}

// ---- Large messages ----
// Their text is prepared in slices, and a worker thread with its own connection adds it to the index. A row of
// `hermes_memory_large` marks the work as open. A process that starts it writes a ticket there, and only the holder of that
// ticket may finish: if the message changes meanwhile, the row gets a new ticket.

/** Another process takes over after this time, because the first one may have ended. */
const TAKE_OVER_SECONDS = 60;
/** About 20 ms of work per slice. */
const SLICE_CHARS = 200_000;

const NEXT_FREE = `SELECT key FROM ${LARGE} WHERE until < :now ORDER BY key DESC LIMIT 1`;
const CLAIM = `UPDATE ${LARGE} SET ticket = :ticket, until = :until WHERE key = CAST(:key AS INT)`;

function rowSql(columns: ReadonlySet<string>): string {
  return `
    SELECT ${keyOfRow("m")} AS key, ${documentFields(columns)}, 0 AS is_indexed
    FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
    WHERE m.id = (CAST(:key AS INT) & 4294967295) AND ${keyOfRow("m")} = CAST(:key AS INT)`;
}

type Claim = {
  readonly key: number;
  readonly ticket: string;
  readonly n: number;
  readonly row: SourceRow;
  readonly marks: string;
};

/** Indexes one large message. False when there is none that this process may work on now. */
export async function indexOneLarge(connection: Connection): Promise<boolean> {
  const now = Date.now() / 1000;
  const isFree = await connection.read(() => connection.get(NEXT_FREE, { now }) !== undefined);
  if (!isFree) return false;
  const claim = await connection.write(() => claimOne(connection, featuresOf(connection).messages, now));
  if (claim === undefined) return true;
  const text = await largeText(claim.row, claim.marks);
  await indexInThread(connection, { ...claim, text });
  return true;
}

/** Inside a write transaction. */
function claimOne(connection: Connection, columns: ReadonlySet<string>, now: number): Claim | undefined {
  const key = connection.get<{ key: number }>(NEXT_FREE, { now })?.key;
  if (key === undefined) return undefined;
  const row = connection.get<SourceRow>(rowSql(columns), { key, large: Number.MAX_SAFE_INTEGER });
  if (row?.session_id == null) {
    connection.run(`DELETE FROM ${LARGE} WHERE key = CAST(:key AS INT)`, { key });
    return undefined;
  }
  const ticket = randomUUID();
  connection.run(CLAIM, { key, ticket, until: now + TAKE_OVER_SECONDS });
  const numbers = numbersIn(connection);
  const n = numbers.session(row.session_id);
  return { key, ticket, n, row, marks: markTokens(numbers.marks(row, n)).join(" ") };
}

/** The same text as `documentText`, yielding to the event loop between slices. */
async function largeText(row: IndexRow, marks: string): Promise<string> {
  const { said, did } = textsOf(row);
  const parts = [marks];
  for (const text of [said, did]) {
    for (const slice of slices(text)) {
      parts.push(indexText(slice));
      await nextTurn();
    }
  }
  return parts.filter((part) => part !== "").join(" ");
}

/** Cuts at white space or punctuation, so that words stay whole; a text without any is cut between two characters. */
function* slices(text: string): Generator<string> {
  const space = /[\s\p{P}]/gu;
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + SLICE_CHARS);
    if (end < text.length) {
      space.lastIndex = end;
      const found = space.exec(text.slice(0, end + SLICE_CHARS))?.index;
      end = found ?? (isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end);
    }
    yield text.slice(start, end);
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

// Source text, so that the published bundle needs no second file.
const CODE = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const { address, timeout, key, ticket, n, column, text } = workerData;
const db = new DatabaseSync(address, { timeout });
try {
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA wal_autocheckpoint = 0");
  db.exec("BEGIN IMMEDIATE");
  const isOurs = db.prepare("SELECT 1 FROM ${LARGE} WHERE key = CAST(? AS INT) AND ticket = ?").get(key, ticket);
  if (isOurs !== undefined) {
    if (db.prepare("SELECT 1 FROM ${DOC} WHERE key = CAST(? AS INT)").get(key) !== undefined) {
      db.prepare("DELETE FROM ${FTS} WHERE rowid = CAST(? AS INT)").run(key);
      db.prepare("DELETE FROM ${DOC} WHERE key = CAST(? AS INT)").run(key);
    }
    db.prepare("INSERT INTO ${FTS}(rowid, " + column + ") VALUES (CAST(? AS INT), ?)").run(key, text);
    db.prepare("INSERT INTO ${DOC}(key, n) VALUES (CAST(? AS INT), ?)").run(key, n);
    db.prepare("DELETE FROM ${LARGE} WHERE key = CAST(? AS INT)").run(key);
  }
  db.exec("COMMIT");
  parentPort.postMessage({});
} catch (error) {
  if (db.isTransaction) db.exec("ROLLBACK");
  parentPort.postMessage({ error: { message: error.message, errcode: error.errcode } });
}
db.close();
`;

type Prepared = Pick<Claim, "key" | "ticket" | "n" | "row"> & { readonly text: string };
type Answer = { readonly error?: { readonly message: string; readonly errcode?: number } };

async function indexInThread(connection: Connection, prepared: Prepared): Promise<void> {
  if (connection.isInMemory) return connection.write(() => indexHere(connection, prepared));
  const { row, ...rest } = prepared;
  const { address, waitLimitMs: timeout } = connection;
  const n = row.is_hidden === 1 ? -prepared.n : prepared.n;
  const workerData = { ...rest, address, timeout, column: columnOf(row), n };
  // Without this process's flags: one of them might make the code above an ES module.
  const worker = new Worker(CODE, { eval: true, execArgv: ["--no-warnings"], workerData });
  const answer = await new Promise<Answer>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("The thread that indexes a long message ended early.")));
  });
  if (answer.error)
    throw toSessionError(Object.assign(new Error(answer.error.message), answer.error), connection.path);
}

/** The same for a database in memory, which no other thread can open. Inside a write transaction. */
function indexHere(connection: Connection, { key, ticket, n, row, text }: Prepared): void {
  const find = `SELECT 1 FROM ${LARGE} WHERE key = CAST(:key AS INT) AND ticket = :ticket`;
  if (connection.get(find, { key, ticket }) === undefined) return;
  removeDocument(connection, key);
  putDocument(connection, row, n, text);
  connection.run(`DELETE FROM ${LARGE} WHERE key = CAST(:key AS INT)`, { key });
}
