// Tables and columns. First the tables of Hermes Agent at schema 16, which other programs share: names, order, types and defaults
// are fixed. Then our own tables, and how queries read columns.
import type { DatabaseSync } from "node:sqlite";
import { type Connection, type FileFeatures, OWN_TITLES } from "./connection.ts";

export const SCHEMA_VERSION = 16;

export type Column = { readonly name: string; readonly declaration: string };

export const SESSION_COLUMNS: readonly Column[] = columns(`
  id TEXT PRIMARY KEY
  source TEXT NOT NULL
  user_id TEXT
  model TEXT
  model_config TEXT
  system_prompt TEXT
  parent_session_id TEXT
  started_at REAL NOT NULL
  ended_at REAL
  end_reason TEXT
  message_count INTEGER DEFAULT 0
  tool_call_count INTEGER DEFAULT 0
  input_tokens INTEGER DEFAULT 0
  output_tokens INTEGER DEFAULT 0
  cache_read_tokens INTEGER DEFAULT 0
  cache_write_tokens INTEGER DEFAULT 0
  reasoning_tokens INTEGER DEFAULT 0
  cwd TEXT
  billing_provider TEXT
  billing_base_url TEXT
  billing_mode TEXT
  estimated_cost_usd REAL
  actual_cost_usd REAL
  cost_status TEXT
  cost_source TEXT
  pricing_version TEXT
  title TEXT
  api_call_count INTEGER DEFAULT 0
  handoff_state TEXT
  handoff_platform TEXT
  handoff_error TEXT
  rewind_count INTEGER NOT NULL DEFAULT 0
  archived INTEGER NOT NULL DEFAULT 0
`);

export const MESSAGE_COLUMNS: readonly Column[] = columns(`
  id INTEGER PRIMARY KEY AUTOINCREMENT
  session_id TEXT NOT NULL REFERENCES sessions(id)
  role TEXT NOT NULL
  content TEXT
  tool_call_id TEXT
  tool_calls TEXT
  tool_name TEXT
  timestamp REAL NOT NULL
  token_count INTEGER
  finish_reason TEXT
  reasoning TEXT
  reasoning_content TEXT
  reasoning_details TEXT
  codex_reasoning_items TEXT
  codex_message_items TEXT
  platform_message_id TEXT
  observed INTEGER DEFAULT 0
  active INTEGER NOT NULL DEFAULT 1
`);

export const TABLES = {
  schema_version: "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)",
  sessions: `CREATE TABLE IF NOT EXISTS sessions (${declare(SESSION_COLUMNS)},
    FOREIGN KEY (parent_session_id) REFERENCES sessions(id))`,
  messages: `CREATE TABLE IF NOT EXISTS messages (${declare(MESSAGE_COLUMNS)})`,
  state_meta: "CREATE TABLE IF NOT EXISTS state_meta (key TEXT PRIMARY KEY, value TEXT)",
  compression_locks: `CREATE TABLE IF NOT EXISTS compression_locks (session_id TEXT PRIMARY KEY, holder TEXT NOT NULL,
    acquired_at REAL NOT NULL, expires_at REAL NOT NULL)`,
} as const;

export const INDEXES = {
  idx_sessions_source: "sessions(source)",
  idx_sessions_source_id: "sessions(source, id)",
  idx_sessions_parent: "sessions(parent_session_id)",
  idx_sessions_started: "sessions(started_at DESC)",
  idx_messages_session: "messages(session_id, timestamp)",
  idx_messages_session_active: "messages(session_id, active, timestamp)",
  idx_messages_platform_msg_id:
    "messages(session_id, platform_message_id) WHERE platform_message_id IS NOT NULL",
  idx_compression_locks_expires: "compression_locks(expires_at)",
} as const;

export const TITLE_INDEX = "idx_sessions_title_unique";
export const CREATE_TITLE_INDEX = `CREATE UNIQUE INDEX IF NOT EXISTS ${TITLE_INDEX} ON sessions(title) WHERE title IS NOT NULL`;

/** `prefix` is a table alias with its dot. */
export function columnList(list: readonly Column[], prefix = ""): string {
  return list.map(({ name }) => `${prefix}${name}`).join(", ");
}

function declare(list: readonly Column[]): string {
  return list.map(({ name, declaration }) => `\n    ${name} ${declaration}`).join(",");
}

/** Declarations by lines or commas. */
function columns(text: string): Column[] {
  return text
    .trim()
    .split(/, |,?\n/)
    .map((line) => {
      const [name = "", ...declaration] = line.trim().split(" ");
      return { name, declaration: declaration.join(" ") };
    });
}

// ---- Our own tables in the shared file ----
// Hermes Agent ignores unknown tables. The triggers mention only our tables and its two, so they also work where its SQLite has
// no FTS5.

/** A schema object; its SQL is exactly what sqlite_master returns for it. */
export type SchemaObject = {
  readonly type: "table" | "index" | "trigger" | "view";
  readonly name: string;
  readonly sql: string;
};

/** SQL: the time of the latest message, or the start. If sessions have last_activity_at, that if it is later. */
export function latestActivity(session: string, hasActivity: boolean): string {
  const message = `(SELECT MAX(timestamp) FROM messages WHERE session_id = ${session})`;
  const ofSession = (column: string) => `(SELECT ${column} FROM sessions WHERE id = ${session})`;
  return hasActivity
    ? `COALESCE(MAX(COALESCE(${message}, ${ofSession("last_activity_at")}), COALESCE(${ofSession("last_activity_at")}, ${message})), ${ofSession("started_at")})`
    : `COALESCE(${message}, ${ofSession("started_at")})`;
}

/** The last activity of each session, ordered: a listing by activity reads only the rows it shows. */
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
      // Other programs may insert a row without an id: a text primary key allows NULL.
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

/** SQL: whether the sessions of the file have last_activity_at. */
export const HAS_ACTIVITY = "SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'last_activity_at'";

/** The original of each copied row: always the first one, never a copy. */
export const ORIGINS: readonly SchemaObject[] = ownTable(
  "hermes_memory_origin",
  "message_id INTEGER PRIMARY KEY, origin_id INTEGER NOT NULL",
  { indexes: { copies: "origin_id" }, goesWith: "messages" },
).objects;

/**
 * A table whose rows exist nowhere else. A table with its name that lacks our columns belongs to another program and is not
 * touched.
 */
type OwnTable = {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly objects: readonly SchemaObject[];
};

/**
 * Summaries of messages and of summaries. Other programs know the table by this name. A summary is deleted with the session it
 * was made in, because its sources are deleted too.
 */
export const SUMMARY_NODES = ownTable(
  "lcm_nodes",
  `node_id TEXT PRIMARY KEY, lineage_root TEXT NOT NULL, session_id TEXT NOT NULL, depth INTEGER NOT NULL,
    first_message_id INTEGER NOT NULL, last_message_id INTEGER NOT NULL, source_ids TEXT NOT NULL, summary TEXT NOT NULL,
    tokens INTEGER NOT NULL, source_tokens INTEGER NOT NULL, method TEXT NOT NULL, created_at REAL NOT NULL`,
  {
    prefix: "hermes_memory_nodes",
    more: "UNIQUE (lineage_root, depth, first_message_id)",
    indexes: { session: "session_id" },
  },
);

/** Which process works on a session. The session need not exist yet. */
export const SESSION_LEASES = ownTable(
  "hermes_memory_leases",
  "session_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL",
);

/** The system prompt we made for a session; the one in its row may be another program's. */
export const OWN_PROMPTS = ownTable(
  "hermes_memory_prompts",
  "session_id TEXT PRIMARY KEY, prompt TEXT NOT NULL, version INTEGER NOT NULL, created_at REAL NOT NULL",
);

/** The newest request of each session of a gateway (`Ask`). */
export const ASKS = ownTable(
  "hermes_memory_asks",
  "session_id TEXT PRIMARY KEY, token TEXT NOT NULL, request TEXT NOT NULL, row_id INTEGER, delivered INTEGER NOT NULL",
);

/** Up to which message facts were extracted from a session. */
export const EXTRACTED = ownTable(
  "hermes_memory_extracted",
  "session_id TEXT PRIMARY KEY, message_id INTEGER NOT NULL",
);

/**
 * Titles that the column of the sessions cannot hold, because it is unique over the sessions of all users (titles.ts). `shared`: what that
 * column had when the title was written.
 */
const TITLES = ownTable(OWN_TITLES, "session_id TEXT PRIMARY KEY, title TEXT NOT NULL, shared TEXT", {
  indexes: { title: "title" },
});

/** Rows that a rewind of ours took back. With schema 17, a compaction leaves rows that look the same. */
export const REWOUND = ownTable(
  "hermes_memory_rewound",
  "message_id INTEGER PRIMARY KEY, session_id TEXT NOT NULL",
  { indexes: { session: "session_id" }, goesWith: "messages" },
);

/**
 * Where each message of an imported transcript comes from. A row of an imported session that is not here was added later, by a turn.
 * `path`: the file, if it is not the one in the mark `_import` of the session. `branch`: 1 for a message of an abandoned branch, which the
 * import made inactive.
 */
export const PROVENANCE = ownTable(
  "hermes_memory_provenance",
  "message_id INTEGER PRIMARY KEY, line INTEGER, path TEXT, branch INTEGER NOT NULL",
  { goesWith: "messages" },
);

/** Conversations that a gateway keeps open, by the key of the client. The key is unique for each person (gateway-records.ts). */
export const LIVE_SESSIONS = ownTable(
  "hermes_memory_live",
  `person TEXT NOT NULL, key TEXT NOT NULL, session_id TEXT NOT NULL, source TEXT NOT NULL, started_at REAL NOT NULL,
    last_active_at REAL NOT NULL, last_prompt_tokens INTEGER NOT NULL, finalized_at REAL, reset_reason TEXT`,
  {
    more: "PRIMARY KEY (person, key)",
    indexes: { session: "session_id", active: "last_active_at", key: "key" },
  },
);

/** Texts by which a later request finds its session. Marks of one call of `saveMarks` have the same `call`; later calls have higher ones. */
export const MARKS = ownTable(
  "hermes_memory_marks",
  "id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, mark TEXT NOT NULL, call INTEGER NOT NULL",
  { indexes: { session: "session_id, call", mark: "mark" } },
);

/** What recall found for a request, and what was sent of it. */
export const RECALLS = ownTable(
  "hermes_memory_recalls",
  `id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, at REAL NOT NULL, mark TEXT, query TEXT NOT NULL,
    injected TEXT NOT NULL, found TEXT NOT NULL, duration_ms REAL NOT NULL, mode TEXT NOT NULL`,
  { indexes: { session: "session_id, mark", at: "at" } },
);

/** What a turn used. */
export const TURNS = ownTable(
  "hermes_memory_turns",
  `id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, at REAL NOT NULL, duration_ms REAL NOT NULL, mode TEXT NOT NULL, model TEXT,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, calls INTEGER NOT NULL, cost REAL, recall_id INTEGER`,
  { indexes: { session: "session_id, at", at: "at" } },
);

/** Rounds of tool calls that a gateway ran itself and that its client never sees, as one wire writes them. */
export const ROUNDS = ownTable(
  "hermes_memory_rounds",
  "session_id TEXT NOT NULL, mark TEXT NOT NULL, wire TEXT NOT NULL, items TEXT NOT NULL",
  { indexes: { session: "session_id, mark, wire" } },
);

/**
 * What users and tokens of a gateway have used today, and which users a token has served. Belongs to no session. `day` is in UTC: 2026-01-31;
 * "" for a member of a group, which has no day. The `key` of a user is a hash (`personKey`), by which erasing the user finds it.
 */
export const SPEND = ownTable(
  "hermes_memory_spend",
  "day TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, requests INTEGER NOT NULL, tokens INTEGER NOT NULL, cost REAL NOT NULL",
  {
    more: "PRIMARY KEY (day, kind, key)",
    suffix: " WITHOUT ROWID",
    indexes: { key: "key" },
    goesWith: "nothing",
  },
);

export const OWN_TABLES: readonly OwnTable[] = [
  SUMMARY_NODES,
  SESSION_LEASES,
  OWN_PROMPTS,
  EXTRACTED,
  ASKS,
  TITLES,
  REWOUND,
  PROVENANCE,
  LIVE_SESSIONS,
  MARKS,
  RECALLS,
  TURNS,
  ROUNDS,
  SPEND,
];

export function table(name: string, columns: string, suffix = ""): SchemaObject {
  return { type: "table", name, sql: `CREATE TABLE ${name} (${columns})${suffix}` };
}

function index(name: string, on: string): SchemaObject {
  return { type: "index", name, sql: `CREATE INDEX ${name} ON ${on}` };
}

export function trigger(name: string, when: string, body: string): SchemaObject {
  return { type: "trigger", name, sql: `CREATE TRIGGER ${name} ${when} BEGIN ${body} END` };
}

type TableParts = {
  /** With which the names of its indexes and of its trigger begin. Default: the name of the table. */
  readonly prefix?: string;
  /** Table constraints. */
  readonly more?: string;
  readonly suffix?: string;
  /** Columns by the last part of the index's name. Deleting a session needs one by session. */
  readonly indexes?: Readonly<Record<string, string>>;
  /** A row is deleted with its session, or with its message. */
  readonly goesWith?: "sessions" | "messages" | "nothing";
};

function ownTable(name: string, declarations: string, parts: TableParts = {}): OwnTable {
  const { prefix = name, more, suffix, indexes = {}, goesWith = "sessions" } = parts;
  const all = columns(declarations);
  const key = goesWith === "sessions" ? "session_id" : "message_id";
  const body = `DELETE FROM ${name} WHERE ${key} = old.id;`;
  return {
    name,
    columns: all,
    objects: [
      table(name, [declareInline(all), ...(more === undefined ? [] : [more])].join(", "), suffix),
      ...Object.entries(indexes).map(([part, on]) => index(`${prefix}_${part}`, `${name}(${on})`)),
      ...(goesWith === "nothing" ? [] : [trigger(`${prefix}_delete`, `AFTER DELETE ON ${goesWith}`, body)]),
    ],
  };
}

function declareInline(columns: readonly Column[]): string {
  return columns.map(({ name, declaration }) => `${name} ${declaration}`).join(", ");
}

// ---- Reading columns ----
// SQLite's integers exceed JavaScript's safe integers, and node:sqlite refuses to read a row with such a value, which another
// program may have written. So it is read as the nearest safe integer.

export const LARGEST_INTEGER = Number.MAX_SAFE_INTEGER;

/** `prefix` is a table alias with its dot. */
export function readableFields(columns: readonly Column[], prefix = ""): string {
  return columns
    .map(({ name, declaration }) =>
      declaration.startsWith("INTEGER") ? readableField(`${prefix}${name}`, name) : `${prefix}${name}`,
    )
    .join(", ");
}

/** Text and fractions, which an INTEGER column may contain, stay unchanged. */
export function readableField(column: string, name: string): string {
  return `CASE WHEN typeof(${column}) = 'integer' THEN ${clampInteger(column)} ELSE ${column} END AS ${name}`;
}

/** SQL: a number limited to the safe integers. */
export function clampInteger(number: string): string {
  return `MAX(-${LARGEST_INTEGER}, MIN(${LARGEST_INTEGER}, ${number}))`;
}

// ---- Columns of messages ----

/** Columns of later schemas that describe a row and are copied with it. */
export const LATER_MESSAGE_COLUMNS: readonly Column[] = columns(`
    effect_disposition TEXT, _compressed_summary INTEGER NOT NULL DEFAULT 0,
    compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT, display_kind TEXT, display_metadata TEXT
  `);
/** Also copied to another session; not read here. */
const ONLY_COPIED = ["message_uid", "absorbed_message_uids", "tool_call_uids", "tool_call_uid"];

/** The known columns of this file: those of schema 16, then later ones. */
export function messageColumns(file: FileFeatures): readonly Column[] {
  return [...MESSAGE_COLUMNS, ...LATER_MESSAGE_COLUMNS.filter(({ name }) => file.messages.has(name))];
}

/** All columns that a copy takes from its original, without id and session. */
export function copiedColumns(file: FileFeatures): readonly string[] {
  const names = messageColumns(file).map(({ name }) => name);
  return [...names, ...ONLY_COPIED.filter((name) => file.messages.has(name))].filter(
    (name) => name !== "id" && name !== "session_id",
  );
}

/** The columns that queries select from `MESSAGE_SOURCE`. */
export function messageFields(file: FileFeatures): string {
  return `${readableFields(messageColumns(file), "m.")}, ${readableField("o.origin_id", "origin_id")}`;
}
export const MESSAGE_SOURCE = "messages m LEFT JOIN hermes_memory_origin o ON o.message_id = m.id";

// ---- The schema of a file ----

/**
 * False when another program uses the name of our table. In a read-only file without the table, the empty temporary view counts.
 */
export function hasOwnTable(connection: Connection, { name, columns }: OwnTable): boolean {
  const rows = connection.all<{ name: string }>(`
    SELECT name FROM pragma_table_info('${name}')
    WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = '${name}' AND type <> 'table')
  `);
  const present = new Set(rows.map((row) => row.name));
  return columns.every((column) => present.has(column.name));
}

export function columnsOf(db: DatabaseSync, table: string): ReadonlySet<string> {
  const rows = db.prepare("SELECT name FROM pragma_table_info(?)").all(table);
  return new Set(rows.map(({ name }) => String(name)));
}

/** The objects of a file: each name with the SQL that declares it. */
export type Schema = ReadonlyMap<string, string>;

export function readSchema(db: DatabaseSync): Schema {
  const rows = db.prepare("SELECT name, sql FROM main.sqlite_master").all();
  return new Map(rows.map(({ name, sql }) => [String(name), String(sql ?? "")]));
}

export function isAsDeclared(found: Schema, { name, sql }: SchemaObject): boolean {
  return found.get(name) === sql;
}

/** Hermes Agent's schema version; 0 for a file without tables. */
export function versionOf(db: DatabaseSync): number {
  if (!readSchema(db).has("schema_version")) return 0;
  const row = db.prepare("SELECT MAX(version) AS version FROM schema_version").get();
  return typeof row?.version === "number" ? row.version : 0;
}
