// The floor: the same rows in bare tables, with the same durability.
import { DatabaseSync } from "node:sqlite";
import { contentText, sourceOf } from "../corpus/index.ts";
import type { Target } from "./target.ts";

type Bound = string | number | null;

/** The minimum that stores the rows durably: the same two tables without index, trigger or counter. */
export function floorTarget(path: string): Target<Bound[]> {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${FLOOR_TABLES}`);
  const session = db.prepare("INSERT INTO sessions (id, source, started_at) VALUES (?, ?, ?)");
  const message = db.prepare(
    `INSERT INTO messages (role, content, timestamp, tool_calls, tool_name, tool_call_id, finish_reason, session_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const appendMany = (sessionId: string, inputs: readonly Bound[][]) => {
    db.exec("BEGIN IMMEDIATE");
    for (const input of inputs) message.run(...input, sessionId);
    db.exec("COMMIT");
  };
  return {
    createSession: (id, startedAt) => session.run(id, sourceOf(id), startedAt),
    prepare: (m) => [
      m.role,
      contentText(m),
      m.ts,
      m.tool_calls ? JSON.stringify(m.tool_calls) : null,
      m.tool_name ?? null,
      m.tool_call_id ?? null,
      m.finish_reason ?? null,
    ],
    appendOne: (sessionId, input) => appendMany(sessionId, [input]),
    appendMany,
    close: () => db.close(),
  };
}

const FLOOR_TABLES = `
  CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT, system_prompt TEXT,
    parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
    message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, cache_read_tokens INTEGER DEFAULT 0,
    cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0, cwd TEXT, billing_provider TEXT,
    billing_base_url TEXT, billing_mode TEXT, estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT,
    cost_source TEXT, pricing_version TEXT, title TEXT, api_call_count INTEGER DEFAULT 0, handoff_state TEXT,
    handoff_platform TEXT, handoff_error TEXT, rewind_count INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, token_count INTEGER,
    finish_reason TEXT, reasoning TEXT, reasoning_content TEXT, reasoning_details TEXT, codex_reasoning_items TEXT,
    codex_message_items TEXT, platform_message_id TEXT, observed INTEGER DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 1
  );
`;
