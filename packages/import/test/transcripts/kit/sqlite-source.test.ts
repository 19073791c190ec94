// Databases of other products: what is read, and that nothing beside them changes.
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { databaseStamps, openSource } from "../../../src/transcripts/kit/sqlite-source.ts";

const told = { signal: new AbortController().signal };
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hermes-sqlite-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, sql: string): string {
  const path = join(folder, name);
  using db = new DatabaseSync(path);
  db.exec(sql);
  return path;
}
const NOTES = "CREATE TABLE notes(id INTEGER, body TEXT); INSERT INTO notes VALUES (1, 'one'), (2, 'two');";

it("reads rows with named parameters, big integers as text and BLOBs as bytes", async () => {
  const path = written("a.db", `${NOTES} INSERT INTO notes VALUES (9007199254740993, x'0102');`);
  using db = await openSource(path, told);
  expect(db.get("SELECT body FROM notes WHERE id = :id", { id: 2 })).toEqual({ body: "two" });
  expect(db.get("SELECT body FROM notes WHERE id = 7")).toBeUndefined();
  expect(db.all("SELECT * FROM notes ORDER BY id").at(-1)).toEqual({
    id: "9007199254740993",
    body: new Uint8Array([1, 2]),
  });
  expect(db.hasTable("notes")).toBe(true);
  expect(db.hasTable("other")).toBe(false);
  expect([...db.columnsOf("notes")]).toEqual(["id", "body"]);
  expect(db.columnsOf("other").size).toBe(0);
  expect(db.snapshot(() => db.snapshot(() => [...db.each("SELECT id FROM notes LIMIT 1")]))).toEqual([
    { id: 1 },
  ]);
  expect(() => db.all("DELETE FROM notes")).toThrow(/readonly/);
});

it("creates no file beside a closed database in WAL mode, and says when it changed meanwhile", async () => {
  const path = written("a b#1.db", `PRAGMA journal_mode = WAL; ${NOTES}`);
  expect(readdirSync(folder)).toEqual(["a b#1.db"]);
  using db = await openSource(path, told);
  expect(db.all("SELECT id FROM notes")).toHaveLength(2);
  expect(readdirSync(folder)).toEqual(["a b#1.db"]);
  expect(db.changedMeanwhile()).toBe(false);
  using writer = new DatabaseSync(path);
  writer.exec("INSERT INTO notes VALUES (3, 'three')");
  expect(db.changedMeanwhile()).toBe(true);
});

it("sees what is only in the write-ahead log, of an open database and of a copied folder", async () => {
  const path = written("a.db", `PRAGMA journal_mode = WAL; ${NOTES}`);
  using writer = new DatabaseSync(path);
  writer.exec("INSERT INTO notes VALUES (3, 'three')");
  {
    using db = await openSource(path, told);
    expect(db.all("SELECT id FROM notes")).toHaveLength(3);
    const before = db.snapshot(() => {
      db.all("SELECT id FROM notes");
      writer.exec("INSERT INTO notes VALUES (4, 'four')");
      return db.all("SELECT id FROM notes").length;
    });
    expect(before).toBe(3);
    expect(db.all("SELECT id FROM notes")).toHaveLength(4);
    expect(db.changedMeanwhile()).toBe(false);
  }
  const copied = join(folder, "copy.db");
  copyFileSync(path, copied);
  copyFileSync(`${path}-wal`, `${copied}-wal`);
  using db = await openSource(copied, told);
  expect(db.all("SELECT id FROM notes")).toHaveLength(4);
  expect(readdirSync(folder).filter((name) => name.startsWith("copy"))).toEqual(["copy.db", "copy.db-wal"]);
});

it("waits for a writer that holds the lock", async () => {
  const path = written("a.db", NOTES);
  using writer = new DatabaseSync(path);
  writer.exec("BEGIN EXCLUSIVE");
  setTimeout(() => writer.exec("COMMIT"), 50);
  using db = await openSource(path, told);
  expect(db.all("SELECT id FROM notes")).toHaveLength(2);
});

it("never creates a missing database and refuses what is none", async () => {
  await expect(openSource(join(folder, "none.db"), told)).rejects.toThrow(/ENOENT/);
  expect(readdirSync(folder)).toEqual([]);
  await expect(openSource(import.meta.filename, told)).rejects.toThrow(/not a database/);
  expect(databaseStamps("/a.db")).toEqual(["/a.db", "/a.db-wal"]);
});
