// What a read-only file of an older version, or one our program never wrote to, lacks: temporary views in its place.
import type { DatabaseSync } from "node:sqlite";
import { type Column, MESSAGE_COLUMNS, SESSION_COLUMNS } from "./schema.ts";
import { HAS_ACTIVITY, latestActivity, OWN_TABLES } from "./side-tables.ts";

const EMPTY: Readonly<Record<string, string>> = {
  state_meta: "SELECT NULL AS key, NULL AS value WHERE 0",
  compression_locks: "SELECT NULL AS session_id, NULL AS holder, 0 AS acquired_at, 0 AS expires_at WHERE 0",
  hermes_memory_origin: "SELECT 0 AS message_id, 0 AS origin_id WHERE 0",
  ...Object.fromEntries(
    OWN_TABLES.map(({ name, columns }) => [
      name,
      `SELECT ${columns.map((column) => `NULL AS ${column.name}`).join(", ")} WHERE 0`,
    ]),
  ),
};

/** Statements that make the file readable as if it were current. None for a file of ours. */
export function standIns(db: DatabaseSync): string[] {
  const tables = new Set(
    db
      .prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
      .all()
      .map((row) => String(row.name)),
  );
  const create = (name: string, select: string) => `CREATE TEMP VIEW ${name} AS ${select}`;
  const statements = [
    ...completed(db, tables, "sessions", SESSION_COLUMNS),
    ...completed(db, tables, "messages", MESSAGE_COLUMNS),
  ];
  for (const [name, select] of Object.entries(EMPTY)) {
    if (!tables.has(name)) statements.push(create(name, select));
  }
  if (!tables.has("hermes_memory_activity"))
    statements.push(create("hermes_memory_activity", activityOf(db)));
  return statements;
}

function activityOf(db: DatabaseSync): string {
  const latest = latestActivity("s.id", db.prepare(HAS_ACTIVITY).get() !== undefined);
  return `SELECT s.id AS session_id, s.user_id AS user_id, ${latest} AS last_active FROM sessions s`;
}

function completed(
  db: DatabaseSync,
  tables: ReadonlySet<string>,
  name: "sessions" | "messages",
  columns: readonly Column[],
): string[] {
  const found = new Set(
    db
      .prepare(`SELECT name FROM pragma_table_info('${name}')`)
      .all()
      .map((row) => String(row.name)),
  );
  if (columns.every((column) => found.has(column.name))) return [];
  const list = columns.map((column) =>
    found.has(column.name) ? column.name : `${defaultOf(column)} AS ${column.name}`,
  );
  const from = tables.has(name) ? `FROM main.${name}` : "WHERE 0";
  return [`CREATE TEMP VIEW ${name} AS SELECT ${list.join(", ")} ${from}`];
}

function defaultOf({ declaration }: Column): string {
  return /DEFAULT (\S+)/.exec(declaration)?.[1] ?? "NULL";
}
