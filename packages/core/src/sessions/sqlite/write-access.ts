// Whether this program may write to a file that another program may have made. Decided by the contents of the file, not by its
// version number, because Hermes Agent changes its schema weekly. Also what to do when another program's index makes a write
// fail.
import type { DatabaseSync } from "node:sqlite";
import { describeCause, randomHex } from "../../lib/index.ts";
import { sessionError } from "../errors.ts";
import type { Connection, Remedy } from "./connection.ts";
import { rebuildDerivedTables } from "./derived-tables.ts";
import { UPSTREAM_INDEXES, UPSTREAM_TRIGGERS } from "./ensure-schema.ts";
import { isBusy, isConstraintFailure, isCorrupt, isCorruptIndex } from "./failures.ts";
import {
  type Column,
  columnsOf,
  MESSAGE_COLUMNS,
  SCHEMA_VERSION,
  SESSION_COLUMNS,
  versionOf,
} from "./schema.ts";

type WriteAccess =
  /** `isEmpty`: the file has no tables yet. `needsTrial`: writing runs triggers of an unknown program. */
  | { readonly kind: "write"; readonly isEmpty: boolean; readonly needsTrial: boolean }
  | { readonly kind: "read-only"; readonly reason: string; readonly hint: string };

const UPDATE = "Update hermes-memory.";
const FINISH = "Let 'hermes sessions optimize-storage' of Hermes Agent finish, then open the file again.";

/** Takes no lock. */
export function checkWriteAccess(db: DatabaseSync): WriteAccess {
  const names = new Set(
    db
      .prepare("SELECT name FROM main.sqlite_master WHERE type = 'table'")
      .all()
      .map(({ name }) => String(name)),
  );
  if (names.size === 0) return { kind: "write", isEmpty: true, needsTrial: false };
  const obstacle = conversionUnderWay(db, names) ?? strangeColumns(db, names);
  if (obstacle !== undefined) return { kind: "read-only", ...obstacle };
  const needsTrial = triggersOn(db).some((name) => !isKnownTrigger(name));
  return { kind: "write", isEmpty: false, needsTrial };
}

type Obstacle = { readonly reason: string; readonly hint: string };

/** Signs that Hermes Agent is converting its index. `fts_rebuild_deferral` is not one: it says that nothing has started. */
const CONVERSION_KEYS = `
  SELECT key FROM main.state_meta
  WHERE (key GLOB 'fts_rebuild_*' OR key GLOB 'fts_projection_*') AND key <> 'fts_rebuild_deferral' LIMIT 1
`;

function conversionUnderWay(db: DatabaseSync, tables: ReadonlySet<string>): Obstacle | undefined {
  const table = [...tables].find(
    (name) => name.startsWith("fts_v22_trash_") || name === "fts_projection_dirty",
  );
  const key = tables.has("state_meta") ? db.prepare(CONVERSION_KEYS).get()?.key : undefined;
  const sign = table ?? key;
  if (sign === undefined) return undefined;
  return { reason: `another program is converting its search index (${String(sign)})`, hint: FINISH };
}

type FoundColumn = {
  readonly name: string;
  readonly required: number;
  readonly dflt_value: unknown;
  readonly pk: number;
};

function strangeColumns(db: DatabaseSync, tables: ReadonlySet<string>): Obstacle | undefined {
  const version = versionOf(db);
  const check = (table: string, columns: readonly Column[]): Obstacle | undefined => {
    if (!tables.has(table)) return undefined;
    const found = db
      .prepare(
        `SELECT name, "notnull" AS required, dflt_value, pk FROM pragma_table_info('${table}', 'main')`,
      )
      .all() as FoundColumn[];
    const missing = columns.find(({ name }) => !found.some((column) => column.name === name));
    if (missing && version > SCHEMA_VERSION)
      return { reason: `schema version ${version} has no ${table}.${missing.name}`, hint: UPDATE };
    const strange = found.find(
      ({ name, required, dflt_value }) =>
        required === 1 && dflt_value === null && !columns.some((column) => column.name === name),
    );
    if (!strange) return undefined;
    return { reason: `schema version ${version} requires a value in ${table}.${strange.name}`, hint: UPDATE };
  };
  return check("sessions", SESSION_COLUMNS) ?? check("messages", MESSAGE_COLUMNS);
}

function triggersOn(db: DatabaseSync): string[] {
  return db
    .prepare(
      "SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND lower(tbl_name) IN ('messages', 'sessions')",
    )
    .all()
    .map(({ name }) => String(name));
}

function isKnownTrigger(name: string): boolean {
  return (
    UPSTREAM_TRIGGERS.includes(name) ||
    CJK_TRIGGERS.includes(name) ||
    DISPLAY_TRIGGER.test(name) ||
    name.startsWith("hermes_memory_")
  );
}

const DISPLAY_TRIGGER = /^messages_display_[a-z_]+$/;
const CJK_TRIGGERS = ["insert", "delete", "update"].map((event) => `messages_fts_cjk_${event}`);

/**
 * Inserts, changes and deletes a session and a message, and rolls back. Returns the objection of another program's trigger, or
 * undefined. Throws when the file is busy.
 */
export function tryWriting(db: DatabaseSync): string | undefined {
  const id = `hermes-memory-trial-${randomHex(6)}`;
  const hasActive = columnsOf(db, "messages").has("active");
  db.exec("BEGIN IMMEDIATE");
  try {
    db.prepare("INSERT INTO sessions (id, source, started_at) VALUES (?, 'cli', 1)").run(id);
    const { lastInsertRowid } = db
      .prepare("INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'trial', 1)")
      .run(id);
    if (hasActive) db.prepare("UPDATE messages SET active = 0 WHERE id = ?").run(lastInsertRowid);
    const { changes } = db.prepare("DELETE FROM messages WHERE session_id = ?").run(id);
    db.prepare("DELETE FROM sessions WHERE id = ?").run(id);
    return changes === 1 ? undefined : "a message could not be found again";
  } catch (cause) {
    if (isBusy(cause)) throw cause;
    return describeCause(cause);
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** True when triggers use a tokenizer that only Hermes Agent has: no row can be stored while they exist. */
export function hasForeignTokenizer(db: DatabaseSync): boolean {
  return triggersOn(db).some((name) => CJK_TRIGGERS.includes(name));
}

/**
 * Inside a write transaction. Does what Hermes Agent does in a process without the tokenizer: first sets the mark that tells a
 * capable process that this index is outdated, then drops the triggers.
 */
export function disarmForeignTokenizer(db: DatabaseSync): void {
  db.exec(
    "INSERT INTO main.state_meta (key, value) VALUES ('fts_cjk_stale', '1') ON CONFLICT(key) DO UPDATE SET value = '1'",
  );
  for (const name of CJK_TRIGGERS) db.exec(`DROP TRIGGER IF EXISTS main.${name}`);
}

function isMissingTokenizer(cause: unknown): boolean {
  return /no such tokenizer/.test(describeCause(cause));
}

// ---- Writes that fail because of an index in the file ----
// Ours or another program's; what to do before the write is tried a second time.

/**
 * Undefined when the failure is unknown. Throws when nothing can be done.
 * Structured content starts with NUL. The trigram tokenizer of SQLite 3.40 stops there, this one does not: deleting or changing
 * such a row removes more tokens than were counted, and when the total falls below zero, as it does in small indexes, FTS5 calls
 * the index malformed. Up to schema 16 this program rebuilds the index in the same transaction. The index of a later Hermes Agent
 * must not be touched.
 */
export function remedyFor(connection: Connection, cause: unknown): Remedy | undefined {
  const { db, path } = connection;
  // A Hermes Agent process with the tokenizer has opened the file meanwhile and restored its triggers.
  if (isMissingTokenizer(cause)) return () => disarmForeignTokenizer(db);
  if (!isCorruptIndex(cause)) {
    if (!isCorrupt(cause) || connection.readOnlyBecause !== undefined) return undefined;
    // Our triggers write to our tables. The write is tried again even if another process has rebuilt them meanwhile.
    rebuildDerivedTables(path, { cause });
    return () => {};
  }
  if (versionOf(db) <= SCHEMA_VERSION) return () => rebuildOriginalIndexes(connection);
  throw sessionError(
    "session-db-unavailable",
    `Nothing was changed in ${path}: the search index that Hermes Agent keeps there was written by another version of SQLite, so these messages cannot be removed from it.`,
    {
      hint: "Delete them with Hermes Agent, or run its 'hermes sessions optimize-storage' first.",
      cause,
    },
  );
}

/** For work on our own index: rebuilds it when SQLite calls it malformed. */
export function indexRemedy({ path }: Connection, cause: unknown): Remedy | undefined {
  // These transactions write only to the index, so a failed constraint means that it contradicts itself.
  const isIndexWrong = isCorruptIndex(cause) || isConstraintFailure(cause);
  if (!isIndexWrong && !isCorrupt(cause)) return undefined;
  rebuildDerivedTables(path, { cause, isIndexWrong });
  return () => {};
}

function rebuildOriginalIndexes(connection: Connection): void {
  for (const name of UPSTREAM_INDEXES) {
    const found = connection.get("SELECT 1 FROM main.sqlite_master WHERE name = :name", { name });
    if (found !== undefined) connection.db.exec(`INSERT INTO ${name}(${name}) VALUES('rebuild')`);
  }
}
