// What is wrong with a database file: by the errors it gives, and by looking through it.
import { DatabaseSync } from "node:sqlite";
import { describeCause } from "../../lib/index.ts";
import { sqliteCode } from "./failures.ts";
import { BUILD } from "./index-layout.ts";
import { openForSurgery, patiently, schemaCookie } from "./surgery.ts";

/** SQLite found the schema or the pages of the file broken; `repairDatabase` may help. */
export function isMalformed(cause: unknown): boolean {
  return says(cause, 11, /malformed database schema|database disk image is malformed/);
}

/** The file is something else, or encrypted; nothing of it may be touched. */
export function isNotSqlite(cause: unknown): boolean {
  return says(cause, 26, /file is not a database/);
}

export type Look =
  | { readonly kind: "healthy"; readonly sessions: number }
  | { readonly kind: "damaged"; readonly problem: string }
  | { readonly kind: "unusable"; readonly problem: string };

export async function look(file: string): Promise<Look> {
  try {
    return await patiently(() => {
      // Read-only: the last writer to leave moves the -wal into the file, and a damaged file is to stay as it is.
      using db = new DatabaseSync(file, { readOnly: true, timeout: 50 });
      return inspect(db);
    });
  } catch (cause) {
    const problem = describeCause(cause);
    const isIndexBroken = /vtable constructor failed: messages_fts/.test(problem);
    return { kind: isMalformed(cause) || isIndexBroken ? "damaged" : "unusable", problem };
  }
}

// Complaints about the content of a search index, which can be rebuilt, and about pages nobody uses.
const HARMLESS = /inverted index for FTS\d table|never used$/;

function inspect(db: DatabaseSync): Look {
  db.prepare("PRAGMA journal_mode").get();
  const complaints = db.prepare("PRAGMA integrity_check(10000)").all();
  const problem = complaints
    .map((row) => String(row.integrity_check))
    .find((line) => line !== "ok" && !HARMLESS.test(line));
  if (problem !== undefined) return { kind: "damaged", problem };
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  if (tables.length === 0) return { kind: "healthy", sessions: 0 }; // created, never used
  if (!tables.some((row) => row.name === "sessions"))
    return { kind: "unusable", problem: "it has no table of sessions, so it is no session database" };
  return { kind: "healthy", sessions: countRows(db, "sessions") };
}

const DERIVED = new RegExp(`^(?:messages_fts|hermes_memory_new_|${BUILD}$)`);

/** Rows per table, as far as they can be counted, without the search index; and the number of the schema. */
export function census(file: string): { rows: ReadonlyMap<string, number>; cookie: number } {
  using db = openForSurgery(file);
  const rows = new Map<string, number>();
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").all();
  for (const { name } of tables) {
    if (typeof name !== "string" || DERIVED.test(name)) continue;
    try {
      rows.set(name, countRows(db, name));
    } catch {
      // It cannot be read now; it can only get better.
    }
  }
  return { rows, cookie: schemaCookie(db) };
}

/** Of the table itself: an index may be what is broken. */
function countRows(db: DatabaseSync, table: string): number {
  const row = db.prepare(`SELECT count(*) AS count FROM "${table.replaceAll('"', '""')}" NOT INDEXED`).get();
  return Number(row?.count);
}

/** The error itself, or the one it was thrown for. */
function says(cause: unknown, code: number, text: RegExp): boolean {
  if (((sqliteCode(cause) ?? 0) & 0xff) === code || text.test(describeCause(cause))) return true;
  return cause instanceof Error && cause.cause !== undefined && says(cause.cause, code, text);
}
