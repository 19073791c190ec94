// What is wrong with a database file. One judgement for everyone who asks: the health of an open store, `hermes doctor`,
// `hermes sessions repair` before and after its work, and with `--check-only`.
import { realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describeCause } from "../../lib/index.ts";
import { type Answer, openForSurgery, runAside, schemaCookie } from "./database-file.ts";
import { isBusy, sqliteCode, toSessionError } from "./failures.ts";
import { DOC, FTS, hasKey, isUsable, keyOfRow, LARGE, QUEUE, stateOf } from "./index/tables.ts";
import { PageFile } from "./salvage/file-format.ts";
import { classOfTable } from "./salvage/table-classes.ts";
import { quoted } from "./salvage/table-rows.ts";
import { Forest } from "./salvage/trees.ts";

/** SQLite found the schema or the pages of the file broken; `repairDatabase` may help. */
export function isMalformed(cause: unknown): boolean {
  return says(cause, 11, /malformed database schema|database disk image is malformed/);
}

/** The file is something else, or encrypted, or its first page is gone. */
export function isNotSqlite(cause: unknown): boolean {
  return says(cause, 26, /file is not a database/);
}

/** - `index`: a search index does not match the messages; `keys`: rows name rows that do not exist; `space`: unused pages
 *  that are not in the list of free pages, or that list itself; `pages`: everything else. */
type ProblemKind = "index" | "keys" | "space" | "pages";

export type Problem = {
  readonly kind: ProblemKind;
  readonly text: string;
  /** The table or index it was found in, when SQLite tells. */
  readonly object?: string;
};

export type Judgement =
  | { readonly kind: "sound"; readonly sessions: number; readonly indexChecked: boolean }
  | { readonly kind: "damaged"; readonly problems: readonly Problem[]; readonly indexChecked: boolean }
  /** Nothing that repair could work on. */
  | { readonly kind: "unusable"; readonly problems: readonly Problem[]; readonly indexChecked: boolean };

export type JudgeOptions = {
  /** What the file is opened with, if not its path. */
  readonly address?: string;
  readonly waitLimitMs?: number;
};

const MOST_COMPLAINTS = 1000;
const CHECKS = [
  `PRAGMA integrity_check(${MOST_COMPLAINTS})`,
  "PRAGMA foreign_key_check",
  "SELECT type, name, rootpage FROM sqlite_master",
  "SELECT count(*) AS sessions FROM sessions NOT INDEXED",
];

/** Reads the whole file in a thread of its own. Rejects when another program keeps it locked. */
export async function judge(path: string, options: JudgeOptions = {}): Promise<Judgement> {
  const { address = path, waitLimitMs } = options;
  const answers = await runAside({ address, readOnly: true, waitLimitMs }, CHECKS);
  refuseIfBusy(answers, path);
  const [whole, keys, schema, count] = answers;
  const objects = rowsOf(schema);
  // The check stops with an error where it cannot go on to read a table; what it found before is the better answer.
  const pages = whole !== undefined && "before" in whole ? whole.before : rowsOf(whole);
  const failed = errorOf(schema) ?? (pages.length === 0 ? errorOf(whole) : undefined);
  if (failed !== undefined) return judgeUnreadable(path, failed);
  if (objects.length === 0) return { kind: "sound", sessions: 0, indexChecked: true }; // created, never used
  if (!objects.some(({ name }) => name === "sessions"))
    return unusable("it has no table of sessions, so it is no session database");

  const index = await judgeIndex(path, address, waitLimitMs);
  // All complaints about trees come as one text, below a line that names the database.
  const complaints = pages
    .flatMap((row) => String(row.integrity_check).split("\n"))
    .filter((line) => line !== "" && !line.startsWith("*** in database"));
  const roots = new Map(objects.map((row) => [Number(row.rootpage), `${row.type} ${row.name}`]));
  const problems = [
    ...complaints.filter((line) => line !== "ok").map((line) => explain(line, roots)),
    ...danglingKeys(keys),
    ...index.problems,
    // A table of sessions that cannot be counted, though nothing else was found.
    ...[errorOf(count)].flatMap((error) => (error === undefined ? [] : [problem("pages", error.message)])),
  ].filter(({ kind, object }) => kind !== "index" || object === FTS);
  if (problems.length > 0) return { kind: "damaged", problems, indexChecked: index.isChecked };
  return { kind: "sound", sessions: Number(rowsOf(count)[0]?.sessions), indexChecked: index.isChecked };
}

/** At most twenty lines for people, the most telling first. */
export function problemTexts(problems: readonly Problem[]): string[] {
  const order: readonly ProblemKind[] = ["pages", "keys", "index", "space"];
  const texts = order.flatMap((kind) =>
    problems.filter((found) => found.kind === kind).map(({ text }) => text),
  );
  const unique = [...new Set(texts)];
  const rest = unique.length - 20;
  return rest > 0 ? [...unique.slice(0, 20), `and ${rest} more like these`] : unique;
}

function judgeUnreadable(path: string, error: SqliteError): Judgement {
  if (isNotSqlite(error)) {
    if (!holdsConversations(path)) return unusable(error.message);
    const text = `the first page of the file is gone (${error.message}), the pages of its tables are not`;
    return { kind: "damaged", problems: [problem("pages", text)], indexChecked: false };
  }
  const isIndexBroken = /vtable constructor failed: (?:messages_fts|hermes_memory_)/.test(error.message);
  if (!isMalformed(error) && !isIndexBroken) return unusable(error.message);
  return { kind: "damaged", problems: [problem("pages", error.message)], indexChecked: false };
}

/** Whether a file that SQLite does not take for a database has the schema of a session database in its pages. */
function holdsConversations(path: string): boolean {
  try {
    // No connection of this process can have locks on a file that SQLite does not read, so it may be opened and closed.
    using file = new PageFile(path);
    if (file.pageCount < 2) return false;
    const names = new Set(new Forest(file).schema().rows.map(({ name }) => name));
    return names.has("sessions") || names.has("messages");
  } catch {
    return false;
  }
}

/** SQLite names a tree by its root page; people know it by its name. */
function explain(line: string, roots: ReadonlyMap<number, string>): Problem {
  if (/never used$|^Freelist: /.test(line)) return problem("space", line);
  const [, table] = /inverted index for FTS\d table main\.(\S+?)[:.]?(?:\s|$)/.exec(line) ?? [];
  if (table !== undefined) return { ...problem("index", line), object: table };
  const [, root, page, what = ""] = /^Tree (\d+) page (\d+)[^:]*: (.*)$/s.exec(line) ?? [];
  const owner = roots.get(Number(root)) ?? (root === "1" ? "table sqlite_schema" : undefined);
  if (owner !== undefined)
    return { ...problem("pages", `${owner}: page ${page} is damaged (${what})`), object: nameIn(owner) };
  const [, index] = /(?:missing from|entries in|entry in) index (\S+)$/.exec(line) ?? [];
  return index === undefined ? problem("pages", line) : { ...problem("pages", line), object: index };
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

/** What our index lacks, and twice what it should not hold. Documents that are to be made again are not counted. */
function indexCounts(todo: number): readonly string[] {
  const key = keyOfRow("m");
  const isWaiting = (value: string) =>
    `EXISTS (SELECT 1 FROM ${QUEUE} WHERE key = ${value}) OR EXISTS (SELECT 1 FROM ${LARGE} WHERE key = ${value})`;
  // FTS5 notes the length of every document it holds; a row of ours goes with each, in the same transaction.
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
 * Compares our index with the messages; `integrity_check` has looked at the index itself. The original's indexes are not
 * judged: two versions of SQLite tokenize structured content differently, and each calls the other's index malformed.
 */
async function judgeIndex(
  path: string,
  address: string,
  waitLimitMs: number | undefined,
): Promise<{ readonly problems: readonly Problem[]; readonly isChecked: boolean }> {
  const todo = todoIn(address);
  if (todo === undefined) return { problems: [], isChecked: false };
  const answers = await runAside({ address, readOnly: true, waitLimitMs }, indexCounts(todo));
  refuseIfBusy(answers, path);
  const [missing = 0, ...tooMany] = answers.map((answer) => Number(rowsOf(answer)[0]?.n ?? 0));
  const left = tooMany.reduce((sum, count) => sum + count, 0);
  const texts = [
    ...(missing > 0 ? [`${missing} message(s) are not in the search index`] : []),
    ...(left > 0 ? [`the search index holds ${left} message(s) that do not exist`] : []),
  ];
  return { problems: texts.map((text) => ({ ...problem("index", text), object: FTS })), isChecked: true };
}

/** How much of our index is still to be built; undefined when there is no index that this version can use. */
function todoIn(address: string): number | undefined {
  try {
    using db = new DatabaseSync(address, { readOnly: true, timeout: 50 });
    return isUsable(db) ? (stateOf(db)?.todo ?? 0) : undefined;
  } catch {
    return undefined; // the pages are what is wrong then
  }
}

type SqliteError = { readonly message: string; readonly errcode?: number };

function errorOf(answer: Answer | undefined): SqliteError | undefined {
  return answer !== undefined && "error" in answer ? answer.error : undefined;
}

function rowsOf(answer: Answer | undefined): readonly Record<string, unknown>[] {
  return answer !== undefined && "rows" in answer ? answer.rows : [];
}

/** A file that is busy is not a damaged one. */
function refuseIfBusy(answers: readonly Answer[], path: string): void {
  for (const answer of answers)
    if ("error" in answer && isBusy(answer.error))
      throw toSessionError(Object.assign(new Error(answer.error.message), answer.error), path);
}

function problem(kind: ProblemKind, text: string): Problem {
  return { kind, text };
}

function unusable(text: string): Judgement {
  return { kind: "unusable", problems: [problem("pages", text)], indexChecked: false };
}

/** What the path leads to, where SQLite keeps the -wal beside it; throws the system's error when there is nothing. */
export function fileBehind(path: string): string {
  const file = realpathSync(path);
  if (!statSync(file).isFile()) throw new Error("it is not a file");
  return file;
}

/** Rows per table, as far as they can be counted, without search indexes; and the number of the schema. */
export function census(file: string): { rows: ReadonlyMap<string, number>; cookie: number } {
  using db = openForSurgery(file);
  const rows = new Map<string, number>();
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").all();
  for (const { name } of tables) {
    if (typeof name !== "string" || classOfTable(name) === "derived") continue;
    try {
      // Of the table itself: an index may be what is broken.
      const row = db.prepare(`SELECT count(*) AS count FROM ${quoted(name)} NOT INDEXED`).get();
      rows.set(name, Number(row?.count));
    } catch {
      // It cannot be read now; it can only get better.
    }
  }
  return { rows, cookie: schemaCookie(db) };
}

/** The error itself, or the one it was thrown for. */
function says(cause: unknown, code: number, text: RegExp): boolean {
  if (((sqliteCode(cause) ?? 0) & 0xff) === code || text.test(describeCause(cause))) return true;
  return cause instanceof Error && cause.cause !== undefined && says(cause.cause, code, text);
}
