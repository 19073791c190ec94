// Columns as queries read them. SQLite's integers go further than JavaScript's numbers, and a row that holds one beyond
// them, written by another program, could not be read at all; it is read as the nearest number there is.
import type { Column } from "./schema.ts";

export const LARGEST = Number.MAX_SAFE_INTEGER;

/** `prefix` is a table alias with its dot. */
export function readableFields(columns: readonly Column[], prefix = ""): string {
  return columns
    .map(({ name, declaration }) =>
      declaration.startsWith("INTEGER") ? readable(`${prefix}${name}`, name) : `${prefix}${name}`,
    )
    .join(", ");
}

/** Text and fractions, which an INTEGER column may hold too, stay as they are. */
export function readable(column: string, name: string): string {
  return `CASE WHEN typeof(${column}) = 'integer' THEN ${withinReach(column)} ELSE ${column} END AS ${name}`;
}

/** An SQL number, held between the bounds of what can be read. */
export function withinReach(number: string): string {
  return `MAX(-${LARGEST}, MIN(${LARGEST}, ${number}))`;
}
