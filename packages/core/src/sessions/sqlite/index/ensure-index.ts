// Whether the search index of a file is there, complete and made by this version; and making it so.
import type { DatabaseSync } from "node:sqlite";
import { DOCUMENT_VERSION } from "../../search/document.ts";
import type { Connection } from "../connection.ts";
import type { SchemaObject } from "../schema.ts";
import {
  DOC,
  FTS,
  hasKey,
  keyOfRow,
  LARGE,
  LARGEST_ID,
  LAYOUT_VERSION,
  QUEUE,
  STATE,
  TABLES,
  triggers,
} from "./tables.ts";

const VERSION = `${LAYOUT_VERSION}.${DOCUMENT_VERSION}`;

/** Columns of `messages` that came after version 16 and matter to the index. */
const LATER_COLUMNS = ["compacted", "display_kind"];

/** True when `ensureIndex` would change nothing. Takes no lock. */
export function isIndexCurrent(db: DatabaseSync): boolean {
  const found = readSchema(db);
  return (
    TABLES.every((object) => isAsWanted(found, object)) &&
    triggers(columnsOf(db)).every((object) => isAsWanted(found, object)) &&
    stateOf(db)?.version === VERSION
  );
}

/** True when the tables hold documents of this version; the triggers may be missing. For handles that only read. */
export function isUsable(db: DatabaseSync): boolean {
  const found = readSchema(db);
  return TABLES.every((object) => isAsWanted(found, object)) && stateOf(db)?.version === VERSION;
}

/** Inside a write transaction. Documents themselves are made later, in pieces: `catch-up.ts`. */
export function ensureIndex(db: DatabaseSync): void {
  const found = readSchema(db);
  const columns = columnsOf(db);
  const wanted = triggers(columns);
  const hasTables = TABLES.every((object) => isAsWanted(found, object));
  if (!hasTables) {
    dropTables(db, found);
    for (const { sql } of TABLES) db.exec(sql);
    for (const sql of SETTINGS) db.exec(sql);
  }
  const missing = wanted.filter((object) => !isAsWanted(found, object));
  // A program that upgraded the file added columns: the triggers of before have missed only what changed in those.
  const missedOnlyNewColumns = missing.every(({ name }) =>
    olderTriggers(columns)
      .get(name)
      ?.has(found.get(name) ?? ""),
  );
  for (const { name, sql } of missing) {
    db.exec(`DROP TRIGGER IF EXISTS ${name}`);
    db.exec(sql);
  }
  if (!hasTables || stateOf(db)?.version !== VERSION || !missedOnlyNewColumns) beginBuild(db);
  else if (missing.length > 0) queueRowsWithLaterColumns(db, columns);
}

/** Inside a write transaction: everything is to be indexed again. */
function beginBuild(db: DatabaseSync): void {
  db.exec(`INSERT INTO ${FTS}(${FTS}) VALUES('delete-all')`);
  for (const name of [DOC, QUEUE, LARGE, STATE]) db.exec(`DELETE FROM ${name}`);
  db.exec(
    `INSERT INTO ${STATE}(version, todo, checked)
     SELECT '${VERSION}', COALESCE((SELECT MAX(id) FROM messages WHERE id BETWEEN 1 AND ${LARGEST_ID}), 0), NULL`,
  );
}

/**
 * Inside a write transaction, when nothing is queued and nothing left to build. Programs that changed the schema may have
 * removed the triggers for a while (upstream's repair does); the cookie of the schema says whether there was a change.
 * False when the index did not match, and is now to be built again.
 */
export function checkAgainstMessages(db: DatabaseSync): boolean {
  const cookie = cookieOf(db);
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

export function cookieOf(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA main.schema_version").get()?.schema_version);
}

/** Columns of `messages` as statements see them: in a read-only file of an older version a view may stand in for it. */
export function messageColumns(connection: Connection): ReadonlySet<string> {
  const rows = connection.all<{ name: string }>("SELECT name FROM pragma_table_info('messages')");
  return new Set(rows.map(({ name }) => name));
}

export type IndexState = { readonly version: string; readonly todo: number; readonly checked: number | null };

export function stateOf(db: DatabaseSync): IndexState | undefined {
  return db.prepare(`SELECT version, todo, checked FROM main.${STATE}`).get() as IndexState | undefined;
}

const SETTINGS: readonly string[] = [];

type Schema = ReadonlyMap<string, string>;

function readSchema(db: DatabaseSync): Schema {
  const rows = db.prepare("SELECT name, sql FROM main.sqlite_master WHERE name GLOB 'hermes_memory_*'").all();
  return new Map(rows.map(({ name, sql }) => [String(name), String(sql ?? "")]));
}

function isAsWanted(found: Schema, { name, sql }: SchemaObject): boolean {
  return found.get(name) === sql;
}

function columnsOf(db: DatabaseSync): ReadonlySet<string> {
  const rows = db.prepare("SELECT name FROM pragma_table_info('messages', 'main')").all();
  return new Set(rows.map(({ name }) => String(name)));
}

/** The texts that each trigger has in a file with fewer columns. */
function olderTriggers(columns: ReadonlySet<string>): ReadonlyMap<string, ReadonlySet<string>> {
  const texts = new Map<string, Set<string>>();
  for (const without of [[LATER_COLUMNS[0]], [LATER_COLUMNS[1]], LATER_COLUMNS]) {
    const fewer = new Set([...columns].filter((name) => !without.includes(name)));
    for (const { name, sql } of triggers(fewer)) texts.set(name, (texts.get(name) ?? new Set()).add(sql));
  }
  return texts;
}

function queueRowsWithLaterColumns(db: DatabaseSync, columns: ReadonlySet<string>): void {
  const changed = [
    ...(columns.has("compacted") ? ["m.compacted IS NOT 0"] : []),
    ...(columns.has("display_kind") ? ["m.display_kind IS NOT NULL"] : []),
  ].join(" OR ");
  db.exec(
    `INSERT INTO ${QUEUE}(key) SELECT ${keyOfRow("m")} FROM messages m
     WHERE (${changed}) AND ${hasKey("m")} AND ${keyOfRow("m")} NOT IN (SELECT key FROM ${QUEUE})`,
  );
}

function dropTables(db: DatabaseSync, found: Schema): void {
  for (const { name } of TABLES) if (found.has(name)) db.exec(`DROP TABLE ${name}`);
}
