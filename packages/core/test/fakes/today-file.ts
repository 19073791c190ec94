// A file as today's original leaves it: the columns and tables of version 30 that matter to rows, added to a file of ours the way the
// original adds them, also while a store of ours has it open.
import { DatabaseSync } from "node:sqlite";

const SESSIONS = `
  created_source TEXT, session_key TEXT, chat_id TEXT, chat_type TEXT, thread_id TEXT, display_name TEXT, origin_json TEXT,
  expiry_finalized INTEGER DEFAULT 0, git_branch TEXT, git_repo_root TEXT, git_metadata_generation INTEGER NOT NULL DEFAULT 0,
  title_source TEXT, last_activity_at REAL, last_activity_description TEXT, last_activity_provenance TEXT, profile_name TEXT,
  transport_profile TEXT, pinned INTEGER NOT NULL DEFAULT 0, hidden INTEGER NOT NULL DEFAULT 0, last_read_at REAL, tool_names TEXT
`;
const MESSAGES = `
  effect_disposition TEXT, _compressed_summary INTEGER NOT NULL DEFAULT 0, compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT,
  display_kind TEXT, display_metadata TEXT, display_identity BLOB, display_order INTEGER
`;
const TABLES = `
  CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
  ALTER TABLE sessions ADD COLUMN system_prompt_hash TEXT REFERENCES system_prompts(hash);
  CREATE INDEX idx_sessions_system_prompt_hash ON sessions(system_prompt_hash);
  CREATE TABLE session_turn_leases (conversation_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL,
    expires_at REAL NOT NULL);
  CREATE TABLE conversation_generations (source TEXT NOT NULL, session_key TEXT NOT NULL, generation INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (source, session_key));
`;

/** Rows stay as they are; prompts are not moved. */
export function upgradeToToday(path: string): void {
  using db = new DatabaseSync(path);
  const add = (table: string, columns: string) =>
    columns
      .split(",")
      .map((column) => `ALTER TABLE ${table} ADD COLUMN ${column.trim()};`)
      .join("\n");
  db.exec(
    `BEGIN IMMEDIATE; ${add("sessions", SESSIONS)} ${add("messages", MESSAGES)} ${TABLES} UPDATE schema_version SET version = 30; COMMIT`,
  );
}
