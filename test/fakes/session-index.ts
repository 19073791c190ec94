// Looking at the search index of a session database from outside: through SQL on the file, with Node's SQLite and with
// Python's, which is an older one. Also files as the Python original makes them.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { rebuildCompact } from "../../src/sessions/sqlite/ensure-schema.ts";
import { FTS_TABLES, type FtsTable, REFERENCE_TABLES } from "../../src/sessions/sqlite/index-layout.ts";
import { CREATE_TITLE_INDEX, INDEXES, SCHEMA_VERSION, TABLES } from "../../src/sessions/sqlite/schema.ts";
import { startChild } from "./child.ts";
import { tempDirectory } from "./temp-directory.ts";

const PROBE = "import sqlite3; sqlite3.connect(':memory:').execute('CREATE VIRTUAL TABLE t USING fts5(c)')";

export const hasPythonSqlite = spawnSync("python3", ["-c", PROBE]).status === 0;

export type Row = Readonly<Record<string, unknown>>;

export function newPath(): string {
  return join(tempDirectory(), "state.db");
}

export function query(path: string, sql: string, ...values: SQLInputValue[]): Row[] {
  using db = new DatabaseSync(path);
  return db
    .prepare(sql)
    .all(...values)
    .map((row) => ({ ...row }));
}

export function execute(path: string, sql: string): void {
  using db = new DatabaseSync(path);
  db.exec(sql);
}

/** Ids of the messages an index finds. */
export function matches(path: string, table: FtsTable, text: string): number[] {
  const rows = query(path, `SELECT rowid FROM ${table} WHERE ${table} MATCH ? ORDER BY rowid`, text);
  return rows.map((row) => Number(row.rowid));
}

export const CHECKS: readonly string[] = FTS_TABLES.map(
  (table) => `INSERT INTO ${table}(${table}, rank) VALUES('integrity-check', 1)`,
);

/** What the check at rank 1 has to say against the indexes; nothing when they are sound. */
export function complaints(path: string): string[] {
  using db = new DatabaseSync(path, { timeout: 10_000 });
  return CHECKS.flatMap((sql) => {
    try {
      db.exec(sql);
      return [];
    } catch (cause) {
      return [`${sql}: ${String(cause)}`];
    }
  });
}

/** Every word of an index with the place it stands at. */
export function termsOf(path: string, table: FtsTable): string[] {
  using db = new DatabaseSync(path);
  return dumpTerms(db, table);
}

/**
 * The same, of a copy whose index was made anew from the messages. Who stored a row decides whether its words stand
 * there without the Han between them, so that is left as it is.
 */
export function termsOfRebuilt(path: string, table: FtsTable): string[] {
  const copy = newPath();
  {
    using db = new DatabaseSync(path);
    db.prepare("VACUUM INTO ?").run(copy);
  }
  using db = new DatabaseSync(copy);
  db.exec("CREATE TABLE kept AS SELECT message_id, words FROM hermes_memory_text WHERE words IS NOT NULL");
  rebuildCompact(db);
  db.exec("UPDATE hermes_memory_text SET words = NULL");
  db.exec(
    "INSERT INTO hermes_memory_text(message_id, words) SELECT message_id, words FROM kept WHERE 1 ON CONFLICT(message_id) DO UPDATE SET words = excluded.words",
  );
  for (const name of FTS_TABLES) db.exec(`INSERT INTO ${name}(${name}) VALUES('rebuild')`);
  return dumpTerms(db, table);
}

function dumpTerms(db: DatabaseSync, table: FtsTable): string[] {
  db.exec(`CREATE VIRTUAL TABLE temp.${table}_words USING fts5vocab('main', '${table}', 'instance')`);
  const rows = db.prepare(`SELECT term, doc, "offset" AS place FROM temp.${table}_words`).all();
  return rows.map((row) => `${row.doc} ${row.place} ${row.term}`).sort();
}

// ---- Python ----

export type Statement = { readonly sql: string; readonly values?: readonly unknown[] };

export type Python = {
  /** The rows of the statements, one after another; rejects at the first that fails. */
  run(...statements: Statement[]): Promise<unknown[][][]>;
  complaints(): Promise<string[]>;
  terms(table: FtsTable): Promise<string[]>;
  close(): Promise<void>;
};

// Values cross as JSON, except that { "base64": ... } is a blob.
const PYTHON = `
import base64, json, sqlite3, sys
con = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
con.execute("PRAGMA foreign_keys=ON")
value = lambda v: base64.b64decode(v["base64"]) if isinstance(v, dict) else v
for line in sys.stdin:
    answers = []
    for statement in json.loads(line):
        try:
            rows = con.execute(statement["sql"], [value(v) for v in statement.get("values", [])]).fetchall()
            answers.append({"rows": [[c if not isinstance(c, bytes) else None for c in row] for row in rows]})
        except sqlite3.Error as error:
            answers.append({"error": str(error)})
    print(json.dumps(answers), flush=True)
`;

type Answer = { readonly rows?: unknown[][]; readonly error?: string };

/** A connection of Python's to the file, open until the test ends. */
export function openPython(path: string): Python {
  const child = startChild("python3", ["-c", PYTHON, path]);
  const ask = async (statements: readonly Statement[]): Promise<Answer[]> => {
    child.say(JSON.stringify(statements));
    return JSON.parse((await child.nextLine()) ?? "[]") as Answer[];
  };
  const run = async (...statements: Statement[]): Promise<unknown[][][]> => {
    const answers = await ask(statements);
    if (answers.length !== statements.length) throw new Error("Python ended early");
    return answers.map(({ rows, error }, at) => {
      if (rows === undefined) throw new Error(`Python: ${error} in ${statements[at]?.sql}`);
      return rows;
    });
  };
  return {
    run,
    async complaints() {
      const answers = await ask(CHECKS.map((sql) => ({ sql })));
      return answers.flatMap(({ error }, at) => (error === undefined ? [] : [`${CHECKS[at]}: ${error}`]));
    },
    async terms(table) {
      const [, rows = []] = await run(
        { sql: `CREATE VIRTUAL TABLE temp.${table}_words USING fts5vocab('main', '${table}', 'instance')` },
        { sql: `SELECT term, doc, "offset" FROM temp.${table}_words` },
        { sql: `DROP TABLE temp.${table}_words` },
      );
      return rows.map(([term, doc, place]) => `${doc} ${place} ${term}`).sort();
    },
    async close() {
      child.closeInput();
      await child.rest();
    },
  };
}

// ---- what the original makes ----

const REFERENCE_INDEXED =
  "COALESCE(new.content, '') || ' ' || COALESCE(new.tool_name, '') || ' ' || COALESCE(new.tool_calls, '')";

/** Its own six triggers: they index all text as it stands, zero bytes included, and on every update. */
export const ORIGINAL_TRIGGERS: readonly string[] = FTS_TABLES.flatMap((table) => {
  const insert = `INSERT INTO ${table}(rowid, content) VALUES (new.id, ${REFERENCE_INDEXED});`;
  const remove = `DELETE FROM ${table} WHERE rowid = old.id;`;
  return [
    `CREATE TRIGGER ${table}_insert AFTER INSERT ON messages BEGIN ${insert} END`,
    `CREATE TRIGGER ${table}_delete AFTER DELETE ON messages BEGIN ${remove} END`,
    `CREATE TRIGGER ${table}_update AFTER UPDATE ON messages BEGIN ${remove} ${insert} END`,
  ];
});

export type ReferenceMessage = {
  readonly session: string;
  readonly content: string | null;
  readonly toolName?: string;
  readonly toolCalls?: string;
};

/** A file of the current version as the original alone would have left it. Ids count from 1, times from 2000. */
export function makeReferenceFile(path: string, messages: Iterable<ReferenceMessage>): void {
  using db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; BEGIN");
  for (const sql of Object.values(TABLES)) db.exec(sql);
  for (const [name, on] of Object.entries(INDEXES)) db.exec(`CREATE INDEX ${name} ON ${on}`);
  db.exec(CREATE_TITLE_INDEX);
  db.exec(`INSERT INTO schema_version(version) VALUES (${SCHEMA_VERSION})`);
  for (const table of FTS_TABLES) db.exec(REFERENCE_TABLES[table]);
  for (const sql of ORIGINAL_TRIGGERS) db.exec(sql);
  const addSession = db.prepare(
    "INSERT OR IGNORE INTO sessions(id, source, started_at) VALUES (?, 'cli', 1000)",
  );
  const addMessage = db.prepare(
    "INSERT INTO messages(session_id, role, content, tool_name, tool_calls, timestamp) VALUES (?, 'user', ?, ?, ?, ?)",
  );
  let at = 2000;
  for (const { session, content, toolName, toolCalls } of messages) {
    addSession.run(session);
    addMessage.run(session, content, toolName ?? null, toolCalls ?? null, at);
    at += 1;
  }
  db.exec(
    "UPDATE sessions SET message_count = (SELECT COUNT(*) FROM messages WHERE session_id = sessions.id)",
  );
  db.exec("COMMIT");
}
