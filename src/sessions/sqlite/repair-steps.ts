// What can be done to a database whose schema SQLite calls malformed: statements on the schema itself, gentle ones first.
import { DatabaseSync } from "node:sqlite";
import { isMalformed } from "./damage.ts";
import { BUILD } from "./index-layout.ts";
import { openForSurgery, patiently, schemaCookie } from "./surgery.ts";

export type RepairStrategy = "dedup_schema" | "drop_fts_rebuild";

export type Step = { readonly strategy: RepairStrategy; readonly sql: string };

const DEDUP_SCHEMA = `
  DELETE FROM sqlite_master WHERE rowid NOT IN (SELECT min(rowid) FROM sqlite_master GROUP BY type, name)
`;

// The index tables with all they consist of, and what is attached to them. A table of somebody else that only begins
// like them stays.
const DROP_FTS = `
  DELETE FROM sqlite_master WHERE (name GLOB 'messages_fts*' OR tbl_name GLOB 'messages_fts*') AND (
    type <> 'table' OR name IN ('messages_fts', 'messages_fts_trigram') OR sql LIKE 'CREATE VIRTUAL TABLE%'
    OR name GLOB '*_data' OR name GLOB '*_idx' OR name GLOB '*_content' OR name GLOB '*_docsize' OR name GLOB '*_config'
  )
`;

// What optimize.ts has built so far of a second index. It is made of the same text as the first and can start again.
const DROP_HALF_BUILT = `
  DELETE FROM sqlite_master WHERE name GLOB 'hermes_memory_new_*' OR name GLOB '${BUILD}*'
`;

// An index or trigger without its table makes the schema malformed again.
const DROP_ORPHANS = `
  DELETE FROM sqlite_master WHERE type IN ('index', 'trigger') AND lower(tbl_name) NOT IN (
    SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view')
  )
`;

// They hold nothing of their own, and every open creates those that are missing.
const DROP_INDEXES = `
  DELETE FROM sqlite_master
  WHERE type = 'index' AND name GLOB 'idx_*' AND tbl_name IN ('sessions', 'messages', 'compression_locks')
`;

const NO_SEARCH_INDEX = [DROP_FTS, DROP_HALF_BUILT];

/** Gentle ones first. */
export const STEPS: readonly Step[] = [
  { strategy: "dedup_schema", sql: DEDUP_SCHEMA },
  { strategy: "drop_fts_rebuild", sql: [DEDUP_SCHEMA, ...NO_SEARCH_INDEX, DROP_ORPHANS].join(";") },
  {
    strategy: "drop_fts_rebuild",
    sql: [DEDUP_SCHEMA, ...NO_SEARCH_INDEX, DROP_INDEXES, DROP_ORPHANS].join(";"),
  },
];

/** False when the file's schema is no longer the one that was rehearsed with; nothing was done then. */
export async function apply(step: Step, file: string, expectedCookie?: number): Promise<boolean> {
  const applied = await patiently(() => editSchema(step, file, expectedCookie));
  if (!applied || step.strategy === "dedup_schema") return applied;
  for (const sql of ["REINDEX", "VACUUM"]) {
    try {
      await patiently(() => {
        using db = new DatabaseSync(file, { timeout: 50 }); // a fresh one, which knows the schema as it is now
        db.exec(sql);
      });
    } catch {
      // Whoever called looks at the outcome. Pages of the old index may stay in the file, unused, until the next VACUUM.
    }
  }
  return true;
}

function editSchema({ sql }: Step, file: string, expectedCookie: number | undefined): boolean {
  using db = openForSurgery(file);
  db.exec("BEGIN IMMEDIATE");
  try {
    const cookie = schemaCookie(db);
    const isAsRehearsed = expectedCookie === undefined || expectedCookie === cookie;
    if (isAsRehearsed) {
      db.exec(sql);
      db.exec(`PRAGMA schema_version = ${cookie + 1}`); // or open connections of others would not notice
    }
    db.exec("COMMIT");
    return isAsRehearsed;
  } catch (cause) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw cause;
  }
}

/** At rank 1 FTS5 also compares an index with the text, which `PRAGMA integrity_check` does not. */
export function rebuildWrongIndexes(file: string): void {
  using db = new DatabaseSync(file, { timeout: 50 });
  const found = db.prepare(
    "SELECT name FROM sqlite_master WHERE name IN ('messages_fts', 'messages_fts_trigram')",
  );
  for (const { name } of found.all()) {
    try {
      db.exec(`INSERT INTO ${name}(${name}, rank) VALUES('integrity-check', 1)`);
    } catch (cause) {
      if (!isMalformed(cause)) throw cause;
      db.exec(`INSERT INTO ${name}(${name}) VALUES('rebuild')`);
    }
  }
}
