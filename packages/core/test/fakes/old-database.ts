// Session databases as the Python original left them at each of its earlier schema versions, with a little of
// everything inside: conversations that went on, forked and delegated, tool calls, structured and Chinese text.
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

export const OLD_VERSIONS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] as const;
export type OldVersion = (typeof OLD_VERSIONS)[number];

type OldMessage = {
  readonly id: number;
  readonly session: string;
  readonly role: string;
  /** As the store gives it back: structured content decoded. */
  readonly content: unknown;
};

export type OldDatabase = {
  /** Ended by compression; titled from version 3 on. */
  readonly root: string;
  readonly continuation: string;
  /** Untitled, short, used a tool: what step 16(b) of the original would hide. */
  readonly toolRoot: string;
  /** Children that are neither branch nor continuation, one of them of a parent that was compressed later. */
  readonly delegates: readonly { readonly id: string; readonly parent: string }[];
  readonly branchParent: string;
  readonly branch: string;
  readonly messages: readonly OldMessage[];
};

export const OLD_TITLE = "harbour crane";

/** Writes the file, in WAL mode, and closes it. `change` may damage it in the ways old files are damaged. */
export function makeOldDatabase(
  path: string,
  version: OldVersion,
  change?: (db: DatabaseSync) => void,
): OldDatabase {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA journal_mode=WAL");
    db.exec(schemaOf(version));
    db.prepare("INSERT INTO schema_version (version) VALUES (?)").run(version);
    const made = fill(db, version);
    change?.(db);
    return made;
  } finally {
    db.close();
  }
}

// ---- schema ----

/** A column and the version that brought it. */
type Column = readonly [since: number, definition: string];

const SESSION_COLUMNS: readonly Column[] = [
  [1, "id TEXT PRIMARY KEY"],
  [1, "source TEXT NOT NULL"],
  [1, "user_id TEXT"],
  [1, "model TEXT"],
  [1, "model_config TEXT"],
  [1, "system_prompt TEXT"],
  [1, "parent_session_id TEXT"],
  [1, "started_at REAL NOT NULL"],
  [1, "ended_at REAL"],
  [1, "end_reason TEXT"],
  [1, "message_count INTEGER DEFAULT 0"],
  [1, "tool_call_count INTEGER DEFAULT 0"],
  [1, "input_tokens INTEGER DEFAULT 0"],
  [1, "output_tokens INTEGER DEFAULT 0"],
  [5, "cache_read_tokens INTEGER DEFAULT 0"],
  [5, "cache_write_tokens INTEGER DEFAULT 0"],
  [5, "reasoning_tokens INTEGER DEFAULT 0"],
  [14, "cwd TEXT"],
  [5, "billing_provider TEXT"],
  [5, "billing_base_url TEXT"],
  [5, "billing_mode TEXT"],
  [5, "estimated_cost_usd REAL"],
  [5, "actual_cost_usd REAL"],
  [5, "cost_status TEXT"],
  [5, "cost_source TEXT"],
  [5, "pricing_version TEXT"],
  [3, "title TEXT"],
  [8, "api_call_count INTEGER DEFAULT 0"],
  [12, "handoff_state TEXT"],
  [12, "handoff_platform TEXT"],
  [12, "handoff_error TEXT"],
  [15, "rewind_count INTEGER NOT NULL DEFAULT 0"],
  [15, "archived INTEGER NOT NULL DEFAULT 0"],
  [1, "FOREIGN KEY (parent_session_id) REFERENCES sessions(id)"],
];

const MESSAGE_COLUMNS: readonly Column[] = [
  [1, "id INTEGER PRIMARY KEY AUTOINCREMENT"],
  [1, "session_id TEXT NOT NULL REFERENCES sessions(id)"],
  [1, "role TEXT NOT NULL"],
  [1, "content TEXT"],
  [1, "tool_call_id TEXT"],
  [1, "tool_calls TEXT"],
  [1, "tool_name TEXT"],
  [1, "timestamp REAL NOT NULL"],
  [1, "token_count INTEGER"],
  [2, "finish_reason TEXT"],
  [6, "reasoning TEXT"],
  [7, "reasoning_content TEXT"],
  [6, "reasoning_details TEXT"],
  [6, "codex_reasoning_items TEXT"],
  [9, "codex_message_items TEXT"],
  [12, "platform_message_id TEXT"],
  [13, "observed INTEGER DEFAULT 0"],
  [15, "active INTEGER NOT NULL DEFAULT 1"],
];

const OBJECTS: readonly (readonly [since: number, sql: string])[] = [
  [8, "CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT)"],
  [
    14,
    `CREATE TABLE compression_locks (
       session_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL
     )`,
  ],
  [1, "CREATE INDEX idx_sessions_source ON sessions(source)"],
  [15, "CREATE INDEX idx_sessions_source_id ON sessions(source, id)"],
  [1, "CREATE INDEX idx_sessions_parent ON sessions(parent_session_id)"],
  [1, "CREATE INDEX idx_sessions_started ON sessions(started_at DESC)"],
  [1, "CREATE INDEX idx_messages_session ON messages(session_id, timestamp)"],
  [14, "CREATE INDEX idx_compression_locks_expires ON compression_locks(expires_at)"],
  [
    12,
    `CREATE INDEX idx_messages_platform_msg_id ON messages(session_id, platform_message_id)
     WHERE platform_message_id IS NOT NULL`,
  ],
  [15, "CREATE INDEX idx_messages_session_active ON messages(session_id, active, timestamp)"],
  [4, "CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL"],
];

function schemaOf(version: OldVersion): string {
  return [
    "CREATE TABLE schema_version (version INTEGER NOT NULL)",
    `CREATE TABLE sessions (\n    ${columnsOf(SESSION_COLUMNS, version)}\n)`,
    `CREATE TABLE messages (\n    ${columnsOf(MESSAGE_COLUMNS, version)}\n)`,
    ...OBJECTS.filter(([since]) => since <= version).map(([, sql]) => sql),
    ...(version < 11 ? externalIndex("messages_fts", "") : inlineIndex("messages_fts", "")),
    ...(version === 10 ? externalIndex("messages_fts_trigram", "tokenize='trigram'") : []),
    ...(version > 10 ? inlineIndex("messages_fts_trigram", "tokenize='trigram'") : []),
  ].join(";\n");
}

function columnsOf(columns: readonly Column[], version: OldVersion): string {
  return columns
    .filter(([since]) => since <= version)
    .map(([, definition]) => definition)
    .join(",\n    ");
}

/** Up to version 10: the words of `content` only, read back from the messages. */
function externalIndex(table: string, tokenizer: string): string[] {
  const options = ["content", "content=messages", "content_rowid=id", tokenizer].filter(
    (part) => part !== "",
  );
  const remove = `INSERT INTO ${table}(${table}, rowid, content) VALUES('delete', old.id, old.content);`;
  const add = `INSERT INTO ${table}(rowid, content) VALUES (new.id, new.content);`;
  return [
    `CREATE VIRTUAL TABLE ${table} USING fts5(\n    ${options.join(",\n    ")}\n)`,
    ...triggers(table, add, remove),
  ];
}

/** From version 11 on: a copy of all indexed text. */
function inlineIndex(table: string, tokenizer: string): string[] {
  const options = ["content", tokenizer].filter((part) => part !== "");
  const remove = `DELETE FROM ${table} WHERE rowid = old.id;`;
  const add = `INSERT INTO ${table}(rowid, content) VALUES (
        new.id,
        COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')
    );`;
  return [
    `CREATE VIRTUAL TABLE ${table} USING fts5(\n    ${options.join(",\n    ")}\n)`,
    ...triggers(table, add, remove),
  ];
}

function triggers(table: string, add: string, remove: string): string[] {
  return [
    `CREATE TRIGGER ${table}_insert AFTER INSERT ON messages BEGIN\n    ${add}\nEND`,
    `CREATE TRIGGER ${table}_delete AFTER DELETE ON messages BEGIN\n    ${remove}\nEND`,
    `CREATE TRIGGER ${table}_update AFTER UPDATE ON messages BEGIN\n    ${remove}\n    ${add}\nEND`,
  ];
}

// ---- content ----

type Row = Readonly<Record<string, SQLInputValue>>;

/** The version that began to store lists of parts is not known; no later than this one. */
const STRUCTURED_SINCE = 7;
const PARTS = [{ type: "text", text: "see the velvetanchor" }];

function fill(db: DatabaseSync, version: OldVersion): OldDatabase {
  const root = "20250101_100000_aaaaaa";
  const continuation = "20250101_120000_bbbbbb";
  const toolRoot = "20250102_100000_cccccc";
  const branchParent = "20250103_100000_dddddd";
  const branch = "20250103_110000_eeeeee";
  const early = { id: "20250101_110000_ffffff", parent: root };
  const late = { id: "20250101_130000_abcdef", parent: continuation };
  const session = (id: string, startedAt: number, more: Row = {}) => {
    const { title, ...others } = more;
    const row = { id, source: "cli", started_at: startedAt, ...others };
    insert(db, "sessions", version >= 3 && title !== undefined ? { ...row, title } : row);
  };
  session(root, 1000, { ended_at: 2000, end_reason: "compression", title: OLD_TITLE });
  session(continuation, 2000, { parent_session_id: root, title: `${OLD_TITLE} #2` });
  session(toolRoot, 3000);
  session(branchParent, 4000, { ended_at: 5000, end_reason: "branched" });
  session(branch, 5000, { parent_session_id: branchParent });
  session(early.id, 1500, { parent_session_id: root, source: "subagent" });
  session(late.id, 2500, { parent_session_id: continuation, model_config: '{"depth": 1}' });

  const messages: OldMessage[] = [];
  const message = (id: string, at: number, role: string, stored: Row, content: unknown = stored.content) => {
    insert(db, "messages", { session_id: id, role, timestamp: at, ...stored });
    messages.push({ id: messages.length + 1, session: id, role, content: content ?? null });
    const calls = stored.tool_calls === undefined ? 0 : 1;
    db.prepare(
      "UPDATE sessions SET message_count = message_count + 1, tool_call_count = tool_call_count + ? WHERE id = ?",
    ).run(calls, id);
  };
  const calls = JSON.stringify([
    { id: "c1", type: "function", function: { name: "grep", arguments: '{"q": "mossbridge"}' } },
  ]);
  message(root, 1001, "user", { content: "the quartzwharf crane turns slowly" });
  message(root, 1002, "assistant", { content: "it turns at noon" });
  message(continuation, 2001, "user", { content: "昨天讨论了琥珀灯塔的部署方案" });
  message(continuation, 2002, "assistant", { content: "the brittlefern grows" });
  message(toolRoot, 3001, "user", { content: "where is the bridge?" });
  message(toolRoot, 3002, "assistant", { tool_calls: calls });
  message(toolRoot, 3003, "tool", { content: "opalhinge", tool_name: "grep", tool_call_id: "c1" });
  message(branchParent, 4001, "user", { content: "heronloft, first try" });
  message(branch, 5001, "user", { content: "heronloft, second try" });
  message(early.id, 1501, "user", { content: "look for cranes" });
  if (version >= STRUCTURED_SINCE)
    message(continuation, 2003, "user", { content: `\0json:${JSON.stringify(PARTS)}` }, PARTS);
  return { root, continuation, toolRoot, delegates: [early, late], branchParent, branch, messages };
}

function insert(db: DatabaseSync, table: string, row: Row): void {
  const names = Object.keys(row);
  const marks = names.map(() => "?").join(", ");
  db.prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks})`).run(...Object.values(row));
}
