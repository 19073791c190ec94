// How the rows of a table are stored, asked of an empty table of the same declaration; and whether a record can be one.
import type { DatabaseSync } from "node:sqlite";
import type { Value } from "./file-format.ts";
import type { Row } from "./trees.ts";

export type StoredColumn = {
  readonly name: string;
  readonly affinity: "text" | "numeric" | "any";
  readonly isRequired: boolean;
  /** The column is the rowid: its value is not in the record. */
  readonly isRowid: boolean;
  /** Worked out from others: in the record, but not to be inserted. */
  readonly isGenerated: boolean;
};

export type TableShape = {
  readonly name: string;
  readonly hasRowid: boolean;
  /** What the rowid is called in an INSERT; undefined when it has no name of its own left. */
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
      // SQLite allows an empty primary key; no program writes one, and blocks of an FTS5 index begin with an empty column.
      isRequired: column.notnull === 1 || column.pk > 0,
      isRowid: column.name === alias,
      isGenerated: column.hidden === STORED_COLUMN,
    })),
  };
}

/** 0: it cannot be a row of this table; 2: it has every column; 1: it lacks columns that may have been added later. */
export function matchOf({ columns }: TableShape, { values }: Row): 0 | 1 | 2 {
  // A program adds columns, but not half a table of them; a record with few columns is another table's.
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
