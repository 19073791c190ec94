// The search index in the shared file: its tables and triggers, creating and checking them, and removing the layout of 0.1.0 and
// 0.2.0. The triggers run in the SQLite of other programs (3.40 and later): they only insert keys into a queue, mention no FTS
// table, and have no conflict clause, because an outer `INSERT OR ...` would override it.
import type { DatabaseSync } from "node:sqlite";
import { holdFileLock } from "../../../lib/index.ts";
import { USER_PLATFORM } from "../../identity.ts";
import { COLUMNS, DOCUMENT_VERSION } from "../../search/document.ts";
import { LAST_DAY, LAST_ID } from "../../search/reads.ts";
import { schemaCookie } from "../connection.ts";
import { isOpenElsewhere } from "../database-file.ts";
import {
  columnsOf,
  isAsDeclared,
  readSchema,
  SCHEMA_VERSION,
  type Schema,
  type SchemaObject,
  table,
  trigger,
  versionOf,
} from "../schema.ts";

export const FTS = "hermes_memory_fts";
export const DOC = "hermes_memory_doc";
export const SESSION_NUMBERS = "hermes_memory_no";
export const WORD_NUMBERS = "hermes_memory_word";
export const QUEUE = "hermes_memory_queue";
export const LARGE = "hermes_memory_large";
export const STATE = "hermes_memory_state";

/** Raise this when the tables below or the meaning of their rows change. Every index is then rebuilt. */
const LAYOUT_VERSION = 2;

/** SQL: the day of a row, as used in its key. A time that is not a number counts as day 0. */
function dayOfRow(row: string): string {
  return `CAST(MIN(${LAST_DAY}, MAX(0, COALESCE(${row}.timestamp / 86400, 0))) AS INTEGER)`;
}

/** SQL: the key of a row. */
export function keyOfRow(row: string): string {
  return `((${dayOfRow(row)} << 32) | ${row}.id)`;
}

/** SQL: whether the row has a key. A message with any other id, which no program gives, is not searched, and counted as such. */
export function hasKey(row: string): string {
  return `${row}.id BETWEEN 1 AND ${LAST_ID}`;
}

export const TABLES: readonly SchemaObject[] = [
  {
    type: "table",
    name: FTS,
    sql: `CREATE VIRTUAL TABLE ${FTS} USING fts5(${COLUMNS.join(", ")}, content='', contentless_delete=1, tokenize='ascii')`,
  },
  // The indexed messages, and the session number of each; negative if searches leave the message out.
  table(DOC, "key INTEGER PRIMARY KEY, n INTEGER NOT NULL"),
  { type: "index", name: `${DOC}_n`, sql: `CREATE INDEX ${DOC}_n ON ${DOC}(n)` },
  table(SESSION_NUMBERS, "n INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE"),
  // Sources, roles, user ids and persons (`personWord`).
  table(WORD_NUMBERS, "n INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE"),
  // Keys of messages that were added, changed or deleted since they were indexed.
  table(QUEUE, "key INTEGER PRIMARY KEY"),
  // Messages too long for the event loop, which a worker thread indexes. `ticket` says which attempt may finish, `until` when
  // another process may take over (seconds since 1970).
  table(LARGE, "key INTEGER PRIMARY KEY, ticket TEXT NOT NULL, until REAL NOT NULL"),
  // One row. `version`: the version of the documents. `todo`: messages up to this id still have to be indexed; the build runs
  // from the newest down. `checked`: the schema cookie of the file when index and messages were last compared.
  table(STATE, "version TEXT NOT NULL, todo INTEGER NOT NULL, checked INTEGER"),
];

/** Columns of `messages` that a document or its key depends on; those after `active` are not in every file. */
const WATCHED =
  "id session_id role content tool_name tool_calls timestamp active compacted display_kind".split(" ");

const hasPlatform = (row: string) => `instr(COALESCE(${row}.model_config, ''), '"${USER_PLATFORM}"') > 0`;
/** The columns that filter tokens depend on: source, user and the user's platform (`userPlatform`). */
const IS_OTHER_SESSION = [
  "old.source IS NOT new.source",
  "old.user_id IS NOT new.user_id",
  "(old.parent_session_id IS NOT new.parent_session_id AND new.source IS 'subagent')",
  `(old.model_config IS NOT new.model_config AND (${hasPlatform("old")} OR ${hasPlatform("new")}))`,
].join(" OR ");
/** Subagent runs stored by version 0.1.0 have the platform of their parent session. */
const OF_SESSION =
  "SELECT new.id UNION ALL SELECT c.id FROM sessions c WHERE c.parent_session_id = new.id AND c.source = 'subagent'";

function triggersFor(db: DatabaseSync): readonly SchemaObject[] {
  const columns = columnsOf(db, "messages");
  const watched = WATCHED.filter((name) => columns.has(name)).join(", ");
  return [
    trigger("hermes_memory_queue_insert", "AFTER INSERT ON messages", queueRow("new")),
    trigger("hermes_memory_queue_delete", "AFTER DELETE ON messages", queueRow("old")),
    trigger(
      "hermes_memory_queue_update",
      `AFTER UPDATE OF ${watched} ON messages`,
      `${queueRow("old")} ${queueRow("new")}`,
    ),
    trigger(
      "hermes_memory_queue_session",
      `AFTER UPDATE OF source, user_id, parent_session_id, model_config ON sessions WHEN ${IS_OTHER_SESSION}`,
      `INSERT INTO ${QUEUE}(key) SELECT ${keyOfRow("m")} FROM messages m WHERE m.session_id IN (${OF_SESSION}) AND ${hasKey("m")} AND NOT EXISTS (SELECT 1 FROM ${QUEUE} WHERE key = ${keyOfRow("m")});`,
    ),
  ];
}

function queueRow(row: "old" | "new"): string {
  const key = keyOfRow(row);
  return `INSERT INTO ${QUEUE}(key) SELECT ${key} WHERE ${hasKey(row)} AND NOT EXISTS (SELECT 1 FROM ${QUEUE} WHERE key = ${key});`;
}

// ---- Creating and checking the index ----

const VERSION = `${LAYOUT_VERSION}.${DOCUMENT_VERSION}`;

/** True when `ensureIndex` would change nothing. Takes no lock. */
export function isIndexCurrent(db: DatabaseSync): boolean {
  const found = readSchema(db);
  return isUsable(db, found) && triggersFor(db).every((object) => isAsDeclared(found, object));
}

/** True when the tables contain documents of this version; the triggers may be missing. For read-only handles. */
export function isUsable(db: DatabaseSync, found = readSchema(db)): boolean {
  return TABLES.every((object) => isAsDeclared(found, object)) && stateOf(db)?.version === VERSION;
}

/** Inside a write transaction. The documents are created later, step by step: `indexing.ts`. */
export function ensureIndex(db: DatabaseSync): void {
  const found = readSchema(db);
  const hasTables = TABLES.every((object) => isAsDeclared(found, object));
  if (!hasTables) {
    dropTables(db, found);
    for (const { sql } of TABLES) db.exec(sql);
  }
  const missing = triggersFor(db).filter((object) => !isAsDeclared(found, object));
  for (const { name, sql } of missing) {
    db.exec(`DROP TRIGGER IF EXISTS ${name}`);
    db.exec(sql);
  }
  // Without the triggers, or with those for fewer columns, changes were missed.
  if (!hasTables || stateOf(db)?.version !== VERSION || missing.length > 0) beginBuild(db);
}

/** Inside a write transaction: everything has to be indexed again. */
function beginBuild(db: DatabaseSync): void {
  db.exec(`INSERT INTO ${FTS}(${FTS}) VALUES('delete-all')`);
  for (const name of [DOC, QUEUE, LARGE, STATE]) db.exec(`DELETE FROM ${name}`);
  db.exec(
    `INSERT INTO ${STATE}(version, todo, checked)
     SELECT '${VERSION}', COALESCE((SELECT MAX(id) FROM messages WHERE id BETWEEN 1 AND ${LAST_ID}), 0), NULL`,
  );
}

/**
 * Inside a write transaction, when nothing is queued and nothing is left to build. A program that changed the schema may have
 * removed the triggers for a while (Hermes Agent's repair does); the schema cookie shows whether the schema changed. False when
 * the index did not match and will be rebuilt.
 */
export function checkAgainstMessages(db: DatabaseSync): boolean {
  const cookie = schemaCookie(db);
  if (stateOf(db)?.checked === cookie) return true;
  const messages = db
    .prepare(`SELECT COUNT(*) AS n, SUM(id) % 1000000007 AS t FROM messages m WHERE +${hasKey("m")}`)
    .get();
  const documents = db
    .prepare(`SELECT COUNT(*) AS n, SUM(key & 4294967295) % 1000000007 AS t FROM ${DOC}`)
    .get();
  if (messages?.n !== documents?.n || messages?.t !== documents?.t) {
    beginBuild(db);
    return false;
  }
  db.exec(`UPDATE ${STATE} SET checked = ${cookie}`);
  return true;
}

type IndexState = { readonly version: string; readonly todo: number; readonly checked: number | null };

export function stateOf(db: DatabaseSync): IndexState | undefined {
  return db.prepare(`SELECT version, todo, checked FROM main.${STATE}`).get() as IndexState | undefined;
}

function dropTables(db: DatabaseSync, found: Schema): void {
  for (const { type, name } of TABLES) if (type === "table" && found.has(name)) db.exec(`DROP TABLE ${name}`);
}

// ---- The layout of versions 0.1.0 and 0.2.0 ----
// They used Hermes Agent's names: two FTS tables over views of ours, six triggers, a table of texts, and what an interrupted `optimize` left.

/** Every object of that layout is one of these or mentions one. */
const FORMER = /\bhermes_memory_(?:text|words|trigrams|build|new_words|new_trigrams)\b/;

export function hasFormerLayout(db: DatabaseSync): boolean {
  return [...readSchema(db).values()].some((sql) => FORMER.test(sql));
}

/**
 * Inside a write transaction. Does nothing in a file of schema 17 or later that another process has open, because a running Hermes Agent
 * searches with that index, or while another program rebuilds its index. Hermes Agent makes its own tables again when it opens the file.
 */
export function dropFormerLayout(db: DatabaseSync, path: string): void {
  if (versionOf(db) > SCHEMA_VERSION && isOpenElsewhere(path)) return;
  const lock = holdFileLock(`${path}.fts_rebuild.lock`);
  if (!lock.ok) return;
  using _held = lock.value;
  const objects = db.prepare("SELECT type, name, sql FROM main.sqlite_master").all();
  const former = objects.filter(({ sql }) => FORMER.test(String(sql)));
  const names = new Set(former.map(({ name }) => name));
  // Hermes Agent may have put its own triggers on our tables.
  for (const { type, name } of objects)
    if (type === "trigger" && names.has(String(name).replace(/_(?:insert|delete|update)$/, "")))
      db.exec(`DROP TRIGGER ${name}`);
  for (const kind of ["trigger", "table", "view"])
    for (const { type, name } of former) if (type === kind) db.exec(`DROP ${kind} IF EXISTS ${name}`);
}
