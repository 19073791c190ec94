// Whether a table of ours is there: another program may keep something else under its name, and then it is not.
import type { Connection } from "./connection.ts";
import type { OwnTable } from "./side-tables.ts";

/** A read-only file that lacks it has an empty stand-in, which counts. */
export function hasOwnTable(connection: Connection, { name, columns }: OwnTable): boolean {
  const rows = connection.all<{ name: string }>(`
    SELECT name FROM pragma_table_info('${name}')
    WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = '${name}' AND type <> 'table')
  `);
  const present = new Set(rows.map((row) => row.name));
  return columns.every((column) => present.has(column.name));
}
