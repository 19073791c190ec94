// Repairs a damaged database in place: statements on the schema and on objects that hold no data, the gentlest first.
// Each is tried on a copy before it is applied to the file.
import { DatabaseSync } from "node:sqlite";
import { schemaCookie } from "./connection.ts";
import type { Problem } from "./damage.ts";
import { openForRepair, otherProcessesWithFileOpen, retryWhileBusy } from "./database-file.ts";
import { classOfTable, indexFamily, isSearchTable } from "./salvage/table-classes.ts";

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

// The unfinished second index of an `optimize` by 0.1.0 or 0.2.0.
const DROP_HALF_BUILT = `DELETE FROM sqlite_master WHERE name GLOB 'hermes_memory_new_*' OR name GLOB 'hermes_memory_build*'`;

// All our tables that are derived from others, with indexes, views and triggers. The next open creates them again.
const DROP_OWN = `
  DELETE FROM sqlite_master WHERE name GLOB 'hermes_memory_*' AND name NOT GLOB 'hermes_memory_prompts*'
    AND name NOT GLOB 'hermes_memory_titles*' AND name NOT GLOB 'hermes_memory_extracted*'
    AND name NOT GLOB 'hermes_memory_origin*' AND name NOT GLOB 'hermes_memory_rewound*' AND name NOT GLOB 'hermes_memory_leases*'
    AND name NOT GLOB 'hermes_memory_nodes*' AND name NOT GLOB 'hermes_memory_provenance*' AND name <> 'hermes_memory_found'
    AND name NOT GLOB 'hermes_memory_live*' AND name NOT GLOB 'hermes_memory_marks*' AND name NOT GLOB 'hermes_memory_recalls*'
    AND name NOT GLOB 'hermes_memory_rounds*' AND name NOT GLOB 'hermes_memory_spend*' AND name NOT GLOB 'hermes_memory_asks*'
    OR tbl_name GLOB 'hermes_memory_*' AND tbl_name NOT IN ('hermes_memory_prompts', 'hermes_memory_titles', 'hermes_memory_extracted',
      'hermes_memory_origin', 'hermes_memory_rewound', 'hermes_memory_leases', 'hermes_memory_provenance',
      'hermes_memory_live', 'hermes_memory_marks', 'hermes_memory_recalls', 'hermes_memory_rounds', 'hermes_memory_spend', 'hermes_memory_asks',
      'hermes_memory_found')
`;

// An index or trigger without its table makes the schema malformed again.
const DROP_ORPHANS = `
  DELETE FROM sqlite_master WHERE type IN ('index', 'trigger') AND lower(tbl_name) NOT IN (
    SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')
  )
`;

// They contain no data, and every open creates missing ones.
const DROP_INDEXES = `
  DELETE FROM sqlite_master
  WHERE type = 'index' AND name GLOB 'idx_*' AND tbl_name IN ('sessions', 'messages', 'compression_locks')
`;

const TIDY_UP = ["REINDEX", "VACUUM"];

/**
 * Adds a row for each session that messages or other sessions name but that does not exist, with what the messages tell about it.
 */
const ADD_SESSIONS = `
  INSERT INTO sessions (id, source, started_at, message_count)
  SELECT m.session_id, 'unknown', COALESCE(MIN(m.timestamp), 0), COUNT(*) FROM messages m
    WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id) GROUP BY m.session_id;
  INSERT INTO sessions (id, source, started_at)
  SELECT c.parent_session_id, 'unknown', MIN(c.started_at) FROM sessions c
    WHERE c.parent_session_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = c.parent_session_id)
    GROUP BY c.parent_session_id
`;

/** The steps that may repair these problems, in the order to try them. */
export function stepsFor(problems: readonly Problem[], { indexes, isLater }: KnownSchema): readonly Step[] {
  const kinds = new Set(problems.map(({ kind }) => kind));
  if (!kinds.has("pages")) {
    const steps: Step[] = [];
    const after = kinds.has("keys") ? [ADD_SESSIONS] : [];
    if (kinds.has("space")) steps.push({ strategy: "vacuum", after: [...after, "VACUUM"] });
    else if (kinds.has("keys")) steps.push({ strategy: "add_sessions", after });
    return steps;
  }
  if (isRowLost(problems, indexes)) return [];
  // Hermes Agent's index is dropped only if nothing else helps. Other indexes of later schemas are unknown to us.
  const drops = isLater
    ? [[DROP_OWN], [DROP_FTS], [DROP_OWN, DROP_FTS]]
    : [
        [DROP_OWN],
        [DROP_INDEXES],
        [DROP_FTS, DROP_HALF_BUILT],
        [DROP_FTS, DROP_OWN],
        [DROP_FTS, DROP_OWN, DROP_INDEXES],
      ];
  return [
    { strategy: "dedup_schema", schemaSql: DEDUP_SCHEMA, after: [] },
    ...dropDamaged(problems, indexes),
    ...drops.map((statements) => ({
      strategy: "drop_fts_rebuild" as const,
      schemaSql: [DEDUP_SCHEMA, ...statements, DROP_ORPHANS].join(";"),
      after: TIDY_UP,
    })),
  ];
}

/**
 * True when pages of a table with its own rows are damaged, which no drop can repair. A page used by two tables does not count:
 * SQLite names the second one it finds, and the other may be droppable.
 */
function isRowLost(problems: readonly Problem[], indexes: readonly IndexDeclaration[]): boolean {
  const isIndex = (name: string) =>
    name.startsWith("sqlite_autoindex_") || indexes.some((index) => index.name === name);
  return problems.some(
    ({ kind, object, text }) =>
      kind === "pages" &&
      object !== undefined &&
      !/2nd reference to page/.test(text) &&
      object !== "sqlite_schema" &&
      !isIndex(object) &&
      classOfTable(object) !== "derived",
  );
}

type IndexDeclaration = { readonly name: string; readonly sql: string };

/**
 * If only search indexes and declared indexes are damaged, exactly those are dropped; declared indexes are created again at once.
 */
function dropDamaged(problems: readonly Problem[], schema: readonly IndexDeclaration[]): Step[] {
  const declared = new Map(schema.map(({ name, sql }) => [name, sql]));
  const names = [
    ...new Set(problems.filter(({ kind }) => kind === "pages").map(({ object }) => object ?? "")),
  ];
  if (!names.every((name) => declared.has(name) || isSearchTable(name))) return [];
  // Parts of an unfinished index are dropped together with the record of its progress.
  if (names.some((name) => /^hermes_memory_(?:new_|build)/.test(name))) return [];
  const families = names.filter(isSearchTable).map(indexFamily);
  const drops = names.filter((name) => declared.has(name)).map((name) => `name = '${escaped(name)}'`);
  for (const family of new Set(families)) {
    drops.push(`name = '${escaped(family)}' OR tbl_name = '${escaped(family)}'`);
    for (const suffix of ["data", "idx", "content", "docsize", "config"])
      drops.push(`tbl_name = '${escaped(family)}_${suffix}'`);
    // Triggers that fill the index would fail at the next message. Its name is a whole word in them.
    drops.push(`type = 'trigger' AND (sql LIKE '%${family} %' OR sql LIKE '%${family}(%')`);
  }
  const indexes = names.flatMap((name) => declared.get(name) ?? []);
  return [
    {
      strategy: families.length > 0 ? "drop_fts_rebuild" : "rebuild_index",
      schemaSql: `DELETE FROM sqlite_master WHERE ${drops.map((drop) => `(${drop})`).join(" OR ")}; ${DROP_ORPHANS}`,
      after: [...indexes, ...TIDY_UP],
    },
  ];
}

function escaped(name: string): string {
  return name.replaceAll("'", "''");
}

export type KnownSchema = {
  /** Indexes that can be created again from their declaration. */
  readonly indexes: readonly IndexDeclaration[];
  /** The file was used by a Hermes Agent with schema 17 or later. */
  readonly isLater: boolean;
};

/** Empty when the schema cannot be read. */
export function knownSchema(file: string): KnownSchema {
  try {
    using db = openForRepair(file);
    const rows = db
      .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
      .all();
    const indexes = rows.map(({ name, sql }) => ({ name: String(name), sql: String(sql) }));
    return { indexes, isLater: isLaterFile(db) };
  } catch {
    return { indexes: [], isLater: false };
  }
}

/** By the declaration of `messages`, which can be read even if the schema as a whole cannot. */
function isLaterFile(db: DatabaseSync): boolean {
  const sql =
    "SELECT 1 FROM sqlite_master WHERE name = 'messages' AND type = 'table' AND sql LIKE '%compacted%'";
  return db.prepare(sql).get() !== undefined;
}

/** False, and nothing is done, when the file's schema has changed since the trial on the copy. */
export async function apply(step: Step, file: string, expectedCookie?: number): Promise<boolean> {
  const { schemaSql } = step;
  if (schemaSql !== undefined) {
    const applied = await retryWhileBusy(() => editSchema(schemaSql, file, expectedCookie));
    if (!applied) return false;
  }
  for (const sql of step.after) {
    if (sql === "VACUUM" && isUsedByLaterProgram(file)) continue;
    try {
      await retryWhileBusy(() => {
        using db = new DatabaseSync(file, { timeout: 50 });
        db.exec(`BEGIN; ${sql}; COMMIT`.replace("BEGIN; VACUUM; COMMIT", "VACUUM"));
      });
    } catch {
      // The caller checks the result. Pages of an old index may stay in the file, unused, until the next VACUUM.
    }
  }
  return true;
}

/** VACUUM moves every page. A running Hermes Agent with schema 17 stops when that happens to its file. */
function isUsedByLaterProgram(file: string): boolean {
  try {
    using db = openForRepair(file);
    return isLaterFile(db) && otherProcessesWithFileOpen(file).length > 0;
  } catch {
    return true; // do not vacuum a schema that cannot be read
  }
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
