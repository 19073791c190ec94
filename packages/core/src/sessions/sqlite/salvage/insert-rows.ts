// Puts stored values into a table as they are: integers of 64 bits, text byte for byte.
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Value } from "./file-format.ts";
import type { StoredColumn, TableShape } from "./table-shape.ts";
import type { Row } from "./trees.ts";

export class RowInserter {
  readonly #db: DatabaseSync;
  readonly #shape: TableShape;
  /** By the kinds of the values: text is bound as bytes and cast, which has to be in the statement. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, shape: TableShape) {
    this.#db = db;
    this.#shape = shape;
  }

  /** False when the table refuses the row: it breaks a constraint, so it is no row of it or is there already. */
  insert({ rowid, values }: Row): boolean {
    const { rowidName, columns } = this.#shape;
    // Rows written before a column was added lack it; SQLite fills in its default.
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

/** An empty blob would be bound as NULL, so what is empty stands in the statement itself. */
function bound(value: Value): { expression: string; value?: SQLInputValue } {
  if (value === null) return { expression: "NULL" };
  if (typeof value === "bigint" || typeof value === "number") return { expression: "?", value };
  if (!("text" in value)) return value.length === 0 ? { expression: "x''" } : { expression: "?", value };
  return value.text.length === 0
    ? { expression: "''" }
    : { expression: "CAST(? AS TEXT)", value: value.text };
}

const CONSTRAINT = 19;
const MISMATCH = 20;

function isConstraint(cause: unknown): boolean {
  const code =
    typeof cause === "object" && cause !== null && "errcode" in cause ? Number(cause.errcode) & 0xff : 0;
  return code === CONSTRAINT || code === MISMATCH;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
