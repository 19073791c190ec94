// Brings a writable file up to date. Up to schema 16: tables, columns and data of older versions. In every file: our own tables
// and the search index. All in one transaction, and without any lock when nothing has to be done.
import type { DatabaseSync } from "node:sqlite";
import { mark, titleOf } from "./connection.ts";
import { ensureIndex, isIndexCurrent } from "./index/tables.ts";
import { isBranch, isContinuation } from "./lineage-sql.ts";
import {
  activityObjects,
  type Column,
  CREATE_TITLE_INDEX,
  columnsOf,
  fillActivity,
  HAS_ACTIVITY,
  INDEXES,
  isAsDeclared,
  MESSAGE_COLUMNS,
  ORIGINS,
  OWN_TABLES,
  readSchema,
  SCHEMA_VERSION,
  type Schema,
  type SchemaObject,
  SESSION_COLUMNS,
  TABLES,
  TITLE_INDEX,
  versionOf,
} from "./schema.ts";

/** Before this version Hermes Agent's index lacks the tool columns. Its own upgrade drops the index, and so does ours. */
const FIRST_VERSION_WITH_TOOL_INDEX = 11;

export const UPSTREAM_INDEXES = ["messages_fts", "messages_fts_trigram"] as const;

export const UPSTREAM_TRIGGERS = UPSTREAM_INDEXES.flatMap((name) =>
  ["insert", "delete", "update"].map((event) => `${name}_${event}`),
);

/** True when `ensureSchema` would change nothing. Takes no lock. */
export function isCurrent(db: DatabaseSync): boolean {
  const found = readSchema(db);
  return (
    isTheirPartCurrent(db, found) &&
    [...activityObjects(hasActivity(db)), ...ORIGINS, ...ownObjects(db, found)].every((object) =>
      isAsDeclared(found, object),
    ) &&
    isIndexCurrent(db)
  );
}

function isTheirPartCurrent(db: DatabaseSync, found: Schema): boolean {
  const version = versionOf(db);
  if (version > SCHEMA_VERSION) return true; // a newer program maintains its own tables
  const expected = [...Object.keys(TABLES), ...Object.keys(INDEXES), TITLE_INDEX];
  return (
    version === SCHEMA_VERSION &&
    expected.every((name) => found.has(name)) &&
    missingColumns(db, "sessions", SESSION_COLUMNS).length === 0 &&
    missingColumns(db, "messages", MESSAGE_COLUMNS).length === 0
  );
}

/** Inside a write transaction. Returns warnings for the user. */
export function ensureSchema(db: DatabaseSync, hasFts5 = true): string[] {
  const warnings: string[] = [];
  const version = versionOf(db);
  if (version <= SCHEMA_VERSION) {
    for (const sql of Object.values(TABLES)) db.exec(sql);
    addColumns(db, "sessions", SESSION_COLUMNS);
    addColumns(db, "messages", MESSAGE_COLUMNS);
    for (const [name, on] of Object.entries(INDEXES)) db.exec(`CREATE INDEX IF NOT EXISTS ${name} ON ${on}`);
    // Before any row changes: Hermes Agent's triggers index a row again at every change.
    if (version < FIRST_VERSION_WITH_TOOL_INDEX || !hasFts5)
      for (const name of UPSTREAM_TRIGGERS) db.exec(`DROP TRIGGER IF EXISTS ${name}`);
    if (version < FIRST_VERSION_WITH_TOOL_INDEX && hasFts5)
      for (const name of UPSTREAM_INDEXES) db.exec(`DROP TABLE IF EXISTS ${name}`);
    if (version < SCHEMA_VERSION) upgradeData(db, version);
    warnings.push(...ensureTitleIndex(db));
  }
  ensureActivity(db);
  ensureObjects(db, ORIGINS);
  ensureObjects(db, ownObjects(db, readSchema(db)));
  if (hasFts5) ensureIndex(db);
  else
    warnings.push("This SQLite has no FTS5: conversations are stored, but cannot be searched until it has.");
  return warnings;
}

export function hasFts5(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").get() !== undefined;
}

function missingColumns(db: DatabaseSync, name: string, columns: readonly Column[]): Column[] {
  const present = columnsOf(db, name);
  return columns.filter((column) => !present.has(column.name));
}

function addColumns(db: DatabaseSync, name: string, columns: readonly Column[]): void {
  for (const column of missingColumns(db, name, columns)) {
    db.exec(`ALTER TABLE ${name} ADD COLUMN ${column.name} ${column.declaration}`);
  }
}

/** A newer version number stays; it belongs to a newer Hermes Agent. */
function upgradeData(db: DatabaseSync, version: number): void {
  for (const step of UPGRADE_STEPS) if (version < step.version) step.run(db);
  db.exec("DELETE FROM schema_version");
  db.exec(`INSERT INTO schema_version(version) VALUES (${SCHEMA_VERSION})`);
}

/** Old files may contain a title twice. The oldest session keeps it. */
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

/** Inside a write transaction. */
export function ensureActivity(db: DatabaseSync): void {
  const found = readSchema(db);
  const objects = activityObjects(hasActivity(db));
  if (objects.every((object) => isAsDeclared(found, object))) return;
  // Without all of its triggers the table may have missed changes.
  replaceObjects(db, objects);
  db.exec(fillActivity(hasActivity(db)));
}

function hasActivity(db: DatabaseSync): boolean {
  return db.prepare(HAS_ACTIVITY).get() !== undefined;
}

function ensureObjects(db: DatabaseSync, objects: readonly SchemaObject[]): void {
  const found = readSchema(db);
  for (const object of objects) {
    if (isAsDeclared(found, object)) continue;
    // A table keeps its rows, even if another program declared it; all other objects can be created again.
    if (object.type === "table" && found.has(object.name)) continue;
    db.exec(`DROP ${object.type.toUpperCase()} IF EXISTS ${object.name}`);
    db.exec(object.sql);
  }
}

/** Skips objects of a table whose name another program uses: that table stays, and ours does not exist in this file. */
function ownObjects(db: DatabaseSync, found: Schema): readonly SchemaObject[] {
  return OWN_TABLES.flatMap(({ name, columns, objects }) => {
    const sql = found.get(name);
    const isOurs = sql?.startsWith("CREATE TABLE") && missingColumns(db, name, columns).length === 0;
    return sql === undefined || isOurs ? objects : [];
  });
}

function replaceObjects(db: DatabaseSync, objects: readonly SchemaObject[]): void {
  for (const { type, name } of objects.toReversed()) db.exec(`DROP ${type.toUpperCase()} IF EXISTS ${name}`);
  for (const { sql } of objects) db.exec(sql);
}

// ---- Data changes between schema versions ----
// Oldest first, append only. Missing columns and tables are not listed here; they are added on every open.

type UpgradeStep = {
  /** Applies to files below this version. */
  readonly version: number;
  readonly name: string;
  run(db: DatabaseSync): void;
};

const UPGRADE_STEPS: readonly UpgradeStep[] = [
  {
    version: 12,
    name: "rows without an active flag are active",
    run: (db) => db.exec("UPDATE messages SET active = 1 WHERE active IS NULL"),
  },
  {
    version: 16,
    name: "children that are neither branch nor continuation are delegates",
    run: (db) => db.exec(TAG_DELEGATES),
  },
];

// The other half of Hermes Agent's version 16, HIDE_ORPHANS below, also hides ordinary short conversations that used a tool. It
// runs only on request, by `hermes sessions repair --hide-orphans`.
const TAG_DELEGATES = `
  UPDATE sessions
  SET model_config = json_set(COALESCE(model_config, '{}'), '$._delegate_from', parent_session_id)
  WHERE parent_session_id IS NOT NULL
    AND (model_config IS NULL OR json_valid(model_config))
    AND ${mark("sessions", "_delegate_from")} IS NULL
    AND EXISTS (
      SELECT 1 FROM sessions p WHERE p.id = sessions.parent_session_id
        AND NOT ${isBranch("sessions", "p")} AND NOT ${isContinuation("sessions", "p")}
    )
`;

export const HIDE_ORPHANS = `
  UPDATE sessions
  SET model_config = json_set(COALESCE(model_config, '{}'), '$._delegate_from', '__orphaned__')
  WHERE parent_session_id IS NULL
    AND ${titleOf("sessions")} IS NULL
    AND (model_config IS NULL OR json_valid(model_config))
    AND ${mark("sessions", "_delegate_from")} IS NULL
    AND ${mark("sessions", "_branched_from")} IS NULL
    AND ${mark("sessions", "_compressed_from")} IS NULL
    AND message_count <= 25
    AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = sessions.id AND m.role = 'tool')
    AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = sessions.id)
`;
