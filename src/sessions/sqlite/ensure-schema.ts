// Brings a writable file to the schema this program works with: tables, columns, data of older versions, our side
// tables, the full-text index. Everything in one transaction, and no lock at all when nothing has to be done.
import type { DatabaseSync } from "node:sqlite";
import {
  BUILD,
  BUILD_OBJECTS,
  BUILD_TRIGGERS,
  COMPACT,
  FTS_TABLES,
  FTS_TRIGGERS,
  fillReferenceTable,
  fillSideText,
  NEW_TRIGRAMS,
  NEW_WORDS,
  REFERENCE_TABLES,
  REFERENCE_TRIGGERS,
  tuneMerging,
} from "./index-layout.ts";
import { fillWords } from "./index-words.ts";
import {
  type Column,
  CREATE_TITLE_INDEX,
  INDEXES,
  MESSAGE_COLUMNS,
  SCHEMA_VERSION,
  SESSION_COLUMNS,
  TABLES,
  TITLE_INDEX,
} from "./schema.ts";
import {
  activityObjects,
  fillActivity,
  HAS_ACTIVITY,
  ORIGINS,
  OWN_TABLES,
  type SchemaObject,
} from "./side-tables.ts";
import { messagesWithZeros, takeOverRows } from "./take-over.ts";
import { UPGRADE_STEPS } from "./upgrade.ts";

/** Below it the original's index lacks the tool columns; it is thrown away and made anew, in our shape. */
const FIRST_VERSION_WITH_TOOL_INDEX = 11;

export type IndexLayout = "compact" | "reference" | "missing";

/** True when `ensureSchema` would change nothing. Takes no lock. */
export function isCurrent(db: DatabaseSync): boolean {
  const found = readSchema(db);
  const expected = [...Object.keys(TABLES), ...Object.keys(INDEXES), TITLE_INDEX];
  return (
    expected.every((name) => found.has(name)) &&
    versionOf(db) >= SCHEMA_VERSION &&
    missingColumns(db, "sessions", SESSION_COLUMNS).length === 0 &&
    missingColumns(db, "messages", MESSAGE_COLUMNS).length === 0 &&
    [...activityObjects(hasActivity(db)), ...ORIGINS, ...ownObjects(db, found)].every((object) =>
      isAsWanted(found, object),
    ) &&
    indexIsCurrent(found)
  );
}

/** To be called inside a write transaction. Returns what a user should know. */
export function ensureSchema(db: DatabaseSync, hasFts5 = true): string[] {
  const warnings: string[] = [];
  for (const sql of Object.values(TABLES)) db.exec(sql);
  addColumns(db, "sessions", SESSION_COLUMNS);
  addColumns(db, "messages", MESSAGE_COLUMNS);
  for (const [name, on] of Object.entries(INDEXES)) db.exec(`CREATE INDEX IF NOT EXISTS ${name} ON ${on}`);

  const version = versionOf(db);
  // Before any row is touched: the original's triggers index a row again whatever changes in it.
  if (hasFts5) ensureIndex(db, version);
  else {
    const triggers = [...FTS_TRIGGERS, ...BUILD_TRIGGERS.map(({ name }) => name)];
    for (const name of triggers) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
    warnings.push("This SQLite has no FTS5: conversations are stored, but cannot be searched until it has.");
  }
  if (version < SCHEMA_VERSION) upgradeData(db, version);
  warnings.push(...ensureTitleIndex(db));
  ensureActivity(db);
  ensureObjects(db, ORIGINS);
  ensureObjects(db, ownObjects(db, readSchema(db)));
  return warnings;
}

export function indexLayout(db: DatabaseSync): IndexLayout {
  return layoutOf(readSchema(db));
}

export function isBeingConverted(db: DatabaseSync): boolean {
  return readSchema(db).has(BUILD);
}

/** Begins to build a compact index beside another one, or leaves the beginning that is there if it can be gone on with. */
export function ensureBuild(db: DatabaseSync): void {
  const found = readSchema(db);
  if (BUILD_OBJECTS.every((object) => isAsWanted(found, object))) return;
  replaceObjects(db, BUILD_OBJECTS);
  for (const name of [NEW_WORDS, NEW_TRIGRAMS]) db.exec(tuneMerging(name));
  db.exec(`INSERT INTO ${BUILD}(built) SELECT COALESCE(MIN(id), 1) - 1 FROM messages`);
}

export function hasFts5(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;
}

/** 0 for a file without tables. */
export function versionOf(db: DatabaseSync): number {
  if (!readSchema(db).has("schema_version")) return 0;
  const row = db.prepare("SELECT MAX(version) AS version FROM schema_version").get();
  return typeof row?.version === "number" ? row.version : 0;
}

/** Empties the compact index and fills it again from the messages. */
export function rebuildCompact(db: DatabaseSync): void {
  db.exec("DELETE FROM hermes_memory_text");
  db.exec(fillSideText("1"));
  fillWords(db, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  for (const name of FTS_TABLES) db.exec(`INSERT INTO ${name}(${name}) VALUES('rebuild')`);
}

type Schema = ReadonlyMap<string, string>;

function readSchema(db: DatabaseSync): Schema {
  const rows = db.prepare("SELECT name, sql FROM main.sqlite_master").all();
  return new Map(rows.map(({ name, sql }) => [String(name), String(sql ?? "")]));
}

/** Renaming a virtual table puts its name in quotes. */
function isAsWanted(found: Schema, { name, sql }: SchemaObject): boolean {
  return found.get(name)?.replace(/^(CREATE VIRTUAL TABLE )["']([a-z_]+)["']/, "$1$2") === sql;
}

function layoutOf(found: Schema): IndexLayout {
  const tables = FTS_TABLES.map((name) => found.get(name));
  if (tables.every((sql) => sql?.includes("content='hermes_memory_"))) return "compact";
  if (tables.every((sql) => sql !== undefined && !/content\s*=/.test(sql))) return "reference";
  return "missing";
}

function indexIsCurrent(found: Schema): boolean {
  const layout = layoutOf(found);
  if (layout === "missing") return false;
  const wanted = layout === "compact" ? COMPACT : REFERENCE_TRIGGERS;
  return wanted.every((object) => isAsWanted(found, object));
}

function missingColumns(db: DatabaseSync, name: string, columns: readonly Column[]): Column[] {
  const present = new Set(
    db
      .prepare(`SELECT name FROM pragma_table_info('${name}')`)
      .all()
      .map((row) => row.name),
  );
  return columns.filter((column) => !present.has(column.name));
}

function addColumns(db: DatabaseSync, name: string, columns: readonly Column[]): void {
  for (const column of missingColumns(db, name, columns)) {
    db.exec(`ALTER TABLE ${name} ADD COLUMN ${column.name} ${column.declaration}`);
  }
}

/** A newer number stays: it belongs to a newer original. */
function upgradeData(db: DatabaseSync, version: number): void {
  for (const step of UPGRADE_STEPS) if (version < step.version) step.run(db);
  db.exec("DELETE FROM schema_version");
  db.exec(`INSERT INTO schema_version(version) VALUES (${SCHEMA_VERSION})`);
}

/** Old files may hold a title twice. The first to have it keeps it. */
function ensureTitleIndex(db: DatabaseSync): string[] {
  if (readSchema(db).has(TITLE_INDEX)) return [];
  const cleared = db
    .prepare(
      `UPDATE sessions SET title = NULL WHERE title IS NOT NULL AND EXISTS (
         SELECT 1 FROM sessions other WHERE other.title = sessions.title
           AND (other.started_at, other.id) < (sessions.started_at, sessions.id))`,
    )
    .run().changes;
  db.exec(CREATE_TITLE_INDEX);
  if (Number(cleared) === 0) return [];
  return [`${cleared} session(s) had a title that an older session has too; the newer ones lost it.`];
}

function ensureActivity(db: DatabaseSync): void {
  const found = readSchema(db);
  const objects = activityObjects(hasActivity(db));
  if (objects.every((object) => isAsWanted(found, object))) return;
  // Without all of its triggers it may have missed something.
  replaceObjects(db, objects);
  db.exec(fillActivity(hasActivity(db)));
}

function hasActivity(db: DatabaseSync): boolean {
  return db.prepare(HAS_ACTIVITY).get() !== undefined;
}

function ensureObjects(db: DatabaseSync, objects: readonly SchemaObject[]): void {
  const found = readSchema(db);
  for (const object of objects) {
    if (isAsWanted(found, object)) continue;
    // A table keeps its rows, whoever declared it; everything else can be made anew.
    if (object.type === "table" && found.has(object.name)) continue;
    db.exec(`DROP ${object.type.toUpperCase()} IF EXISTS ${object.name}`);
    db.exec(object.sql);
  }
}

/** Without those of a table whose name another program uses for something else: that stays as it is, and ours is not kept here. */
function ownObjects(db: DatabaseSync, found: Schema): readonly SchemaObject[] {
  return OWN_TABLES.flatMap(({ name, columns, objects }) => {
    const sql = found.get(name);
    const isOurs = sql?.startsWith("CREATE TABLE") && missingColumns(db, name, columns).length === 0;
    return sql === undefined || isOurs ? objects : [];
  });
}

function ensureIndex(db: DatabaseSync, version: number): void {
  const found = readSchema(db);
  if (version >= FIRST_VERSION_WITH_TOOL_INDEX && indexIsCurrent(found)) return;
  for (const name of FTS_TRIGGERS) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
  const layout = version < FIRST_VERSION_WITH_TOOL_INDEX ? "missing" : layoutOf(found);
  const missedNothing = FTS_TRIGGERS.every((name) => found.has(name));
  if (layout === "reference") takeOverReferenceIndex(db, missedNothing);
  else makeCompactIndex(db);
}

/** From nothing, or from an index whose triggers were others for a while, so that it may have missed something. */
function makeCompactIndex(db: DatabaseSync): void {
  dropObjects(db, BUILD_OBJECTS); // a conversion that was under way has nothing left to convert
  replaceObjects(db, COMPACT);
  for (const name of FTS_TABLES) db.exec(tuneMerging(name));
  rebuildCompact(db);
}

/**
 * Rows that the original's triggers indexed with zero bytes could not be deleted any more. Where they cannot be indexed
 * again one by one, or rows were missed because there were no triggers for a while, the table is filled anew: dropping
 * it needs no agreement about what is in it.
 */
function takeOverReferenceIndex(db: DatabaseSync, missedNothing: boolean): void {
  const ids = missedNothing ? messagesWithZeros(db) : [];
  for (const name of FTS_TABLES) {
    if (missedNothing && takeOverRows(db, name, ids)) continue;
    db.exec(`DROP TABLE ${name}`);
    db.exec(REFERENCE_TABLES[name]);
    db.exec(fillReferenceTable(name));
  }
  for (const { sql } of REFERENCE_TRIGGERS) db.exec(sql);
}

function replaceObjects(db: DatabaseSync, objects: readonly SchemaObject[]): void {
  dropObjects(db, objects);
  for (const { sql } of objects) db.exec(sql);
}

function dropObjects(db: DatabaseSync, objects: readonly SchemaObject[]): void {
  for (const { type, name } of [...objects].reverse())
    db.exec(`DROP ${type.toUpperCase()} IF EXISTS ${name}`);
}
