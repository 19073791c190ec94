// The tables and triggers of our search index in the shared file. The triggers run in the SQLite of other programs
// (3.40 and later): they only put keys into a queue, mention no FTS table, and have no conflict clause, because an outer
// `INSERT OR ...` would override it.
import { USER_PLATFORM } from "../../identity.ts";
import { type SchemaObject, table, trigger } from "../schema.ts";

export const FTS = "hermes_memory_fts";
export const DOC = "hermes_memory_doc";
export const SESSION_NUMBERS = "hermes_memory_no";
export const WORD_NUMBERS = "hermes_memory_word";
export const QUEUE = "hermes_memory_queue";
export const LARGE = "hermes_memory_large";
export const STATE = "hermes_memory_state";

/** Raise it when the tables below or the meaning of their rows change: every index is then built anew. */
export const LAYOUT_VERSION = 1;

const ID_SPACE = 2 ** 32;
/** Keys with the highest ids of each day stand for rows whose own id does not fit (`overlay.ts`). */
export const RESERVED_IDS = 2 ** 16;
export const LARGEST_ID = ID_SPACE - 1 - RESERVED_IDS;
const LAST_DAY = 65_535;

/** The id in a key. A key can also stand for a row with another id: ask the reader. */
export function idInKey(key: number): number {
  return key % ID_SPACE;
}

export function dayOfKey(key: number): number {
  return Math.floor(key / ID_SPACE);
}

export function keyOf(day: number, id: number): number {
  return day * ID_SPACE + id;
}

/** SQL: the day of a row, as it stands in its key. A time that is no number counts as day 0. */
export function dayOfRow(row: string): string {
  return `CAST(MIN(${LAST_DAY}, MAX(0, COALESCE(${row}.timestamp / 86400, 0))) AS INTEGER)`;
}

/** SQL: the key of a row. */
export function keyOfRow(row: string): string {
  return `((${dayOfRow(row)} << 32) | ${row}.id)`;
}

/** SQL: whether the index can hold the row. */
export function hasKey(row: string): string {
  return `${row}.id BETWEEN 1 AND ${LARGEST_ID}`;
}

/** SQL: whether search leaves the row out, given the columns that the table has. Unknown values of `active` count as not active. */
export function isHidden(row: string, columns: ReadonlySet<string>): string {
  const isLive = columns.has("compacted")
    ? `(${row}.active IS 1 OR ${row}.compacted IS 1)`
    : `${row}.active IS 1`;
  return columns.has("display_kind")
    ? `(NOT ${isLive} OR ${row}.display_kind IS 'hidden')`
    : `(NOT ${isLive})`;
}

export const TABLES: readonly SchemaObject[] = [
  {
    type: "table",
    name: FTS,
    sql: `CREATE VIRTUAL TABLE ${FTS} USING fts5(text, content='', contentless_delete=1, tokenize='ascii')`,
  },
  // Which messages the index holds, and the number of the session of each.
  table(DOC, "key INTEGER PRIMARY KEY, n INTEGER NOT NULL"),
  table(SESSION_NUMBERS, "n INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE"),
  // Sources, roles, user ids and persons (`personWord`).
  table(WORD_NUMBERS, "n INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE"),
  // Keys of messages that were added, changed or deleted since the index looked at them.
  table(QUEUE, "key INTEGER PRIMARY KEY"),
  // Messages too long for the event loop: a thread indexes them. `ticket` says which attempt may finish, `until` when
  // (seconds since 1970) another process may take over.
  table(LARGE, "key INTEGER PRIMARY KEY, ticket TEXT NOT NULL, until REAL NOT NULL"),
  // One row. `version`: what the documents were made by. `todo`: messages up to this id are still to be indexed; the
  // build runs from the newest down. `checked`: the schema cookie of the file when index and messages were last compared.
  table(STATE, "version TEXT NOT NULL, todo INTEGER NOT NULL, checked INTEGER"),
];

/** Columns of `messages` that a document or its key is made of; those after `active` are not in every file. */
const WATCHED = [
  "id",
  "session_id",
  "role",
  "content",
  "tool_name",
  "tool_calls",
  "timestamp",
  "active",
  "compacted",
  "display_kind",
];

const hasPlatform = (row: string) => `instr(COALESCE(${row}.model_config, ''), '"${USER_PLATFORM}"') > 0`;
/** What marks are made of: source, user and the platform of the user (`userPlatform`). */
const IS_OTHER_SESSION = [
  "old.source IS NOT new.source",
  "old.user_id IS NOT new.user_id",
  "(old.parent_session_id IS NOT new.parent_session_id AND new.source IS 'subagent')",
  `(old.model_config IS NOT new.model_config AND (${hasPlatform("old")} OR ${hasPlatform("new")}))`,
].join(" OR ");
/** The runs of subagents that version 0.1.0 stored have the platform of the session they were made for. */
const OF_SESSION =
  "SELECT new.id UNION ALL SELECT c.id FROM sessions c WHERE c.parent_session_id = new.id AND c.source = 'subagent'";

/** `columns` are those of `messages` in the file. */
export function triggers(columns: ReadonlySet<string>): readonly SchemaObject[] {
  const watched = WATCHED.filter((name) => columns.has(name)).join(", ");
  return [
    trigger("hermes_memory_queue_insert", "AFTER INSERT ON messages", queueRow("new")),
    trigger("hermes_memory_queue_delete", "AFTER DELETE ON messages", queueRow("old")),
    trigger(
      "hermes_memory_queue_update",
      `AFTER UPDATE OF ${watched} ON messages`,
      `${queueRow("old")} ${queueRow("new")}`,
    ),
    trigger(
      "hermes_memory_queue_session",
      `AFTER UPDATE OF source, user_id, parent_session_id, model_config ON sessions WHEN ${IS_OTHER_SESSION}`,
      `INSERT INTO ${QUEUE}(key) SELECT ${keyOfRow("m")} FROM messages m WHERE m.session_id IN (${OF_SESSION}) AND ${hasKey("m")} AND NOT EXISTS (SELECT 1 FROM ${QUEUE} WHERE key = ${keyOfRow("m")});`,
    ),
  ];
}

function queueRow(row: "old" | "new"): string {
  const key = keyOfRow(row);
  return `INSERT INTO ${QUEUE}(key) SELECT ${key} WHERE ${hasKey(row)} AND NOT EXISTS (SELECT 1 FROM ${QUEUE} WHERE key = ${key});`;
}
