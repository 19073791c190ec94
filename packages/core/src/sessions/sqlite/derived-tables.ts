// Rebuilds our derived tables (the search index and the activity order) in place when an error shows that they are damaged. No
// copy of the file is needed, because they contain nothing that the messages do not.
import type { DatabaseSync } from "node:sqlite";
import { describeCause } from "../../lib/index.ts";
import { schemaCookie } from "./connection.ts";
import { openForRepair } from "./database-file.ts";
import { ensureActivity } from "./ensure-schema.ts";
import { isBusy, sqliteCause } from "./failures.ts";
import { ensureIndex, FTS, TABLES } from "./index/tables.ts";

/** With FTS5's tables behind the virtual table. */
const DERIVED: ReadonlySet<string> = new Set([
  ...TABLES.map(({ name }) => name),
  ...["data", "idx", "docsize", "config"].map((part) => `${FTS}_${part}`),
  "hermes_memory_activity",
]);
const TRIGGERS = /^hermes_memory_(?:queue_\w+|(?:session|message)_(?:insert|update|delete))$/;

export type RebuildOptions = {
  /** The error that led here. If it names one of the tables, they are rebuilt even if their pages are sound. */
  readonly cause?: unknown;
  /** The search index is known to be inconsistent. */
  readonly isIndexWrong?: boolean;
};

/**
 * Checks our derived tables and rebuilds them all if one is damaged; the next `SearchIndex` step fills the index. False when nothing had to
 * be done or nothing could be done here. Throws when another connection keeps the file busy.
 * Pages of a damaged table are not freed, because they may point to pages of other tables. They stay in the file, unused, until
 * `hermes sessions repair` frees them.
 */
export function rebuildDerivedTables(
  file: string,
  { cause, isIndexWrong = false }: RebuildOptions = {},
): boolean {
  try {
    using db = openForRepair(file);
    // Before the transaction: SQLite refuses all writes in a transaction that found a damaged page.
    const cookie = schemaCookie(db);
    const rows = schemaRows(db).filter(isDerived);
    const tables = new Set(
      rows.filter(({ type, name }) => type === "table" && name !== FTS).map(({ name }) => name),
    );
    const unsound = new Set([...tables].filter((name) => !isSound(db, name, rows)));
    const named = describeCause(sqliteCause(cause)).match(/hermes_memory_\w+/g) ?? [];
    if (!isIndexWrong && unsound.size === 0 && !named.some((name) => rows.some((row) => row.name === name)))
      return false;
    db.exec("BEGIN IMMEDIATE");
    try {
      const isAsSeen = schemaCookie(db) === cookie; // otherwise another process has rebuilt them meanwhile
      if (isAsSeen) {
        removeObjects(db, rows, unsound);
        ensureIndex(db);
        ensureActivity(db);
      }
      db.exec("COMMIT");
      return isAsSeen;
    } catch (failure) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw failure;
    }
  } catch (failure) {
    if (isBusy(failure)) throw failure;
    return false; // more is broken than our tables, which is the work of `repairDatabase`
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

function isDerived({ type, name, table }: SchemaRow): boolean {
  return type === "trigger" ? TRIGGERS.test(name) : DERIVED.has(table);
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

/** The virtual table is removed by its schema row: dropping it would need FTS5 to open it. */
function removeObjects(db: DatabaseSync, objects: readonly SchemaRow[], unsound: ReadonlySet<string>): void {
  const remove = db.prepare("DELETE FROM sqlite_master WHERE name = ?");
  for (const { type, name, table } of objects)
    if (type === "trigger" || name === FTS || unsound.has(table)) remove.run(name);
  db.exec("PRAGMA writable_schema = RESET");
  for (const { type, name, table } of objects)
    if (type === "table" && name !== FTS && !unsound.has(table)) db.exec(`DROP TABLE ${name}`);
}
