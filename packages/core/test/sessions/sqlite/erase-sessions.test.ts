// Erasing in files that Hermes Agent also writes: its search index, its turn leases and its tables.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { upgradeToToday } from "../../fakes/today-file.ts";

const ANA = { userId: "ana", platform: "web" } as const;
const SECRET = "quartzitekiln";

/** Two users with ten messages each, in a file of schema 30. */
async function sharedFile(): Promise<string> {
  const path = join(tempDirectory(), "state.db");
  await (await openSessionStore({ path })).close();
  upgradeToToday(path);
  await using store = await openSessionStore({ path });
  for (const userId of ["ana", "bo"]) {
    await store.createSession(userId, {
      source: "web",
      userId,
      userPlatform: "web",
      systemPrompt: `Prompt of ${userId}`,
    });
    for (let number = 0; number < 10; number += 1)
      await store.appendMessage(userId, {
        role: "user",
        content: `${number} ${userId === "ana" ? SECRET : "pebble"}`,
      });
  }
  return path;
}

/** An index over the messages with the name and the triggers of the original's. */
const THEIR_INDEX = `
  CREATE VIRTUAL TABLE messages_fts USING fts5(content, content='messages', content_rowid='id');
  CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content);
  END;
  CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, content) VALUES ('delete', old.id, old.content);
  END;
  CREATE TRIGGER messages_fts_update AFTER UPDATE OF content ON messages BEGIN
    INSERT INTO messages_fts(messages_fts, rowid, content) VALUES ('delete', old.id, old.content);
    INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content);
  END;
  INSERT INTO messages_fts(messages_fts) VALUES ('rebuild');
`;

it("words leave Hermes Agent's index too, and the rest of it can be searched", async () => {
  const path = await sharedFile();
  {
    using db = new DatabaseSync(path);
    db.exec(THEIR_INDEX);
  }
  const store = await openSessionStore({ path });
  expect(store.readOnly).toBe(false);
  expect(await store.forUser(ANA).eraseSessions()).toEqual({
    sessions: 1,
    messages: 10,
    files: 0,
    remaining: [],
  });
  await store.close();
  expect(readFileSync(path, "latin1")).not.toContain(SECRET);
  expect(readFileSync(path, "latin1")).not.toContain("Prompt of ana");
  using db = new DatabaseSync(path);
  const found = db.prepare("SELECT count(*) AS n FROM messages_fts WHERE messages_fts MATCH 'pebble'").get();
  expect(found?.n).toBe(10);
  db.exec("INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')");
});

it("a turn of Hermes Agent keeps its conversation; its lease goes with the conversation", async () => {
  const path = await sharedFile();
  await using store = await openSessionStore({ path });
  using db = new DatabaseSync(path);
  const lease = db.prepare(
    "INSERT OR REPLACE INTO session_turn_leases VALUES (?, 'pid=1:host=elsewhere', ?, ?)",
  );
  const now = Date.now() / 1000;
  lease.run("ana", now, now + 60);
  const { sessions, remaining } = await store.forUser(ANA).eraseSessions();
  expect(sessions).toBe(0);
  expect(remaining).toEqual([expect.stringContaining("'ana' stays")]);
  lease.run("ana", now - 120, now - 60);
  expect(await store.forUser(ANA).eraseSessions()).toMatchObject({ sessions: 1, remaining: [] });
  expect(db.prepare("SELECT count(*) AS n FROM session_turn_leases").get()?.n).toBe(0);
});
