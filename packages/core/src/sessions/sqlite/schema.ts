// The tables as schema version 16 of the original has them. Other programs share them: names, order, types and defaults
// are fixed. Our own tables are in side-tables.ts.

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

function columns(text: string): Column[] {
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [name = "", ...declaration] = line.trim().split(" ");
      return { name, declaration: declaration.join(" ") };
    });
}
