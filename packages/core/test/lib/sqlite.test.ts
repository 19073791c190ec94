import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { enterWal, readWithoutTrace, retryWhileBusy, SqliteFile } from "../../src/lib/sqlite.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

/** A connection that answers as on a file system without write-ahead logging. */
function connection(mode: string, refusal: string) {
  const executed: string[] = [];
  const exec = (sql: string) => {
    executed.push(sql);
    if (sql.endsWith("WAL")) throw new Error(refusal);
  };
  return { executed, exec, get: <Row>() => ({ journal_mode: mode }) as Row };
}

it("a file system that refuses write-ahead logging is told about, and other failures are thrown", () => {
  const [kept, refused, broken] = [
    connection("wal", "locking protocol"),
    connection("delete", "locking protocol"),
    connection("delete", "disk I/O error"),
  ];
  expect([enterWal(kept), enterWal(refused)]).toEqual([undefined, "locking protocol"]);
  expect(() => enterWal(broken)).toThrow("disk I/O error");
  expect(kept.executed).toEqual([]);
  expect(refused.executed).toEqual(["PRAGMA journal_mode = WAL", "PRAGMA journal_mode = DELETE"]);
});

it("a file is private, keeps all changes of a transaction or none, and is read without a trace", async () => {
  const path = join(tempDirectory(), "below", "a.db");
  const file = new SqliteFile(path, { timeout: 0 });
  enterWal(file);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  file.exec("CREATE TABLE t (x)");
  const broken = () => {
    file.run("INSERT INTO t VALUES (1)");
    throw new Error("stop");
  };
  expect(() => file.transaction(broken)).toThrow("stop");
  using other = new SqliteFile(path, { timeout: 0 });
  file.run("BEGIN IMMEDIATE");
  await expect(retryWhileBusy(() => other.run("INSERT INTO t VALUES (2)"), 30)).rejects.toThrow("locked");
  const written = retryWhileBusy(() => other.run("INSERT INTO t VALUES (2)"), 5_000);
  file.run("COMMIT");
  expect(await written).toEqual({ changes: 1, lastId: 1 });
  const count = () => readWithoutTrace(path, 0, (read) => read.get("SELECT count(*) AS n FROM t"));
  expect(count()).toEqual({ n: 1 }); // in the log
  other.close();
  file.close();
  expect(count()).toEqual({ n: 1 });
  expect(readdirSync(join(path, ".."))).toEqual(["a.db"]);
  expect(existsSync(`${path}-wal`)).toBe(false);
});
