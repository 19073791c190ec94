// Runs statements that take seconds (VACUUM, checks) in a thread of their own, on a connection of their own: node:sqlite
// is synchronous, and the event loop belongs to the agent.
import { Worker } from "node:worker_threads";
import { toSessionError } from "./failures.ts";

export type AsideOptions = {
  /** A path, or a `file:` address. */
  readonly address: string;
  readonly readOnly: boolean;
  readonly waitLimitMs?: number;
};

export type Answer =
  | { readonly rows: readonly Record<string, unknown>[] }
  | {
      readonly error: { readonly message: string; readonly errcode?: number };
      /** What the statement answered before it failed. */
      readonly before: readonly Record<string, unknown>[];
    };

// As text, so that the published bundle needs no second file.
const CODE = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const { address, readOnly, waitLimitMs, statements } = workerData;
let db;
for (const sql of statements) {
  const rows = [];
  try {
    db ??= new DatabaseSync(address, { readOnly, timeout: waitLimitMs });
    for (const row of db.prepare(sql).iterate()) rows.push({ ...row });
    parentPort.postMessage({ rows });
  } catch (error) {
    parentPort.postMessage({ error: { message: error.message, errcode: error.errcode }, before: rows });
  }
}
db?.close();
`;

/** The answer to each statement in turn; one that fails does not stop the next. */
export async function runAside(options: AsideOptions, statements: readonly string[]): Promise<Answer[]> {
  const { address, readOnly, waitLimitMs = 15_000 } = options;
  const workerData = { address, readOnly, waitLimitMs, statements };
  // Without the flags of this process: one of them might make the code above a module.
  const worker = new Worker(CODE, { eval: true, execArgv: ["--no-warnings"], workerData });
  const answers: Answer[] = [];
  worker.on("message", (answer: Answer) => answers.push(answer));
  await new Promise<void>((resolve, reject) => {
    worker.once("error", reject);
    worker.once("exit", () => resolve());
  });
  if (answers.length < statements.length)
    throw new Error("The thread that worked on the database ended early.");
  return answers;
}

/** Like `runAside` for one statement; rejects when it fails. */
export async function runOneAside(options: AsideOptions, sql: string): Promise<void> {
  const [answer] = await runAside(options, [sql]);
  if (answer !== undefined && "error" in answer) {
    throw toSessionError(Object.assign(new Error(answer.error.message), answer.error), options.address);
  }
}
