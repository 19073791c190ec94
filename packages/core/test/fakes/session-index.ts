// Looking at the search index of a session database from outside: through SQL on the file, with Node's SQLite and with
// Python's, which is an older one. Also files as the Python original makes them.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { MARK } from "../../src/sessions/search/document.ts";
import { idInKey } from "../../src/sessions/search/reads.ts";
import type { Connection } from "../../src/sessions/sqlite/connection.ts";
import { SearchIndex } from "../../src/sessions/sqlite/index/search-index.ts";
import { openDatabase } from "../../src/sessions/sqlite/open-database.ts";
import { CREATE_TITLE_INDEX, INDEXES, SCHEMA_VERSION, TABLES } from "../../src/sessions/sqlite/schema.ts";
import { startChild } from "./child.ts";
import { tempDirectory } from "./temp-directory.ts";

export const FTS_TABLES = ["messages_fts", "messages_fts_trigram"] as const;
export type FtsTable = (typeof FTS_TABLES)[number];

export const REFERENCE_TABLES: Readonly<Record<FtsTable, string>> = {
  messages_fts: "CREATE VIRTUAL TABLE messages_fts USING fts5(\n    content\n)",
  messages_fts_trigram:
    "CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(\n    content,\n    tokenize='trigram'\n)",
};

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

const CHECKS: readonly string[] = FTS_TABLES.map(
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

// ---- our index ----

export type OpenIndex = AsyncDisposable & {
  readonly connection: Connection;
  readonly index: SearchIndex;
  /** Ids of the messages that match, ascending. */
  find(match: string): Promise<number[]>;
  /** How many messages a search cannot see. */
  notSearched(): Promise<number>;
};

/** The index of a file as a store has it, without the store around it. */
export async function openIndex(
  path: string,
  options: { readonly readOnly?: boolean } = {},
): Promise<OpenIndex> {
  const { connection } = await openDatabase({ path, ...options });
  const index = new SearchIndex(connection);
  return {
    connection,
    index,
    find: (match) =>
      index.read((reader) => {
        const keys = reader.keys(match, { order: "oldest", limit: 1_000_000 });
        return keys.map(idInKey).sort((a, b) => a - b);
      }),
    notSearched: () => index.read((reader) => reader.notSearched),
    async [Symbol.asyncDispose]() {
      await index.close();
      connection.close();
    },
  };
}

/** Brings the index of a file up to date: everything queued, everything to be built. */
export async function finishIndex(path: string): Promise<void> {
  await using opened = await openIndex(path);
  await opened.index.finish({});
}

/** Every word of our index with message and place; numbers of sessions and words are put back into what they stand for. */
export function documentsOf(path: string): string[] {
  using db = new DatabaseSync(path);
  const named = (table: string, column: string) =>
    new Map(
      db
        .prepare(`SELECT n, ${column} AS name FROM ${table}`)
        .all()
        .map((row) => [Number(row.n), String(row.name)]),
    );
  const sessions = named("hermes_memory_no", "session_id");
  const words = named("hermes_memory_word", "word");
  const readable = (term: string) => {
    if (!term.startsWith(MARK) || term === `${MARK}i`) return term;
    const n = Number.parseInt(term.slice(2), 36);
    return `${term.slice(0, 2)}=${(term[1] === "n" ? sessions : words).get(n)}`;
  };
  db.exec("CREATE VIRTUAL TABLE temp.places USING fts5vocab('main', 'hermes_memory_fts', 'instance')");
  const places = db.prepare('SELECT term, doc, "offset" AS place FROM temp.places').all();
  const docs = db.prepare("SELECT key, n FROM hermes_memory_doc").all();
  return [
    ...places.map((row) => `${row.doc} ${row.place} ${readable(String(row.term))}`),
    ...docs.map((row) => `${row.key} in ${sessions.get(Math.abs(Number(row.n)))}`),
  ].sort();
}

/** The same, of a copy whose index was built from nothing. */
export async function documentsOfFresh(path: string): Promise<string[]> {
  const copy = newPath();
  {
    using db = new DatabaseSync(path);
    db.prepare("VACUUM INTO ?").run(copy);
  }
  execute(copy, "UPDATE hermes_memory_state SET version = 'another'");
  await finishIndex(copy);
  return documentsOf(copy);
}

// ---- Python ----

type Statement = { readonly sql: string; readonly values?: readonly unknown[] };

export type Python = {
  /** The rows of the statements, one after another; rejects at the first that fails. */
  run(...statements: Statement[]): Promise<unknown[][][]>;
  complaints(): Promise<string[]>;
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
