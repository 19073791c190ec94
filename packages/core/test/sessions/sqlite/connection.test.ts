// Which commits wait for the disk.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { Connection } from "../../../src/sessions/sqlite/connection.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const SYNCED = 2;
const NOT_SYNCED = 1;

function opened(journal: "WAL" | "DELETE") {
  const path = join(tempDirectory(), "state.db");
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = ${journal}; PRAGMA synchronous = FULL; CREATE TABLE t (a)`);
  const connection = new Connection({ db, path });
  /** As it is while the write commits. */
  const levelOf = (options: { readonly isUnsynced?: boolean }): Promise<unknown> =>
    connection.write(() => {
      connection.run("INSERT INTO t VALUES (1)");
      return connection.get<{ synchronous: number }>("PRAGMA synchronous")?.synchronous;
    }, options);
  return { connection, levelOf };
}

describe("a write", () => {
  it("waits for the disk unless it says otherwise, whatever the write before it said", async () => {
    const { connection, levelOf } = opened("WAL");
    expect(await levelOf({})).toBe(SYNCED);
    expect(await levelOf({ isUnsynced: true })).toBe(NOT_SYNCED);
    expect(await levelOf({ isUnsynced: true })).toBe(NOT_SYNCED);
    expect(await levelOf({})).toBe(SYNCED);
    await connection
      .write(() => connection.run("INSERT INTO missing VALUES (1)"), { isUnsynced: true })
      .catch(() => {});
    expect(await levelOf({})).toBe(SYNCED);
    connection.close();
  });

  it("always waits in a file without a log, which a power failure could damage", async () => {
    const { connection, levelOf } = opened("DELETE");
    expect(await levelOf({ isUnsynced: true })).toBe(SYNCED);
    expect(await levelOf({})).toBe(SYNCED);
    connection.close();
  });
});
