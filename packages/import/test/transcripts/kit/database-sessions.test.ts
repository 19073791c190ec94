import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { changedSessions } from "../../../src/transcripts/kit/database-sessions.ts";
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

const listed = (...ids: string[]) => ids.map((id) => ({ id, mark: undefined }));
const saying = (text: unknown) => ({ facts: {}, messages: [{ role: "user", text: String(text) }] });

async function textsOf(said: AsyncIterable<object>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const one of said) if ("text" in one) found.push(one.text);
  return found;
}

it("reports a session that cannot be read and gives the others", async () => {
  const reported: string[] = [];
  const reading = plainReading({ unreadable: (_, reason) => reported.push(reason) });
  const said = changedSessions(
    path,
    reading,
    () => listed("1", "2", "3"),
    (_, { id }) => {
      if (id === "2") throw new Error("a damaged page");
      return saying(id);
    },
  );
  expect(await textsOf(said)).toEqual(["1", "3"]);
  expect(reported).toEqual(["session 2: a damaged page"]);
});

it("reads a session again when another program changes the database meanwhile", async () => {
  let reads = 0;
  const said = changedSessions(
    path,
    plainReading(),
    () => listed("2"),
    (db) => {
      reads += 1;
      const text = db.get("SELECT text FROM item WHERE id = 2")?.text;
      if (reads === 1) {
        const writer = new DatabaseSync(path);
        writer.exec("UPDATE item SET text = 'changed' WHERE id = 2");
        writer.close();
      }
      return saying(text);
    },
  );
  expect(await textsOf(said)).toEqual(["changed"]);
  expect(reads).toBe(2);
});

it("stops when the import is interrupted", async () => {
  const stop = new AbortController();
  const reading = plainReading({ signal: stop.signal });
  const said = changedSessions(
    path,
    reading,
    () => listed("1", "2", "3"),
    (_, { id }) => saying(id),
  );
  const read = async (): Promise<void> => {
    for await (const _ of said) stop.abort();
  };
  await expect(read()).rejects.toThrow(/abort/i);
});
