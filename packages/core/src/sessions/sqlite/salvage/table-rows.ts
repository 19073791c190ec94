// Rows of a damaged table: how they are stored, which table a record may belong to, and inserting them into a new table.
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { sqliteCode } from "../../../lib/index.ts";
import type { Value } from "../../../lib/sqlite-pages.ts";
import { isConstraintFailure } from "../failures.ts";
import { MESSAGE_COLUMNS, SESSION_COLUMNS, TABLES } from "../schema.ts";
import type { Row } from "./trees.ts";

// ---- How the rows of a table are stored ----
// Read from an empty table with the same declaration.

type StoredColumn = {
  readonly name: string;
  readonly affinity: "text" | "numeric" | "any";
  readonly isRequired: boolean;
  /** The column is the rowid, so its value is not in the record. */
  readonly isRowid: boolean;
  /** Computed from other columns: in the record, but not inserted. */
  readonly isGenerated: boolean;
};

export type TableShape = {
  readonly name: string;
  readonly hasRowid: boolean;
  /** The name of the rowid in an INSERT; undefined when all its names are taken by columns. */
  readonly rowidName: string | undefined;
  /** In the order of the record. */
  readonly columns: readonly StoredColumn[];
};

type ColumnRow = {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
  readonly hidden: number;
};

const VIRTUAL_COLUMN = 2;
const STORED_COLUMN = 3;

export function shapeOf(db: DatabaseSync, name: string): TableShape {
  const all = db
    .prepare('SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?)')
    .all(name) as ColumnRow[];
  const hasRowid =
    db.prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?").get(name)?.wr === 0;
  const stored = all.filter(({ hidden }) => hidden !== VIRTUAL_COLUMN);
  const keys = stored.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  const hasKeyIndex =
    db.prepare("SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'").get(name) !== undefined;
  const [key] = keys;
  const alias =
    hasRowid && keys.length === 1 && key?.type.toUpperCase() === "INTEGER" && !hasKeyIndex
      ? key.name
      : undefined;
  // A table without rowids is stored as its key, then the other columns.
  const order = hasRowid ? stored : [...keys, ...stored.filter(({ pk }) => pk === 0)];
  const taken = new Set(all.map((column) => column.name.toLowerCase()));
  return {
    name,
    hasRowid,
    rowidName: hasRowid ? (alias ?? ["rowid", "_rowid_", "oid"].find((word) => !taken.has(word))) : undefined,
    columns: order.map((column) => ({
      name: column.name,
      affinity: affinityOf(column.type),
      // SQLite allows NULL in a primary key, but no program writes it, and blocks of an FTS5 index start with an empty column.
      isRequired: column.notnull === 1 || column.pk > 0,
      isRowid: column.name === alias,
      isGenerated: column.hidden === STORED_COLUMN,
    })),
  };
}

/** 0: cannot be a row of this table. 2: has every column. 1: lacks columns that may have been added later. */
export function matchOf({ columns }: TableShape, { values }: Row): 0 | 1 | 2 {
  // A program adds columns, but not half a table of them: a record with few columns belongs to another table.
  if (values.length > columns.length || values.length * 2 < columns.length) return 0;
  const isPossible = values.every((value, at) => {
    const column = columns[at];
    if (column === undefined) return false;
    if (column.isRowid) return value === null;
    return value === null ? !column.isRequired : isOf(value, column.affinity);
  });
  if (!isPossible) return 0;
  return values.length === columns.length ? 2 : 1;
}

function isOf(value: Exclude<Value, null>, affinity: StoredColumn["affinity"]): boolean {
  if (affinity === "any") return true;
  const isNumber = typeof value === "number" || typeof value === "bigint";
  return affinity === "text" ? !isNumber : isNumber;
}

/** https://www.sqlite.org/datatype3.html, section 3.1 */
function affinityOf(type: string): StoredColumn["affinity"] {
  const upper = type.toUpperCase();
  if (upper.includes("INT")) return "numeric";
  if (/CHAR|CLOB|TEXT/.test(upper)) return "text";
  if (upper === "" || upper.includes("BLOB")) return "any";
  return /REAL|FLOA|DOUB/.test(upper) ? "numeric" : "any";
}

// ---- Known declarations ----
// For files whose schema has lost them. Rows are stored by position, so the order of columns matters.

/** Columns that schema 30 has and 16 has not, each with the column it follows in a file created at 30. */
const LATER_SESSION_COLUMNS = `
  source: created_source TEXT
  user_id: session_key TEXT, chat_id TEXT, chat_type TEXT, thread_id TEXT, display_name TEXT, origin_json TEXT, expiry_finalized INTEGER DEFAULT 0
  system_prompt: system_prompt_hash TEXT
  cwd: git_branch TEXT, git_repo_root TEXT, git_metadata_generation INTEGER NOT NULL DEFAULT 0
  title: title_source TEXT, last_activity_at REAL, last_activity_description TEXT, last_activity_provenance TEXT
  handoff_error: compression_failure_cooldown_until REAL, compression_failure_error TEXT, compression_fallback_streak INTEGER NOT NULL DEFAULT 0, compression_ineffective_count INTEGER NOT NULL DEFAULT 0, compression_recovery_deadline REAL, compression_overload_streak INTEGER NOT NULL DEFAULT 0, profile_name TEXT, transport_profile TEXT
  archived: pinned INTEGER NOT NULL DEFAULT 0, hidden INTEGER NOT NULL DEFAULT 0, last_read_at REAL, tool_names TEXT
`;
const LATER_MESSAGE_COLUMNS = `
  tool_name: effect_disposition TEXT
  observed: _compressed_summary INTEGER NOT NULL DEFAULT 0
  active: compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT, display_kind TEXT, display_metadata TEXT, display_identity BLOB, display_order INTEGER
`;
const PARENT_KEY = "FOREIGN KEY (parent_session_id) REFERENCES sessions(id)";

/** Possible declarations. Files created at 30 and files upgraded from 16 to 30 differ in the order of columns. */
export const POSSIBLE_DECLARATIONS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "sessions",
    [TABLES.sessions, ...laterLayouts("sessions", SESSION_COLUMNS, LATER_SESSION_COLUMNS, PARENT_KEY)],
  ],
  ["messages", [TABLES.messages, ...laterLayouts("messages", MESSAGE_COLUMNS, LATER_MESSAGE_COLUMNS)]],
]);

type Column = { readonly name: string; readonly declaration: string };

function laterLayouts(table: string, known: readonly Column[], later: string, ...more: string[]): string[] {
  const after = new Map(
    later
      .trim()
      .split("\n")
      .map((line) => {
        const [name = "", added = ""] = line.trim().split(": ");
        return [name, added.split(", ")] as const;
      }),
  );
  const text = ({ name, declaration }: Column): string => `${name} ${declaration}`;
  const made = known.flatMap((column) => [text(column), ...(after.get(column.name) ?? [])]);
  const raised = [...known.map(text), ...[...after.values()].flat()];
  return [made, raised].map((columns) => `CREATE TABLE ${table} (${[...columns, ...more].join(", ")})`);
}

// ---- Inserting rows ----
// Values are written unchanged: 64-bit integers, text byte for byte.

export class RowInserter {
  readonly #db: DatabaseSync;
  readonly #shape: TableShape;
  /** By the types of the values: text is bound as bytes and cast in the statement. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, shape: TableShape) {
    this.#db = db;
    this.#shape = shape;
  }

  /** False when a constraint of the table refuses the row: it belongs to another table, or is there already. */
  insert({ rowid, values }: Row): boolean {
    const { rowidName, columns } = this.#shape;
    // Rows written before a column was added lack it; SQLite uses its default.
    const given = columns.slice(0, values.length);
    const parts: { name: string; expression: string; value?: SQLInputValue }[] = [];
    if (rowidName !== undefined) parts.push({ name: rowidName, expression: "?", value: rowid });
    for (const [at, column] of given.entries())
      if (isInserted(column)) parts.push({ name: column.name, ...bound(values[at] ?? null) });
    const key = `${parts.length}${parts.map(({ expression }) => expression).join()}`;
    let statement = this.#statements.get(key);
    if (statement === undefined) {
      const names = parts.map(({ name }) => quoted(name)).join(", ");
      const expressions = parts.map(({ expression }) => expression).join(", ");
      statement = this.#db.prepare(
        `INSERT INTO ${quoted(this.#shape.name)} (${names}) VALUES (${expressions})`,
      );
      this.#statements.set(key, statement);
    }
    try {
      statement.run(...parts.flatMap(({ value }) => (value === undefined ? [] : [value])));
      return true;
    } catch (cause) {
      if (isConstraint(cause)) return false;
      throw cause;
    }
  }
}

function isInserted({ isRowid, isGenerated }: StoredColumn): boolean {
  return !isRowid && !isGenerated;
}

/** An empty blob would be bound as NULL, so empty values are written into the statement. */
function bound(value: Value): { expression: string; value?: SQLInputValue } {
  if (value === null) return { expression: "NULL" };
  if (typeof value === "bigint" || typeof value === "number") return { expression: "?", value };
  if (!("text" in value)) return value.length === 0 ? { expression: "x''" } : { expression: "?", value };
  return value.text.length === 0
    ? { expression: "''" }
    : { expression: "CAST(? AS TEXT)", value: value.text };
}

const MISMATCH = 20;

function isConstraint(cause: unknown): boolean {
  return isConstraintFailure(cause) || sqliteCode(cause) === MISMATCH;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
