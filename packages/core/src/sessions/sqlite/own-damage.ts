// Damage in tables of ours that hold nothing of their own: the search index, and the order of activity. They are made anew
// where they are, without a copy of the file, as soon as an error leads here.
import type { DatabaseSync } from "node:sqlite";
import { describeCause } from "../../lib/index.ts";
import { openForSurgery, schemaCookie } from "./database-file.ts";
import { ensureActivity } from "./ensure-schema.ts";
import { isBusy, sqliteCause } from "./failures.ts";
import { ensureIndex, FTS, TABLES } from "./index/tables.ts";

/** What is made anew together. */
type Group = {
  readonly tables: ReadonlySet<string>;
  readonly triggers: RegExp;
  readonly make: (db: DatabaseSync) => void;
};

/** What FTS5 keeps beside the virtual table. */
const SHADOWS = ["data", "idx", "docsize", "config"].map((part) => `${FTS}_${part}`);

const INDEX: Group = {
  tables: new Set([...TABLES.map(({ name }) => name), ...SHADOWS]),
  triggers: /^hermes_memory_queue_/,
  make: ensureIndex,
};

const ACTIVITY: Group = {
  tables: new Set(["hermes_memory_activity"]),
  triggers: /^hermes_memory_(?:session|message)_(?:insert|update|delete)$/,
  make: ensureActivity,
};

const GROUPS = [INDEX, ACTIVITY];

export type MendOptions = {
  /** The error that led here. What it names is made anew even if its pages are sound. */
  readonly cause?: unknown;
  /** The search index contradicts itself, wherever that shows. */
  readonly isIndexWrong?: boolean;
};

/**
 * Looks at our own tables, and makes anew those that are damaged; the index is filled by the next `SearchIndex` that works.
 * False when nothing was to be done or nothing could be done here. Throws when another connection keeps the file busy.
 *
 * Pages of a damaged table are not freed: they may lead to pages of other tables. They stay in the file, unused, until
 * `hermes sessions repair` gives them back.
 */
export function mendOwnTables(file: string, { cause, isIndexWrong = false }: MendOptions = {}): boolean {
  try {
    using db = openForSurgery(file);
    // Before the transaction: SQLite lets nothing be written any more in one in which a page was found damaged.
    const cookie = schemaCookie(db);
    const rows = schemaRows(db);
    const unsound = new Set(tablesIn(rows).filter((name) => !isSound(db, name, rows)));
    const isNamed = (group: Group) =>
      namesIn(cause).some((name) => rows.some((row) => row.name === name && belongsTo(group, row)));
    const wrong = GROUPS.filter(
      (group) =>
        (group === INDEX && isIndexWrong) ||
        isNamed(group) ||
        rows.some((row) => belongsTo(group, row) && unsound.has(row.table)),
    );
    if (wrong.length === 0) return false;
    db.exec("BEGIN IMMEDIATE");
    try {
      const isAsSeen = schemaCookie(db) === cookie; // or another process has mended it meanwhile
      if (isAsSeen) {
        const objects = rows.filter((row) => wrong.some((group) => belongsTo(group, row)));
        removeObjects(db, objects, unsound);
        for (const { make } of wrong) make(db);
      }
      db.exec("COMMIT");
      return isAsSeen;
    } catch (failure) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw failure;
    }
  } catch (failure) {
    if (isBusy(failure)) throw failure;
    return false; // more is broken than our tables: that is for `repairDatabase`
  }
}

type SchemaRow = { readonly type: string; readonly name: string; readonly table: string };

function schemaRows(db: DatabaseSync): SchemaRow[] {
  const rows = db.prepare("SELECT type, name, tbl_name FROM sqlite_master").all();
  return rows.map((row) => ({
    type: String(row.type),
    name: String(row.name),
    table: String(row.tbl_name),
  }));
}

function belongsTo({ tables, triggers }: Group, { type, name, table }: SchemaRow): boolean {
  return type === "trigger" ? triggers.test(name) : tables.has(table);
}

/** Those with pages of their own. */
function tablesIn(rows: readonly SchemaRow[]): string[] {
  const names = rows
    .filter(
      (row) => row.type === "table" && row.name !== FTS && GROUPS.some((group) => belongsTo(group, row)),
    )
    .map(({ name }) => name);
  return [...new Set(names)];
}

function isSound(db: DatabaseSync, table: string, rows: readonly SchemaRow[]): boolean {
  if (rows.filter(({ type, name }) => type === "table" && name === table).length !== 1) return false;
  try {
    const found = db.prepare(`PRAGMA integrity_check('${table}')`).all();
    return found.length === 1 && found[0]?.integrity_check === "ok";
  } catch {
    return false;
  }
}

/** The virtual table goes by its schema row: dropping it would need FTS5 to open it. */
function removeObjects(db: DatabaseSync, objects: readonly SchemaRow[], unsound: ReadonlySet<string>): void {
  const remove = db.prepare("DELETE FROM sqlite_master WHERE name = ?");
  for (const { type, name, table } of objects)
    if (type === "trigger" || name === FTS || unsound.has(table)) remove.run(name);
  db.exec("PRAGMA writable_schema = RESET");
  for (const { type, name, table } of objects)
    if (type === "table" && name !== FTS && !unsound.has(table)) db.exec(`DROP TABLE ${name}`);
}

function namesIn(cause: unknown): string[] {
  return describeCause(sqliteCause(cause)).match(/hermes_memory_\w+/g) ?? [];
}
