// Rows that match, newest or oldest first, with what ranking needs to know of them.
import type { SearchOptions } from "../../search/types.ts";
import type { Connection } from "../connection.ts";
import type { FtsTable } from "../index-layout.ts";
import type { Conditions } from "./filters.ts";

export type FoundRow = {
  readonly id: number;
  readonly session_id: string;
  readonly timestamp: number;
  readonly role: string;
  readonly tool_name: string | null;
  /** What the content says, where tool calls follow it in the text; otherwise null. */
  readonly said: string | null;
  /** As it is indexed. */
  readonly text: string;
  readonly parent_session_id: string | null;
  readonly origin_id: number | null;
};

export type Direction = "newest" | "oldest";

/** Rows are looked for from the end that is shown first. */
export function directionOf({ sort }: SearchOptions): Direction {
  return wishOf(sort) === "oldest" ? "oldest" : "newest";
}

export function isInOrderOfTime({ sort }: SearchOptions): boolean {
  return ["newest", "oldest"].includes(wishOf(sort));
}

function wishOf(sort: string | undefined): string {
  return typeof sort === "string" ? sort.trim().toLowerCase() : "";
}

const FIELDS = `
  m.id, m.session_id, m.timestamp, m.role, m.tool_name, s.parent_session_id, o.origin_id,
  CASE WHEN m.tool_calls IS NOT NULL AND typeof(m.content) <> 'blob' THEN COALESCE(m.content, '') END AS said
`;
const JOINS = `
  JOIN sessions s ON s.id = m.session_id LEFT JOIN hermes_memory_origin o ON o.message_id = m.id
`;

/**
 * How many matches a filter may turn down before the search gives up looking for one it allows. Where a session or a user
 * is named there is no such bound: what is theirs must be found, however much others have written since.
 */
const MOST_TURNED_DOWN = 25_000;
const NO_BOUND = Number.MAX_SAFE_INTEGER;

/**
 * FTS5 gives rows in the order of their ids without looking at the others, so this costs what it returns. Text longer
 * than `TEXT_CHARS` is ranked by its beginning.
 */
export function findRows(
  connection: Connection,
  table: FtsTable,
  match: string,
  conditions: Conditions,
  { limit, direction }: { readonly limit: number; readonly direction: Direction },
): FoundRow[] {
  const order = direction === "newest" ? "DESC" : "ASC";
  const sql = `
    SELECT ${FIELDS}, (SELECT substr(content, 1, ${TEXT_CHARS}) FROM ${table} WHERE rowid = m.id) AS text
    FROM ${matches(table, order)} CROSS JOIN messages m ON m.id = f.id ${JOINS}
    WHERE ${conditions.where} ORDER BY f.id ${order} LIMIT :limit
  `;
  return connection.all<FoundRow>(sql, { ...conditions.values, match, limit, bound: boundOf(conditions) });
}

function matches(table: FtsTable, order: "ASC" | "DESC"): string {
  return `(SELECT rowid AS id FROM ${table} WHERE ${table} MATCH :match ORDER BY rowid ${order} LIMIT :bound) f`;
}

function boundOf({ isOwned }: Conditions): number {
  return isOwned ? NO_BOUND : MOST_TURNED_DOWN;
}

/** The first of `ids`, in their order, that the filters allow. */
export function rowsOf(
  connection: Connection,
  ids: readonly number[],
  { where, values }: Conditions,
  limit: number,
): FoundRow[] {
  // CROSS: in the order given, so that the texts behind the limit are not read.
  const sql = `
    SELECT ${FIELDS}, substr(messages_fts_trigram.content, 1, ${TEXT_CHARS}) AS text
    FROM json_each(:ids) i CROSS JOIN messages m ON m.id = i.value ${JOINS}
      JOIN messages_fts_trigram ON messages_fts_trigram.rowid = m.id
    WHERE ${where} LIMIT :limit
  `;
  return connection.all<FoundRow>(sql, { ...values, ids: JSON.stringify(ids), limit });
}

/** Whether anything matches, whatever else. */
export function matchesAnything(
  connection: Connection,
  table: FtsTable,
  match: string,
  conditions: Conditions,
): boolean {
  const sql = `
    SELECT 1 FROM ${matches(table, "DESC")} CROSS JOIN messages m ON m.id = f.id JOIN sessions s ON s.id = m.session_id
    WHERE ${conditions.where} LIMIT 1
  `;
  return connection.get(sql, { ...conditions.values, match, bound: boundOf(conditions) }) !== undefined;
}

const TEXT_CHARS = 6000;
const HIGHEST_ID = "SELECT COALESCE(MAX(id), 0) AS id FROM messages";

export function highestId(connection: Connection): number {
  return connection.get<{ id: number }>(HIGHEST_ID)?.id ?? 0;
}
