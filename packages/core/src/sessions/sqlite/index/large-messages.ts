// Messages that would hold up the event loop: their text is made in slices, and a thread with a connection of its own puts it
// into the index. A row of `hermes_memory_large` says that it is still to be done; whoever works on it has written a ticket
// there, and only that ticket may finish: a message that changed meanwhile was given a new one.
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { type IndexRow, markTokens, textsOf } from "../../search/document.ts";
import { indexText } from "../../search/words.ts";
import type { Connection } from "../connection.ts";
import { toSessionError } from "../failures.ts";
import { documentFields, numbersIn, type SourceRow } from "./catch-up.ts";
import { messageColumns } from "./ensure-index.ts";
import { DOC, FTS, keyOfRow, LARGE } from "./tables.ts";

/** Another process takes over after this long: the one that began may be gone. */
const TAKE_OVER_SECONDS = 60;
/** About 20 ms of work each. */
const SLICE_CHARS = 200_000;

const NEXT_FREE = `SELECT key FROM ${LARGE} WHERE until < :now ORDER BY key DESC LIMIT 1`;
const CLAIM = `UPDATE ${LARGE} SET ticket = :ticket, until = :until WHERE key = CAST(:key AS INT)`;

function rowSql(columns: ReadonlySet<string>): string {
  return `
    SELECT ${keyOfRow("m")} AS key, ${documentFields(columns)}, 0 AS is_indexed
    FROM messages m LEFT JOIN sessions s ON s.id = m.session_id
    WHERE m.id = (CAST(:key AS INT) & 4294967295) AND ${keyOfRow("m")} = CAST(:key AS INT)`;
}

type Claim = {
  readonly key: number;
  readonly ticket: string;
  readonly n: number;
  readonly row: SourceRow;
  readonly marks: string;
};

/** Indexes one of them. False when there is none that this process may work on now. */
export async function indexOneLarge(connection: Connection): Promise<boolean> {
  const now = Date.now() / 1000;
  const isFree = await connection.read(() => connection.get(NEXT_FREE, { now }) !== undefined);
  if (!isFree) return false;
  const claim = await connection.write(() => claimOne(connection, messageColumns(connection), now));
  if (claim === undefined) return true;
  const text = await largeText(claim.row, claim.marks);
  await putAside(connection, { ...claim, text });
  return true;
}

/** Inside a write transaction. */
function claimOne(connection: Connection, columns: ReadonlySet<string>, now: number): Claim | undefined {
  const key = connection.get<{ key: number }>(NEXT_FREE, { now })?.key;
  if (key === undefined) return undefined;
  const row = connection.get<SourceRow>(rowSql(columns), { key, large: Number.MAX_SAFE_INTEGER });
  if (row?.session_id == null) {
    connection.run(`DELETE FROM ${LARGE} WHERE key = CAST(:key AS INT)`, { key });
    return undefined;
  }
  const ticket = randomUUID();
  connection.run(CLAIM, { key, ticket, until: now + TAKE_OVER_SECONDS });
  const numbers = numbersIn(connection);
  const n = numbers.session(row.session_id);
  return { key, ticket, n, row, marks: markTokens(numbers.marks(row, n)).join(" ") };
}

/** What `documentText` makes of the row, with the event loop free in between. */
async function largeText(row: IndexRow, marks: string): Promise<string> {
  const { said, did } = textsOf(row);
  const parts = [marks];
  for (const text of [said, did]) {
    for (const slice of slices(text)) {
      parts.push(indexText(slice));
      await nextTurn();
    }
  }
  return parts.filter((part) => part !== "").join(" ");
}

/** Cuts at white space or punctuation, so that no word is cut; a text without any is cut between two characters. */
function* slices(text: string): Generator<string> {
  const space = /[\s\p{P}]/gu;
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + SLICE_CHARS);
    if (end < text.length) {
      space.lastIndex = end;
      const found = space.exec(text.slice(0, end + SLICE_CHARS))?.index;
      end = found ?? (isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end);
    }
    yield text.slice(start, end);
    start = end;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

// As text, so that the published bundle needs no second file.
const CODE = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const { address, timeout, key, ticket, n, text } = workerData;
const db = new DatabaseSync(address, { timeout });
try {
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA wal_autocheckpoint = 0");
  db.exec("BEGIN IMMEDIATE");
  const isOurs = db.prepare("SELECT 1 FROM ${LARGE} WHERE key = CAST(? AS INT) AND ticket = ?").get(key, ticket);
  if (isOurs !== undefined) {
    if (db.prepare("SELECT 1 FROM ${DOC} WHERE key = CAST(? AS INT)").get(key) !== undefined) {
      db.prepare("DELETE FROM ${FTS} WHERE rowid = CAST(? AS INT)").run(key);
      db.prepare("DELETE FROM ${DOC} WHERE key = CAST(? AS INT)").run(key);
    }
    db.prepare("INSERT INTO ${FTS}(rowid, text) VALUES (CAST(? AS INT), ?)").run(key, text);
    db.prepare("INSERT INTO ${DOC}(key, n) VALUES (CAST(? AS INT), ?)").run(key, n);
    db.prepare("DELETE FROM ${LARGE} WHERE key = CAST(? AS INT)").run(key);
  }
  db.exec("COMMIT");
  parentPort.postMessage({});
} catch (error) {
  if (db.isTransaction) db.exec("ROLLBACK");
  parentPort.postMessage({ error: { message: error.message, errcode: error.errcode } });
}
db.close();
`;

type Prepared = Pick<Claim, "key" | "ticket" | "n"> & { readonly text: string };
type Answer = { readonly error?: { readonly message: string; readonly errcode?: number } };

async function putAside(connection: Connection, { key, ticket, n, text }: Prepared): Promise<void> {
  const workerData = { address: connection.address, timeout: connection.waitLimitMs, key, ticket, n, text };
  // Without the flags of this process: one of them might make the code above a module.
  const worker = new Worker(CODE, { eval: true, execArgv: ["--no-warnings"], workerData });
  const answer = await new Promise<Answer>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("The thread that indexes a long message ended early.")));
  });
  if (answer.error)
    throw toSessionError(Object.assign(new Error(answer.error.message), answer.error), connection.path);
}
