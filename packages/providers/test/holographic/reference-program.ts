// The Python original's use of the file, as the specification describes it: its tables, vectors computed with Python's mathematics, adding
// facts and rebuilding a bank.
import { spawnSync } from "node:child_process";

export const hasPython =
  spawnSync("python3", [
    "-c",
    "import sqlite3; sqlite3.connect(':memory:').execute('CREATE VIRTUAL TABLE t USING fts5(x)')",
  ]).status === 0;

const PROGRAM = `
import cmath, hashlib, json, math, sqlite3, struct, sys

DIM = 1024
TURN = 2 * math.pi

def atom(word):
    values = []
    for i in range((DIM + 15) // 16):
        values += struct.unpack("<16H", hashlib.sha256(f"{word}:{i}".encode()).digest())
    return [value * (TURN / 65536) for value in values[:DIM]]

def bind(a, b):
    return [(x + y) % TURN for x, y in zip(a, b)]

def bundle(vectors):
    return [cmath.phase(sum(cmath.exp(1j * v[i]) for v in vectors)) % TURN for i in range(DIM)]

def encode_text(text):
    words = [w.strip(".,!?;:\\"'()[]{}") for w in text.lower().split()]
    return bundle([atom(w) for w in words if w] or [atom("__hrr_empty__")])

def encode_fact(content, names):
    parts = [bind(encode_text(content), atom("__hrr_role_content__"))]
    return bundle(parts + [bind(atom(n.lower()), atom("__hrr_role_entity__")) for n in names])

def pack(vector):
    return struct.pack(f"<{DIM}d", *vector)

TABLES = '''
CREATE TABLE facts (fact_id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL UNIQUE,
  category TEXT DEFAULT 'general', tags TEXT DEFAULT '', trust_score REAL DEFAULT 0.5,
  retrieval_count INTEGER DEFAULT 0, helpful_count INTEGER DEFAULT 0,
  created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, hrr_vector BLOB);
CREATE TABLE entities (entity_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
  entity_type TEXT DEFAULT 'unknown', aliases TEXT DEFAULT '', created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE fact_entities (fact_id INTEGER REFERENCES facts(fact_id),
  entity_id INTEGER REFERENCES entities(entity_id), PRIMARY KEY (fact_id, entity_id));
CREATE TABLE memory_banks (bank_id INTEGER PRIMARY KEY AUTOINCREMENT, bank_name TEXT NOT NULL UNIQUE,
  vector BLOB NOT NULL, dim INTEGER NOT NULL, fact_count INTEGER DEFAULT 0,
  updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX idx_facts_trust ON facts(trust_score DESC);
CREATE INDEX idx_facts_category ON facts(category);
CREATE INDEX idx_entities_name ON entities(name);
CREATE VIRTUAL TABLE facts_fts USING fts5(content, tags, content=facts, content_rowid=fact_id);
CREATE TRIGGER facts_ai AFTER INSERT ON facts BEGIN
  INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags); END;
CREATE TRIGGER facts_ad AFTER DELETE ON facts BEGIN
  INSERT INTO facts_fts(facts_fts, rowid, content, tags) VALUES ('delete', old.fact_id, old.content, old.tags); END;
CREATE TRIGGER facts_au AFTER UPDATE ON facts BEGIN
  INSERT INTO facts_fts(facts_fts, rowid, content, tags) VALUES ('delete', old.fact_id, old.content, old.tags);
  INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags); END;
'''

def add(db, content, category, tags, names):
    fact = db.execute("INSERT INTO facts (content, category, tags) VALUES (?, ?, ?)", (content, category, tags)).lastrowid
    for name in names:
        row = db.execute("SELECT entity_id FROM entities WHERE name LIKE ?", (name,)).fetchone()
        entity = row[0] if row else db.execute("INSERT INTO entities (name) VALUES (?)", (name,)).lastrowid
        db.execute("INSERT OR IGNORE INTO fact_entities VALUES (?, ?)", (fact, entity))
    db.execute("UPDATE facts SET hrr_vector = ? WHERE fact_id = ?", (pack(encode_fact(content, names)), fact))
    rebuild(db, category)

def rebuild(db, category):
    rows = db.execute("SELECT hrr_vector FROM facts WHERE category = ? AND hrr_vector IS NOT NULL", (category,)).fetchall()
    vectors = [struct.unpack(f"<{DIM}d", row[0]) for row in rows]
    db.execute('''INSERT INTO memory_banks (bank_name, vector, dim, fact_count) VALUES (?, ?, ?, ?)
      ON CONFLICT(bank_name) DO UPDATE SET vector = excluded.vector, dim = excluded.dim, fact_count = excluded.fact_count''',
      ("cat:" + category, pack(bundle(vectors)), DIM, len(vectors)))

path, action, given = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
db = sqlite3.connect(path, timeout=10)
if action == "create":
    db.execute("PRAGMA journal_mode=WAL")
    db.executescript(TABLES)
if action in ("create", "add"):
    for fact in given:
        add(db, *fact)
    db.commit()
if action == "read":
    near = lambda a, b: max(abs(cmath.exp(1j * x) - cmath.exp(1j * y)) for x, y in zip(a, b))
    rows = db.execute("SELECT fact_id, content, hrr_vector FROM facts ORDER BY fact_id").fetchall()
    names = lambda fact: [r[0] for r in db.execute(
        "SELECT name FROM entities JOIN fact_entities USING (entity_id) WHERE fact_id = ?", (fact,))]
    print(json.dumps({
        "contents": [row[1] for row in rows],
        "vectors_apart": max(near(struct.unpack(f"<{DIM}d", row[2]), encode_fact(row[1], names(row[0]))) for row in rows),
        "found": [row[0] for row in db.execute("SELECT rowid FROM facts_fts WHERE facts_fts MATCH ?", (given,))],
        "banks": db.execute("SELECT bank_name, dim, fact_count FROM memory_banks ORDER BY bank_name").fetchall(),
        "check": db.execute("PRAGMA integrity_check").fetchone()[0],
    }))
    db.execute("INSERT INTO facts_fts(facts_fts, rank) VALUES ('integrity-check', 1)")
`;

export type PythonFact = readonly [content: string, category: string, tags: string, names: readonly string[]];

export type PythonReading = {
  readonly contents: readonly string[];
  /** Largest difference of an element from Python's result. */
  readonly vectors_apart: number;
  readonly found: readonly number[];
  readonly banks: readonly unknown[];
  readonly check: string;
};

export function pythonCreates(path: string, facts: readonly PythonFact[]): void {
  python(path, "create", facts);
}

export function pythonAdds(path: string, facts: readonly PythonFact[]): void {
  python(path, "add", facts);
}

export function pythonReads(path: string, query: string): PythonReading {
  return JSON.parse(python(path, "read", query)) as PythonReading;
}

function python(path: string, action: string, given: unknown): string {
  const run = spawnSync("python3", ["-c", PROGRAM, path, action, JSON.stringify(given)], {
    encoding: "utf8",
  });
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout;
}
