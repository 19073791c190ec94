// Finds out what is wrong with a database file. One diagnosis for all callers: the health check of an open store, `hermes
// doctor`, and `hermes sessions repair` before and after its work and with `--check-only`.
import { realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describeCause, sqliteCode } from "../../lib/index.ts";
import { PageFile } from "../../lib/sqlite-pages.ts";
import { schemaCookie } from "./connection.ts";
import { type Answer, openForRepair, runInThread } from "./database-file.ts";
import { isBusy, toSessionError } from "./failures.ts";
import { DOC, FTS, hasKey, isUsable, keyOfRow, LARGE, QUEUE, stateOf } from "./index/tables.ts";
import { IN_MEMORY } from "./options.ts";
import { classOfTable } from "./salvage/table-classes.ts";
import { quoted } from "./salvage/table-rows.ts";
import { Forest } from "./salvage/trees.ts";

/** SQLite reports a broken schema or broken pages; `repairDatabase` may help. */
export function isMalformed(cause: unknown): boolean {
  return says(cause, 11, /malformed database schema|database disk image is malformed/);
}

/** The file is something else, or encrypted, or its first page is lost. */
export function isNotSqlite(cause: unknown): boolean {
  return says(cause, 26, /file is not a database/);
}

/**
 * `index`: a search index does not match the messages. `keys`: rows refer to rows that do not exist. `space`: unused pages
 * missing from the free list, or a broken free list. `pages`: everything else.
 */
type ProblemKind = "index" | "keys" | "space" | "pages";

export type Problem = {
  readonly kind: ProblemKind;
  readonly text: string;
  /** The table or index with the problem, if SQLite names it. */
  readonly object?: string;
};

export type Diagnosis =
  | { readonly kind: "sound"; readonly sessions: number; readonly indexChecked: boolean }
  | { readonly kind: "damaged"; readonly problems: readonly Problem[]; readonly indexChecked: boolean }
  /** Nothing that a repair could work on. */
  | { readonly kind: "unusable"; readonly problems: readonly Problem[]; readonly indexChecked: boolean };

export type DiagnoseOptions = {
  /** How the file is opened, if not by its path. */
  readonly address?: string;
  readonly waitLimitMs?: number;
  /** A database in memory. */
  readonly db?: DatabaseSync | undefined;
};

const MOST_COMPLAINTS = 1000;
const CHECKS = [
  `PRAGMA integrity_check(${MOST_COMPLAINTS})`,
  "PRAGMA foreign_key_check",
  "SELECT type, name, rootpage FROM sqlite_master",
  "SELECT count(*) AS sessions FROM sessions NOT INDEXED",
];

/** Reads the whole file in a worker thread. Rejects when another program keeps it locked. */
export async function diagnose(path: string, options: DiagnoseOptions = {}): Promise<Diagnosis> {
  const { address = path, waitLimitMs, db } = options;
  const access = { address, readOnly: true, waitLimitMs, db };
  const answers = await runInThread(access, CHECKS);
  refuseIfBusy(answers, path);
  const [whole, keys, schema, count] = answers;
  const objects = rowsOf(schema);
  // The check stops with an error at a table it cannot read; what it found before is more useful.
  const pages = whole !== undefined && "before" in whole ? whole.before : rowsOf(whole);
  const failed = errorOf(schema) ?? (pages.length === 0 ? errorOf(whole) : undefined);
  if (failed !== undefined) return diagnoseUnreadable(path, failed);
  if (objects.length === 0) return { kind: "sound", sessions: 0, indexChecked: true }; // created, never used
  if (!objects.some(({ name }) => name === "sessions"))
    return unusable("it has no sessions table, so it is not a session database");

  const index = await compareIndex(path, access);
  // Problems of b-trees come as one text, below a line that names the database.
  const complaints = pages
    .flatMap((row) => String(row.integrity_check).split("\n"))
    .filter((line) => line !== "" && !line.startsWith("*** in database"));
  const roots = new Map(objects.map((row) => [Number(row.rootpage), `${row.type} ${row.name}`]));
  const problems = [
    ...complaints.filter((line) => line !== "ok").map((line) => explain(line, roots)),
    ...danglingKeys(keys),
    ...index.problems,
    // The sessions table cannot be counted although nothing else was found.
    ...[errorOf(count)].flatMap((error) => (error === undefined ? [] : [problem("pages", error.message)])),
  ].filter(({ kind, object }) => kind !== "index" || object === FTS);
  if (problems.length > 0) return { kind: "damaged", problems, indexChecked: index.isChecked };
  return { kind: "sound", sessions: Number(rowsOf(count)[0]?.sessions), indexChecked: index.isChecked };
}

/** At most 20 lines for users, the most important kinds first. */
export function problemTexts(problems: readonly Problem[]): string[] {
  const order: readonly ProblemKind[] = ["pages", "keys", "index", "space"];
  const texts = order.flatMap((kind) =>
    problems.filter((found) => found.kind === kind).map(({ text }) => text),
  );
  const unique = [...new Set(texts)];
  const rest = unique.length - 20;
  return rest > 0 ? [...unique.slice(0, 20), `and ${rest} more like these`] : unique;
}

function diagnoseUnreadable(path: string, error: SqliteError): Diagnosis {
  if (isNotSqlite(error)) {
    if (!holdsConversations(path)) return unusable(error.message);
    const text = `the first page of the file is lost (${error.message}), but pages of its tables are still there`;
    return { kind: "damaged", problems: [problem("pages", text)], indexChecked: false };
  }
  const isIndexBroken = /vtable constructor failed: (?:messages_fts|hermes_memory_)/.test(error.message);
  if (!isMalformed(error) && !isIndexBroken) return unusable(error.message);
  return { kind: "damaged", problems: [problem("pages", error.message)], indexChecked: false };
}

/** True when a file that SQLite does not accept still has the schema of a session database in its pages. */
function holdsConversations(path: string): boolean {
  try {
    // SQLite does not read this file, so no connection of this process can have locks on it: it may be opened and closed.
    using file = new PageFile(path);
    if (file.pageCount < 2) return false;
    const names = new Set(new Forest(file).schema().rows.map(({ name }) => name));
    return names.has("sessions") || names.has("messages");
  } catch {
    return false;
  }
}

/** SQLite names a b-tree by its root page; users know the table by its name. */
function explain(line: string, roots: ReadonlyMap<number, string>): Problem {
  if (/never used$|^Freelist: /.test(line)) return problem("space", line);
  const [, table] = /inverted index for FTS\d table main\.(\S+?)[:.]?(?:\s|$)/.exec(line) ?? [];
  if (table !== undefined) return { ...problem("index", line), object: table };
  const [, root, page, what = ""] = /^Tree (\d+) page (\d+)[^:]*: (.*)$/s.exec(line) ?? [];
  const owner = roots.get(Number(root)) ?? (root === "1" ? "table sqlite_schema" : undefined);
  if (owner !== undefined)
    return { ...problem("pages", `${owner}: page ${page} is damaged (${what})`), object: nameIn(owner) };
  const [, index] = /(?:missing from|entries in|entry in) index (\S+)$/.exec(line) ?? [];
  return { ...problem("pages", line), ...(index === undefined ? {} : { object: index }) };
}

function nameIn(owner: string): string {
  return owner.slice(owner.indexOf(" ") + 1);
}

function danglingKeys(answer: Answer | undefined): Problem[] {
  const counts = new Map<string, number>();
  for (const { table, parent } of rowsOf(answer)) {
    const what =
      parent === "sessions"
        ? "row(s) name a session that does not exist"
        : `row(s) of ${table} name a row of ${parent} that does not exist`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, count]) => problem("keys", `${count} ${what}`));
}

/**
 * Counts messages missing from our index and, in two queries, documents it should not contain. Documents that wait to be indexed
 * again are not counted.
 */
function indexCounts(todo: number): readonly string[] {
  const key = keyOfRow("m");
  const isWaiting = (value: string) =>
    `EXISTS (SELECT 1 FROM ${QUEUE} WHERE key = ${value}) OR EXISTS (SELECT 1 FROM ${LARGE} WHERE key = ${value})`;
  // FTS5 stores the length of every document it holds. We write our own row for it in the same transaction.
  const hasDocument = (value: string) => `EXISTS (SELECT 1 FROM ${FTS}_docsize WHERE id = ${value})`;
  return [
    `SELECT COUNT(*) AS n FROM messages m WHERE ${hasKey("m")} AND m.id > ${todo} AND NOT (${isWaiting(key)})
      AND NOT (EXISTS (SELECT 1 FROM ${DOC} WHERE key = ${key}) AND ${hasDocument(key)})`,
    `SELECT COUNT(*) AS n FROM ${DOC} d WHERE NOT (${isWaiting("d.key")})
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = (d.key & 4294967295) AND ${key} = d.key)`,
    `SELECT COUNT(*) AS n FROM ${FTS}_docsize f WHERE NOT EXISTS (SELECT 1 FROM ${DOC} WHERE key = f.id)
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = (f.id & 4294967295) AND ${key} = f.id)`,
  ];
}

/**
 * Compares our index with the messages; `integrity_check` has checked the index itself. Hermes Agent's indexes are not compared:
 * two versions of SQLite tokenize structured content differently, and each calls the other's index malformed.
 */
async function compareIndex(
  path: string,
  access: Parameters<typeof runInThread>[0],
): Promise<{ readonly problems: readonly Problem[]; readonly isChecked: boolean }> {
  const todo = todoIn(access);
  if (todo === undefined) return { problems: [], isChecked: false };
  const answers = await runInThread(access, indexCounts(todo));
  refuseIfBusy(answers, path);
  const [missing = 0, ...tooMany] = answers.map((answer) => Number(rowsOf(answer)[0]?.n ?? 0));
  const left = tooMany.reduce((sum, count) => sum + count, 0);
  const texts = [
    ...(missing > 0 ? [`${missing} message(s) are not in the search index`] : []),
    ...(left > 0 ? [`the search index holds ${left} message(s) that do not exist`] : []),
  ];
  return { problems: texts.map((text) => ({ ...problem("index", text), object: FTS })), isChecked: true };
}

/** The highest message id that still has to be indexed; undefined when there is no index this version can use. */
function todoIn({ address, db: inMemory }: Parameters<typeof runInThread>[0]): number | undefined {
  try {
    using opened = inMemory ? undefined : new DatabaseSync(address, { readOnly: true, timeout: 50 });
    const db = inMemory ?? opened;
    return db !== undefined && isUsable(db) ? (stateOf(db)?.todo ?? 0) : undefined;
  } catch {
    return undefined; // then the pages are the problem
  }
}

type SqliteError = { readonly message: string; readonly errcode?: number };

function errorOf(answer: Answer | undefined): SqliteError | undefined {
  return answer !== undefined && "error" in answer ? answer.error : undefined;
}

function rowsOf(answer: Answer | undefined): readonly Record<string, unknown>[] {
  return answer !== undefined && "rows" in answer ? answer.rows : [];
}

/** A busy file is not a damaged one. */
function refuseIfBusy(answers: readonly Answer[], path: string): void {
  for (const answer of answers)
    if ("error" in answer && isBusy(answer.error))
      throw toSessionError(Object.assign(new Error(answer.error.message), answer.error), path);
}

function problem(kind: ProblemKind, text: string): Problem {
  return { kind, text };
}

function unusable(text: string): Diagnosis {
  return { kind: "unusable", problems: [problem("pages", text)], indexChecked: false };
}

/** The real path, where SQLite keeps the -wal file. Throws the system's error when there is no file. */
export function fileBehind(path: string): string {
  if (path === IN_MEMORY) throw new Error("a database in memory has no file");
  const file = realpathSync(path);
  if (!statSync(file).isFile()) throw new Error("it is not a file");
  return file;
}

/** Row counts of the tables that can be counted, without search indexes, and the schema cookie. */
export function countRows(file: string): { rows: ReadonlyMap<string, number>; cookie: number } {
  using db = openForRepair(file);
  const rows = new Map<string, number>();
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").all();
  for (const { name } of tables) {
    if (typeof name !== "string" || classOfTable(name) === "derived") continue;
    try {
      // Counts the table itself, because an index may be broken.
      const row = db.prepare(`SELECT count(*) AS count FROM ${quoted(name)} NOT INDEXED`).get();
      rows.set(name, Number(row?.count));
    } catch {
      // Unreadable now; a repair cannot make it worse.
    }
  }
  return { rows, cookie: schemaCookie(db) };
}

/** Checks the error and its causes. */
function says(cause: unknown, code: number, text: RegExp): boolean {
  if (((sqliteCode(cause) ?? 0) & 0xff) === code || text.test(describeCause(cause))) return true;
  return cause instanceof Error && cause.cause !== undefined && says(cause.cause, code, text);
}
