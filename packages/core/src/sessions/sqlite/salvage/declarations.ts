// Declarations of tables we know, for files whose schema has lost them. The order of columns is what matters: rows are
// stored by position.
import { MESSAGE_COLUMNS, OWN_TABLES, SESSION_COLUMNS, TABLES } from "../schema.ts";

/** Columns that version 30 of the original has and 16 has not, each with the column it follows in a file made at 30. */
const LATER_SESSION_COLUMNS = `
  source: created_source TEXT
  user_id: session_key TEXT, chat_id TEXT, chat_type TEXT, thread_id TEXT, display_name TEXT, origin_json TEXT, expiry_finalized INTEGER DEFAULT 0
  system_prompt: system_prompt_hash TEXT
  cwd: git_branch TEXT, git_repo_root TEXT, git_metadata_generation INTEGER NOT NULL DEFAULT 0
  title: title_source TEXT, last_activity_at REAL, last_activity_description TEXT, last_activity_provenance TEXT
  handoff_error: compression_failure_cooldown_until REAL, compression_failure_error TEXT, compression_fallback_streak INTEGER NOT NULL DEFAULT 0, compression_ineffective_count INTEGER NOT NULL DEFAULT 0, compression_recovery_deadline REAL, compression_overload_streak INTEGER NOT NULL DEFAULT 0, profile_name TEXT, transport_profile TEXT
  archived: pinned INTEGER NOT NULL DEFAULT 0, hidden INTEGER NOT NULL DEFAULT 0, last_read_at REAL, tool_names TEXT
`;
const LATER_MESSAGE_COLUMNS = `
  tool_name: effect_disposition TEXT
  observed: _compressed_summary INTEGER NOT NULL DEFAULT 0
  active: compacted INTEGER NOT NULL DEFAULT 0, api_content TEXT, display_kind TEXT, display_metadata TEXT, display_identity BLOB, display_order INTEGER
`;
const PARENT_KEY = "FOREIGN KEY (parent_session_id) REFERENCES sessions(id)";

/**
 * What a table of this name may have been declared as, by name. Only tables with ten columns and more: the rows of those
 * can be told from all others. Files made at 30 and files of 16 that were raised to 30 differ in the order of columns.
 */
export const POSSIBLE_DECLARATIONS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "sessions",
    [TABLES.sessions, ...laterLayouts("sessions", SESSION_COLUMNS, LATER_SESSION_COLUMNS, PARENT_KEY)],
  ],
  ["messages", [TABLES.messages, ...laterLayouts("messages", MESSAGE_COLUMNS, LATER_MESSAGE_COLUMNS)]],
  ...OWN_TABLES.filter(({ columns }) => columns.length >= 10).map(
    ({ name, objects }) =>
      [name, objects.filter(({ type }) => type === "table").map(({ sql }) => sql)] as const,
  ),
]);

type Column = { readonly name: string; readonly declaration: string };

function laterLayouts(table: string, known: readonly Column[], later: string, ...more: string[]): string[] {
  const after = new Map(
    later
      .trim()
      .split("\n")
      .map((line) => {
        const [name = "", added = ""] = line.trim().split(": ");
        return [name, added.split(", ")] as const;
      }),
  );
  const text = ({ name, declaration }: Column): string => `${name} ${declaration}`;
  const made = known.flatMap((column) => [text(column), ...(after.get(column.name) ?? [])]);
  const raised = [...known.map(text), ...[...after.values()].flat()];
  return [made, raised].map((columns) => `CREATE TABLE ${table} (${[...columns, ...more].join(", ")})`);
}
