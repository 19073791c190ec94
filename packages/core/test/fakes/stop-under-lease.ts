// Preload (`node --import`): once the file of $STOP_FILE exists, the process stops itself (SIGSTOP) before the next transaction that
// writes while it holds a session's lease, as if its machine slept there. The file is removed then, so that it happens once.
import { existsSync, rmSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";

const { STOP_FILE = "" } = process.env;
const prepare = DatabaseSync.prototype.prepare;
let isHeld = false;

DatabaseSync.prototype.prepare = function prepareWatched(this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql);
  const run = statement.run.bind(statement) as (...values: unknown[]) => ReturnType<StatementSync["run"]>;
  const before = watch(sql);
  if (before !== undefined)
    statement.run = (...values: unknown[]) => {
      before();
      return run(...values);
    };
  return statement;
};

function watch(sql: string): (() => void) | undefined {
  const isTaking = sql.includes("INSERT INTO hermes_memory_leases");
  if (!isTaking && !/^BEGIN IMMEDIATE$|DELETE FROM hermes_memory_leases.*AND holder/s.test(sql))
    return undefined;
  return () => {
    if (sql !== "BEGIN IMMEDIATE") isHeld = isTaking;
    if (sql !== "BEGIN IMMEDIATE" || !isHeld || !existsSync(STOP_FILE)) return;
    rmSync(STOP_FILE);
    process.kill(process.pid, "SIGSTOP");
  };
}
