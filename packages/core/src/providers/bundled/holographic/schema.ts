// The tables. All but those named `hermes_memory_*` are shared with the Python original, which ignores ours; nothing of
// ours hangs on its tables, no trigger and no column.
import type { DatabaseSync } from "node:sqlite";

const SHARED_TABLES = `
  CREATE TABLE IF NOT EXISTS facts (
    fact_id INTEGER PRIMARY KEY AUTOINCREMENT,
    content TEXT NOT NULL UNIQUE,
    category TEXT DEFAULT 'general',
    tags TEXT DEFAULT '',
    trust_score REAL DEFAULT 0.5,
    retrieval_count INTEGER DEFAULT 0,
    helpful_count INTEGER DEFAULT 0,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    hrr_vector BLOB
  );
  CREATE TABLE IF NOT EXISTS entities (
    entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    entity_type TEXT DEFAULT 'unknown',
    aliases TEXT DEFAULT '',
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
  );
  CREATE TABLE IF NOT EXISTS fact_entities (
    fact_id INTEGER REFERENCES facts(fact_id),
    entity_id INTEGER REFERENCES entities(entity_id),
    PRIMARY KEY (fact_id, entity_id)
  );
  CREATE TABLE IF NOT EXISTS memory_banks (
    bank_id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank_name TEXT NOT NULL UNIQUE,
    vector BLOB NOT NULL,
    dim INTEGER NOT NULL,
    fact_count INTEGER DEFAULT 0,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
  );
  CREATE INDEX IF NOT EXISTS idx_facts_trust ON facts(trust_score DESC);
  CREATE INDEX IF NOT EXISTS idx_facts_category ON facts(category);
  CREATE INDEX IF NOT EXISTS idx_entities_name ON entities(name);
  CREATE VIRTUAL TABLE IF NOT EXISTS facts_fts
    USING fts5(content, tags, content=facts, content_rowid=fact_id);
  CREATE TRIGGER IF NOT EXISTS facts_ai AFTER INSERT ON facts BEGIN
    INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags);
  END;
  CREATE TRIGGER IF NOT EXISTS facts_ad AFTER DELETE ON facts BEGIN
    INSERT INTO facts_fts(facts_fts, rowid, content, tags)
      VALUES ('delete', old.fact_id, old.content, old.tags);
  END;
  CREATE TRIGGER IF NOT EXISTS facts_au AFTER UPDATE ON facts BEGIN
    INSERT INTO facts_fts(facts_fts, rowid, content, tags)
      VALUES ('delete', old.fact_id, old.content, old.tags);
    INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags);
  END;
`;

const OWN_TABLES = `
  CREATE TABLE IF NOT EXISTS hermes_memory_bank_sums (
    bank_name TEXT PRIMARY KEY,
    cos BLOB NOT NULL,
    sin BLOB NOT NULL,
    fact_count INTEGER NOT NULL,
    vector_sha TEXT NOT NULL
  );
  CREATE TABLE IF NOT EXISTS hermes_memory_mirrored (
    fact_id INTEGER PRIMARY KEY,
    target TEXT NOT NULL
  );
`;

/** Whether there is nothing for `ensureSchema` to do. */
export function hasSchema(db: DatabaseSync): boolean {
  const names = new Set(
    db
      .prepare("SELECT name FROM sqlite_master")
      .all()
      .map(({ name }) => name),
  );
  const wanted = [...`${SHARED_TABLES}${OWN_TABLES}`.matchAll(/IF NOT EXISTS (\w+)/g)].map(
    ([, name]) => name,
  );
  return wanted.every((name) => names.has(name ?? "")) && hasVectorColumn(db);
}

/** Within a transaction. Leaves alone what is there. */
export function ensureSchema(db: DatabaseSync): void {
  db.exec(SHARED_TABLES);
  if (!hasVectorColumn(db)) db.exec("ALTER TABLE facts ADD COLUMN hrr_vector BLOB");
  db.exec(OWN_TABLES);
}

function hasVectorColumn(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM pragma_table_info('facts') WHERE name = 'hrr_vector'").get() !== undefined;
}
