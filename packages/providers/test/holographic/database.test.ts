// File systems without write-ahead logging, simulated by a connection that answers like one there.
import { expect, it } from "vitest";
import { setJournalMode } from "../../src/holographic/database.ts";

function connection(mode: string, refusal?: string) {
  const executed: string[] = [];
  return {
    executed,
    prepare: () => ({ get: () => ({ journal_mode: mode }) }),
    exec(sql: string) {
      executed.push(sql);
      if (refusal !== undefined && sql.endsWith("WAL")) throw new Error(refusal);
    },
  };
}

const WAL = "PRAGMA journal_mode = WAL";
const DELETE = "PRAGMA journal_mode = DELETE";

it("a file that has the mode keeps it", () => {
  const db = connection("wal", "locking protocol");
  setJournalMode(db, { path: "x", warn: expect.unreachable });
  expect(db.executed).toEqual(["PRAGMA synchronous = NORMAL"]);
});

it("a file system that refuses is told about once, and the file does without", () => {
  const warnings: string[] = [];
  const options = { path: "facts.db", warn: (message: string) => void warnings.push(message) };
  for (const refusal of ["locking protocol", "not authorized"]) {
    const db = connection("delete", refusal);
    setJournalMode(db, options);
    expect(db.executed).toEqual([WAL, DELETE]);
  }
  expect(warnings).toEqual([expect.stringMatching(/facts\.db.*locking protocol/)]);
});

it("any other failure is one", () => {
  const db = connection("delete", "disk I/O error");
  expect(() => setJournalMode(db, { path: "x", warn: expect.unreachable })).toThrow("disk I/O error");
  expect(db.executed).toEqual([WAL]);
});
