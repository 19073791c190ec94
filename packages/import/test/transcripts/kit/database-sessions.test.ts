import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { databaseSessions } from "../../../src/transcripts/kit/database-sessions.ts";
import { plainReading } from "../formats/plain-reading.ts";

let folder = "";
let path = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hermes-sessions-"));
  path = join(folder, "x.db");
  using db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; CREATE TABLE item (id INTEGER PRIMARY KEY, text TEXT)");
  db.exec("INSERT INTO item VALUES (1, 'one'), (2, 'two'), (3, 'three')");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("reports a session that cannot be read and gives the others", async () => {
  const reported: string[] = [];
  const reading = plainReading({ unreadable: (_, reason) => reported.push(reason) });
  const found: unknown[] = [];
  const steps = {
    list: () => [1, 2, 3],
    read: (_: unknown, id: number) => {
      if (id === 2) throw new Error("a damaged page");
      return id;
    },
    name: String,
  };
  for await (const id of databaseSessions(path, reading, steps)) found.push(id);
  expect(found).toEqual([1, 3]);
  expect(reported).toEqual(["session 2: a damaged page"]);
});

it("reads a session again when another program changes the database meanwhile", async () => {
  let reads = 0;
  const steps = {
    list: () => [2],
    read: (db: { get: (sql: string) => Record<string, unknown> | undefined }) => {
      reads += 1;
      const text = db.get("SELECT text FROM item WHERE id = 2")?.text;
      if (reads === 1) {
        const writer = new DatabaseSync(path);
        writer.exec("UPDATE item SET text = 'changed' WHERE id = 2");
        writer.close();
      }
      return text;
    },
    name: String,
  };
  const found: unknown[] = [];
  for await (const text of databaseSessions(path, plainReading(), steps)) found.push(text);
  expect(found).toEqual(["changed"]);
  expect(reads).toBe(2);
});

it("stops when the import is interrupted", async () => {
  const stop = new AbortController();
  const steps = { list: () => [1, 2, 3], read: (_: unknown, id: number) => id, name: String };
  const read = async (): Promise<void> => {
    for await (const _ of databaseSessions(path, plainReading({ signal: stop.signal }), steps)) stop.abort();
  };
  await expect(read()).rejects.toThrow(/abort/i);
});
