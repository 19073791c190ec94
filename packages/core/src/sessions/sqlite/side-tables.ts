// Our own tables in the shared file. The original leaves unknown tables alone, and the triggers here mention nothing but
// our tables and its two, so they also work where its SQLite has no FTS5.
import type { Column } from "./schema.ts";

/** An object of the schema, its SQL exactly as sqlite_master will repeat it. */
export type SchemaObject = {
  readonly type: "table" | "index" | "trigger" | "view";
  readonly name: string;
  readonly sql: string;
};

/** The latest message, or the start; in today's files also what their original notes as activity, if that is later. */
export function latestActivity(session: string, hasActivity: boolean): string {
  const message = `(SELECT MAX(timestamp) FROM messages WHERE session_id = ${session})`;
  const ofSession = (column: string) => `(SELECT ${column} FROM sessions WHERE id = ${session})`;
  return hasActivity
    ? `COALESCE(MAX(COALESCE(${message}, ${ofSession("last_activity_at")}), COALESCE(${ofSession("last_activity_at")}, ${message})), ${ofSession("started_at")})`
    : `COALESCE(${message}, ${ofSession("started_at")})`;
}

/** When something last happened in each session, in order: a listing by activity reads as many rows as it shows. */
export function activityObjects(hasActivity: boolean): readonly SchemaObject[] {
  const refresh = (session: string) =>
    `UPDATE hermes_memory_activity SET last_active = ${latestActivity(session, hasActivity)} WHERE session_id = ${session};`;
  return [
    table(
      "hermes_memory_activity",
      "session_id TEXT PRIMARY KEY, last_active REAL NOT NULL, user_id TEXT",
      " WITHOUT ROWID",
    ),
    index("hermes_memory_activity_order", "hermes_memory_activity(last_active DESC, session_id DESC)"),
    index(
      "hermes_memory_activity_user",
      "hermes_memory_activity(user_id, last_active DESC, session_id DESC) WHERE user_id IS NOT NULL",
    ),
    trigger(
      "hermes_memory_session_insert",
      // Other programs can leave a row without an id: a primary key of text allows it.
      "AFTER INSERT ON sessions WHEN new.id IS NOT NULL",
      `INSERT INTO hermes_memory_activity(session_id, last_active, user_id) VALUES (new.id, ${hasActivity ? "COALESCE(new.last_activity_at, new.started_at)" : "new.started_at"}, new.user_id);`,
    ),
    trigger(
      "hermes_memory_session_update",
      `AFTER UPDATE OF started_at, user_id${hasActivity ? ", last_activity_at" : ""} ON sessions`,
      `UPDATE hermes_memory_activity SET user_id = new.user_id, last_active = ${latestActivity("new.id", hasActivity)} WHERE session_id = new.id;`,
    ),
    trigger(
      "hermes_memory_session_delete",
      "AFTER DELETE ON sessions",
      "DELETE FROM hermes_memory_activity WHERE session_id = old.id;",
    ),
    trigger("hermes_memory_message_insert", "AFTER INSERT ON messages", refresh("new.session_id")),
    trigger(
      "hermes_memory_message_update",
      "AFTER UPDATE OF timestamp, session_id ON messages",
      `${refresh("old.session_id")} ${refresh("new.session_id")}`,
    ),
    trigger(
      "hermes_memory_message_delete",
      "AFTER DELETE ON messages WHEN old.timestamp >= (SELECT last_active FROM hermes_memory_activity WHERE session_id = old.session_id)",
      refresh("old.session_id"),
    ),
  ];
}

export function fillActivity(hasActivity: boolean): string {
  return `
    INSERT INTO hermes_memory_activity(session_id, last_active, user_id)
    SELECT s.id, ${latestActivity("s.id", hasActivity)}, s.user_id FROM sessions s WHERE s.id IS NOT NULL
  `;
}

/** Whether the file's sessions note their activity. */
export const HAS_ACTIVITY = "SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'last_activity_at'";

/** Which row a copied row was copied from: the first one, never a copy. */
export const ORIGINS: readonly SchemaObject[] = [
  table("hermes_memory_origin", "message_id INTEGER PRIMARY KEY, origin_id INTEGER NOT NULL"),
  index("hermes_memory_origin_copies", "hermes_memory_origin(origin_id)"),
  trigger(
    "hermes_memory_origin_delete",
    "AFTER DELETE ON messages",
    "DELETE FROM hermes_memory_origin WHERE message_id = old.id;",
  ),
];

/** A table with rows nothing else can tell. One of the name that lacks our columns is another program's and stays as it is. */
export type OwnTable = {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly objects: readonly SchemaObject[];
};

const NODES_TABLE = "lcm_nodes";

const NODE_COLUMNS: readonly Column[] = [
  { name: "node_id", declaration: "TEXT PRIMARY KEY" },
  { name: "lineage_root", declaration: "TEXT NOT NULL" },
  { name: "session_id", declaration: "TEXT NOT NULL" },
  { name: "depth", declaration: "INTEGER NOT NULL" },
  { name: "first_message_id", declaration: "INTEGER NOT NULL" },
  { name: "last_message_id", declaration: "INTEGER NOT NULL" },
  { name: "source_ids", declaration: "TEXT NOT NULL" },
  { name: "summary", declaration: "TEXT NOT NULL" },
  { name: "tokens", declaration: "INTEGER NOT NULL" },
  { name: "source_tokens", declaration: "INTEGER NOT NULL" },
  { name: "method", declaration: "TEXT NOT NULL" },
  { name: "created_at", declaration: "REAL NOT NULL" },
];

/**
 * Summaries of messages, and of such summaries. The table has its name from the engine that fills it, which other programs know.
 * What a summary was made of goes with the session it was made in, so the summary goes too.
 */
export const SUMMARY_NODES: OwnTable = {
  name: NODES_TABLE,
  columns: NODE_COLUMNS,
  objects: [
    table(NODES_TABLE, `${declare(NODE_COLUMNS)}, UNIQUE (lineage_root, depth, first_message_id)`),
    index("hermes_memory_nodes_session", `${NODES_TABLE}(session_id)`),
    goesWithSession("hermes_memory_nodes_delete", NODES_TABLE),
  ],
};

/** Which process works on a session. The session need not be there yet. */
export const SESSION_LEASES = ofSessions("hermes_memory_leases", [
  { name: "holder", declaration: "TEXT NOT NULL" },
  { name: "acquired_at", declaration: "REAL NOT NULL" },
  { name: "expires_at", declaration: "REAL NOT NULL" },
]);

/** The system prompt we made for a session; the one in its row may be another program's. */
export const OWN_PROMPTS = ofSessions("hermes_memory_prompts", [
  { name: "prompt", declaration: "TEXT NOT NULL" },
  { name: "version", declaration: "INTEGER NOT NULL" },
  { name: "created_at", declaration: "REAL NOT NULL" },
]);

const REWOUND_TABLE = "hermes_memory_rewound";
const REWOUND_COLUMNS: readonly Column[] = [
  { name: "message_id", declaration: "INTEGER PRIMARY KEY" },
  { name: "session_id", declaration: "TEXT NOT NULL" },
];

/** Which rows a rewind of ours took back: in today's files a compaction leaves rows behind that look the same. */
export const REWOUND: OwnTable = {
  name: REWOUND_TABLE,
  columns: REWOUND_COLUMNS,
  objects: [
    table(REWOUND_TABLE, declare(REWOUND_COLUMNS)),
    index("hermes_memory_rewound_session", `${REWOUND_TABLE}(session_id)`),
    trigger(
      "hermes_memory_rewound_delete",
      "AFTER DELETE ON messages",
      `DELETE FROM ${REWOUND_TABLE} WHERE message_id = old.id;`,
    ),
  ],
};

export const OWN_TABLES: readonly OwnTable[] = [SUMMARY_NODES, SESSION_LEASES, OWN_PROMPTS, REWOUND];

export function table(name: string, columns: string, suffix = ""): SchemaObject {
  return { type: "table", name, sql: `CREATE TABLE ${name} (${columns})${suffix}` };
}

function index(name: string, on: string): SchemaObject {
  return { type: "index", name, sql: `CREATE INDEX ${name} ON ${on}` };
}

export function trigger(name: string, when: string, body: string): SchemaObject {
  return { type: "trigger", name, sql: `CREATE TRIGGER ${name} ${when} BEGIN ${body} END` };
}

/** One row for a session at most. */
function ofSessions(name: string, more: readonly Column[]): OwnTable {
  const columns = [{ name: "session_id", declaration: "TEXT PRIMARY KEY" }, ...more];
  return { name, columns, objects: [table(name, declare(columns)), goesWithSession(`${name}_delete`, name)] };
}

function goesWithSession(name: string, from: string): SchemaObject {
  return trigger(name, "AFTER DELETE ON sessions", `DELETE FROM ${from} WHERE session_id = old.id;`);
}

function declare(columns: readonly Column[]): string {
  return columns.map(({ name, declaration }) => `${name} ${declaration}`).join(", ");
}
