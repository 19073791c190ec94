// Repairs a damaged database in place: statements on the schema and on objects that hold no data, the gentlest first.
// Each is tried on a copy before it is applied to the file.
import { DatabaseSync } from "node:sqlite";
import { schemaCookie } from "./connection.ts";
import type { Problem } from "./damage.ts";
import { isOpenElsewhere, openForRepair, retryBriefly } from "./database-file.ts";
import { classOfTable, OWN_KEPT_TABLES } from "./salvage/table-classes.ts";

export type RepairStrategy =
  | "dedup_schema"
  | "drop_fts_rebuild"
  | "rebuild_index"
  | "add_sessions"
  | "vacuum"
  | "salvage";

export type Step = {
  readonly strategy: RepairStrategy;
  /** Statements on the schema itself. */
  readonly schemaSql?: string;
  /** Each runs on a new connection, which reads the changed schema. A failure does not stop the next. */
  readonly after: readonly string[];
};

const DEDUP_SCHEMA = `
  DELETE FROM sqlite_master WHERE rowid NOT IN (SELECT min(rowid) FROM sqlite_master GROUP BY type, name)
`;

// The index tables with all their parts and triggers. A table of another program whose name only starts the same way stays.
const DROP_FTS = `
  DELETE FROM sqlite_master WHERE (name GLOB 'messages_fts*' OR tbl_name GLOB 'messages_fts*') AND (
    type <> 'table' OR name IN ('messages_fts', 'messages_fts_trigram') OR sql LIKE 'CREATE VIRTUAL TABLE%'
    OR name GLOB '*_data' OR name GLOB '*_idx' OR name GLOB '*_content' OR name GLOB '*_docsize' OR name GLOB '*_config'
  )
`;

// All our objects whose rows are derived from others, and all our indexes and triggers. The next open creates them again.
const KEPT = OWN_KEPT_TABLES.map((name) => `'${name}'`).join(", ");
const DROP_OWN = `
  DELETE FROM sqlite_master WHERE name GLOB 'hermes_memory_*' AND name NOT IN (${KEPT})
    OR tbl_name GLOB 'hermes_memory_*' AND tbl_name NOT IN (${KEPT})
`;

// An index or trigger without its table makes the schema malformed again.
const DROP_ORPHANS = `
  DELETE FROM sqlite_master WHERE type IN ('index', 'trigger') AND lower(tbl_name) NOT IN (
    SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')
  )
`;

// They contain no data, and every open creates missing ones in files up to schema 16.
const DROP_INDEXES = `
  DELETE FROM sqlite_master
  WHERE type = 'index' AND name GLOB 'idx_*' AND tbl_name IN ('sessions', 'messages', 'compression_locks')
    AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'messages' AND type = 'table' AND sql LIKE '%compacted%')
`;

/**
 * Adds a row for each session that messages or other sessions name but that does not exist, with what the messages tell about it.
 */
export const ADD_SESSIONS = `
  INSERT INTO sessions (id, source, started_at, message_count)
  SELECT m.session_id, 'unknown', COALESCE(MIN(m.timestamp), 0), COUNT(*) FROM messages m
    WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id) GROUP BY m.session_id;
  INSERT INTO sessions (id, source, started_at)
  SELECT c.parent_session_id, 'unknown', MIN(c.started_at) FROM sessions c
    WHERE c.parent_session_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = c.parent_session_id)
    GROUP BY c.parent_session_id
`;

/** The steps that may repair these problems, in the order to try them. */
export function stepsFor(problems: readonly Problem[]): readonly Step[] {
  const kinds = new Set(problems.map(({ kind }) => kind));
  if (!kinds.has("pages")) {
    const after = kinds.has("keys") ? [ADD_SESSIONS] : [];
    if (kinds.has("space")) return [{ strategy: "vacuum", after: [...after, "VACUUM"] }];
    return kinds.has("keys") ? [{ strategy: "add_sessions", after }] : [];
  }
  if (problems.some(isRowLost)) return [];
  const drop = (...statements: string[]): Step => ({
    strategy: "drop_fts_rebuild",
    schemaSql: [DEDUP_SCHEMA, DROP_OWN, DROP_INDEXES, ...statements, DROP_ORPHANS].join(";"),
    after: ["REINDEX", "VACUUM"],
  });
  // Hermes Agent's index is dropped only if nothing else helps.
  return [{ strategy: "dedup_schema", schemaSql: DEDUP_SCHEMA, after: [] }, drop(), drop(DROP_FTS)];
}

/**
 * Pages of a table with its own rows, or of an index that is not created at every open, which only a salvage replaces. A page used by two
 * tables does not count: SQLite names the second one it finds, and the other may be droppable.
 */
function isRowLost({ kind, object, text }: Problem): boolean {
  if (kind !== "pages" || object === undefined || /2nd reference to page/.test(text)) return false;
  return object !== "sqlite_schema" && !object.startsWith("idx_") && classOfTable(object) !== "derived";
}

/** False, and nothing is done, when the file's schema has changed since the trial on the copy. */
export async function apply(step: Step, file: string, expectedCookie?: number): Promise<boolean> {
  const { schemaSql } = step;
  if (schemaSql !== undefined) {
    const applied = await retryBriefly(() => editSchema(schemaSql, file, expectedCookie));
    if (!applied) return false;
  }
  for (const sql of step.after) {
    // It moves every page. A running Hermes Agent with schema 17 stops when that happens to its file.
    if (sql === "VACUUM" && isOpenElsewhere(file)) continue;
    try {
      await retryBriefly(() => {
        using db = new DatabaseSync(file, { timeout: 50 });
        db.exec(`BEGIN; ${sql}; COMMIT`.replace("BEGIN; VACUUM; COMMIT", "VACUUM"));
      });
    } catch {
      // The caller checks the result. Pages of an old index may stay in the file, unused, until the next VACUUM.
    }
  }
  return true;
}

function editSchema(sql: string, file: string, expectedCookie: number | undefined): boolean {
  using db = openForRepair(file);
  db.exec("BEGIN IMMEDIATE");
  try {
    const cookie = schemaCookie(db);
    const isAsRehearsed = expectedCookie === undefined || expectedCookie === cookie;
    if (isAsRehearsed) {
      db.exec(sql);
      db.exec(`PRAGMA schema_version = ${cookie + 1}`); // otherwise open connections of other processes would not notice the change
    }
    db.exec("COMMIT");
    return isAsRehearsed;
  } catch (cause) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw cause;
  }
}
