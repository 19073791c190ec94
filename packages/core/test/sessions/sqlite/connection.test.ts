// Which commits wait for the disk, and a log that is deleted while it is open.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
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
  return { connection, path, levelOf };
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

it.skipIf(process.platform === "win32")(
  "writes nothing more after somebody deleted its log, and saves what was in it",
  async () => {
    const { connection, path, levelOf } = opened("WAL");
    await levelOf({});
    rmSync(`${path}-wal`);
    await expect(levelOf({})).rejects.toMatchObject({ code: "session-db-unavailable" });
    await expect(connection.read(() => 1)).rejects.toThrow(`${path}-wal was replaced or removed`);
    // What a machine has after the process was killed.
    const copy = join(tempDirectory(), "state.db");
    execFileSync("cp", [path, copy]);
    using db = new DatabaseSync(copy);
    expect(db.prepare("SELECT COUNT(*) AS n FROM t").get()).toMatchObject({ n: 1 });
    connection.close();
  },
);

describe("many calls at once", () => {
  it("let the event loop run between them", async () => {
    const { connection } = opened("WAL");
    const work = (): void => {
      const until = performance.now() + 5;
      while (performance.now() < until);
    };
    const chain = async (): Promise<void> => {
      for (let step = 0; step < 4; step += 1) await connection.read(work);
    };
    const gaps: number[] = [];
    let last = performance.now();
    const timer = setInterval(() => {
      gaps.push(performance.now() - last);
      last = performance.now();
    }, 1);
    await Promise.all(Array.from({ length: 30 }, chain)); // 600 ms of work
    clearInterval(timer);
    // Up to 15 ms of work, and the step with which they are over. Without turns it is 20 ms for each of the 30.
    expect(gaps.toSorted((a, b) => a - b).at(Math.floor(gaps.length / 2))).toBeLessThan(100);
    expect(gaps.length).toBeGreaterThan(10);
    connection.close();
  });
});
