// Files that other programs made or changed: what is written, what is only read, and what is never touched.

import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fixtureHome } from "../../../../../test/fixtures/fixture-home.ts";
import { holdFileLock } from "../../../src/lib/index.ts";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { startScript } from "../../fakes/child.ts";
import {
  complaints,
  documentsOf,
  documentsOfFresh,
  execute,
  finishIndex,
  hasPythonSqlite,
  makeReferenceFile,
  newPath,
  ORIGINAL_TRIGGERS,
  openIndex,
  openPython,
  query,
} from "../../fakes/session-index.ts";
import { goldenDirectory } from "../../golden/vectors.ts";

const golden30 = join(goldenDirectory, "sessions-db-v30");
const has30 = existsSync(join(golden30, "state.db"));
if (!has30) console.warn(`Files of version 30 are not tested: ${golden30} is absent.`);

function copyOf30(name = "state.db"): string {
  const path = newPath();
  for (const suffix of ["", "-wal", "-shm"])
    if (existsSync(join(golden30, name + suffix))) copyFileSync(join(golden30, name + suffix), path + suffix);
  return path;
}

async function ownFile(): Promise<string> {
  const path = newPath();
  await using store = await openSessionStore({ path });
  await store.createSession("one", { source: "cli" });
  await store.appendMany("one", [
    { role: "user", content: "the quartzwharf crane" },
    { role: "user", content: [{ type: "text", text: "velvetanchor" }] },
    { role: "assistant", content: "昨天讨论了琥珀灯塔的部署方案" },
  ]);
  return path;
}

const NUL_TEXT = '\0json:[{"type": "text", "text": "velvetanchor"}]';
const ADD = "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', ?, 9)";

/** Everything another program may rely on: its objects, its keys, version and journal mode. */
function theirs(path: string): unknown {
  return {
    schema: query(
      path,
      "SELECT type, name, sql FROM sqlite_master WHERE name NOT GLOB 'hermes_memory_*' AND name NOT GLOB 'sqlite_autoindex_hermes_*' AND name NOT GLOB '*lcm_nodes*' ORDER BY type, name",
    ),
    keys: query(path, "SELECT * FROM state_meta ORDER BY key"),
    version: query(path, "SELECT * FROM schema_version"),
    journal: query(path, "PRAGMA journal_mode"),
  };
}

async function writeAndSearch(path: string): Promise<void> {
  {
    await using store = await openSessionStore({ path });
    expect(store).toMatchObject({ readOnly: false, warnings: [] });
    await store.createSession("mine", { source: "cli" });
    await store.appendMessage("mine", { role: "user", content: "heronloft" });
    await store.replaceMessages("mine", [{ role: "user", content: "brittlefern" }]);
    await store.appendMessage("mine", { role: "user", content: "opalhinge" });
  }
  {
    await using opened = await openIndex(path);
    expect(await opened.find("heronloft")).toEqual([]);
    expect(await opened.find("brittlefern OR opalhinge")).toHaveLength(2);
    expect(await opened.notSearched()).toBe(0);
  }
  await using store = await openSessionStore({ path });
  await store.deleteSession("mine");
}

describe("a file of the June original", () => {
  it("keeps its tables and triggers to the letter, and gets our index beside them", async () => {
    const path = newPath();
    makeReferenceFile(path, [
      { session: "one", content: "the quartzwharf crane" },
      { session: "one", content: "昨天讨论了琥珀灯塔的部署方案" },
    ]);
    const before = theirs(path);
    await writeAndSearch(path);
    expect(theirs(path)).toEqual(before);
    expect(complaints(path)).toEqual([]);
    await using opened = await openIndex(path);
    expect(await opened.find("quartzwharf")).toEqual([1]);
  });

  // SQLite 3.40 indexes nothing of a text that starts with NUL; 3.53 removes what it would have indexed.
  it.skipIf(!hasPythonSqlite)("lets structured rows be deleted that SQLite 3.40 indexed", async () => {
    const path = newPath();
    makeReferenceFile(path, [{ session: "one", content: "plain" }]);
    const python = openPython(path);
    for (let row = 0; row < 5; row += 1) await python.run({ sql: ADD, values: [NUL_TEXT] });
    await python.close();
    {
      using db = new DatabaseSync(path);
      expect(() => db.exec("DELETE FROM messages WHERE id > 1")).toThrow("malformed");
    }
    const before = theirs(path);
    await using store = await openSessionStore({ path });
    await store.replaceMessages("one", [{ role: "user", content: "heronloft" }]);
    expect((await store.getMessages("one")).map(({ content }) => content)).toEqual(["heronloft"]);
    expect(theirs(path)).toEqual(before);
    expect(complaints(path)).toEqual([]);
  });

  it("loses nothing when another process runs VACUUM or changes the schema between two writes", async () => {
    const path = newPath();
    makeReferenceFile(path, [{ session: "one", content: "the quartzwharf crane" }]);
    await expectSurvivesVacuum(path, "one");
  });
});

/** Each kind of write directly after a VACUUM and after a schema change, on handles that stayed open. */
async function expectSurvivesVacuum(path: string, session: string): Promise<void> {
  await using store = await openSessionStore({ path });
  let tables = 0;
  for (const disturb of ["VACUUM", "CREATE TABLE other_NN (x)"]) {
    const writes = [
      () => store.appendMessage(session, { role: "user", content: "heronloft" }),
      () => store.replaceMessages(session, [{ role: "user", content: "brittlefern" }]),
      () => store.clearMessages(session),
      () => store.appendMessage(session, { role: "user", content: "opalhinge" }),
    ];
    for (const write of writes) {
      tables += 1;
      execute(path, disturb.replace("NN", String(tables)));
      await write();
    }
  }
  expect((await store.getMessages(session)).map(({ content }) => content)).toEqual(["opalhinge"]);
  await store.close();
  await finishIndex(path);
  expect(documentsOf(path)).toEqual(await documentsOfFresh(path));
}

describe("a file of ours", () => {
  it("survives a VACUUM by another process between two writes", async () => {
    await expectSurvivesVacuum(await ownFile(), "one");
  });

  it.each([
    "DROP TRIGGER hermes_memory_queue_insert",
    "DROP TRIGGER hermes_memory_queue_update; CREATE TRIGGER hermes_memory_queue_update AFTER UPDATE OF content ON messages BEGIN SELECT 1; END",
    "DROP TABLE hermes_memory_doc",
    "DROP TABLE hermes_memory_fts",
    "DELETE FROM hermes_memory_state",
    "UPDATE hermes_memory_state SET version = '0.0'",
  ])("builds its index again when a part of it was missing (%s)", async (sql) => {
    const path = await ownFile();
    execute(
      path,
      `${sql}; INSERT INTO messages (session_id, role, content, timestamp) SELECT 'one', 'user', 'unseen', 9 WHERE 0`,
    );
    // Rows stored without the triggers. If the queue table itself is missing, nothing can be stored.
    execute(path, "UPDATE messages SET content = 'heronloft' WHERE id = 1");
    execute(
      path,
      "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', 'opalhinge', 9)",
    );
    await using opened = await openIndex(path);
    expect(await opened.find("heronloft")).toEqual([1]);
    expect(await opened.find("opalhinge")).toEqual([4]);
    expect(await opened.find("quartzwharf")).toEqual([]);
    expect(documentsOf(path)).toEqual(await documentsOfFresh(path));
  });

  it("notices triggers that vanish while it is open", async () => {
    const path = await ownFile();
    await using opened = await openIndex(path);
    expect(await opened.find("quartzwharf")).toEqual([1]);
    execute(
      path,
      "DROP TRIGGER hermes_memory_queue_update; UPDATE messages SET content = 'heronloft' WHERE id = 1",
    );
    expect(await opened.find("heronloft")).toEqual([1]);
    expect(await opened.find("quartzwharf")).toEqual([]);
  });

  it("notices at the next open that the schema changed and documents and messages do not agree", async () => {
    const path = await ownFile();
    {
      using db = new DatabaseSync(path);
      const triggers = db
        .prepare(
          "SELECT name, sql FROM sqlite_master WHERE name GLOB 'hermes_memory_queue_*' AND type = 'trigger'",
        )
        .all();
      for (const { name } of triggers) db.exec(`DROP TRIGGER ${String(name)}`);
      db.exec(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', 'opalhinge', 9)",
      );
      for (const { sql } of triggers) db.exec(String(sql));
    }
    await using opened = await openIndex(path);
    expect(await opened.find("opalhinge")).toEqual([4]);
  });

  it("is made once when six processes open a new file at the same moment", async () => {
    const path = newPath();
    const children = Array.from({ length: 6 }, () => startScript("open-store.ts", [path]));
    for (const child of children) expect(await child.nextLine()).toBe("ready");
    for (const child of children) child.say("go");
    for (const child of children)
      expect((await child.rest()).map((line) => JSON.parse(line) as unknown)).toEqual([
        { readOnly: false, warnings: [], messages: 0 },
      ]);
    expect(query(path, "SELECT version FROM schema_version")).toEqual([{ version: 16 }]);
    expect(query(path, "SELECT COUNT(*) AS n FROM hermes_memory_state")).toEqual([{ n: 1 }]);
    expect(query(path, "PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
  });
});

describe.skipIf(!has30)("a file of version 30", () => {
  it.each(["state.db", "legacy-index-v30.db", "storage1-v26.db", "storage1-opened-by-v30.db"])(
    "keeps everything that is upstream's while we write, search and delete (%s)",
    async (name) => {
      const path = copyOf30(name);
      const before = theirs(path);
      await writeAndSearch(path);
      expect(theirs(path)).toEqual(before);
    },
  );

  it("stays in DELETE mode, with two processes of ours and one of Python at work", async () => {
    const path = copyOf30();
    expect(query(path, "PRAGMA journal_mode")).toEqual([{ journal_mode: "delete" }]);
    await using first = await openSessionStore({ path });
    await using second = await openSessionStore({ path });
    await first.createSession("mine", { source: "cli" });
    for (let row = 0; row < 20; row += 1)
      await Promise.all(
        [first, second].map((store) => store.appendMessage("mine", { role: "user", content: `lamp ${row}` })),
      );
    expect(await first.messageCount("mine")).toBe(40);
    expect(query(path, "PRAGMA journal_mode")).toEqual([{ journal_mode: "delete" }]);
  });

  it("survives a VACUUM by another process between two writes", async () => {
    const path = copyOf30();
    {
      await using store = await openSessionStore({ path });
      await store.createSession("mine", { source: "cli" });
    }
    await expectSurvivesVacuum(path, "mine");
  });

  it("is searched by a handle that may only read, without an index of ours", async () => {
    const path = copyOf30();
    await using opened = await openIndex(path, { readOnly: true });
    const words = await opened.index.read((reader) => reader.terms("", 2000));
    expect(words.length).toBeGreaterThan(50);
    for (const word of words.filter((each) => /^[a-z]+$/.test(each)).slice(0, 200))
      expect((await opened.find(`"${word}"`)).length, word).toBeGreaterThan(0);
    expect(await opened.notSearched()).toBe(0);
  });

  it.each([
    [
      "INSERT INTO state_meta VALUES ('fts_rebuild_high_water', '9'), ('fts_rebuild_progress', '3')",
      "converting its search index",
    ],
    ["INSERT INTO state_meta VALUES ('fts_projection_progress', '3')", "converting its search index"],
    ["CREATE TABLE fts_v22_trash_data (x)", "converting its search index"],
    [
      "CREATE TRIGGER strange AFTER INSERT ON messages BEGIN SELECT RAISE(ABORT, 'not for you'); END",
      "not for you",
    ],
    ["ALTER TABLE sessions DROP COLUMN rewind_count", "has no sessions.rewind_count"],
  ])("is only read after %s, and says why and what to do", async (sql, reason) => {
    const path = copyOf30();
    execute(path, sql);
    const before = theirs(path);
    await using store = await openSessionStore({ path });
    expect(store.readOnly).toBe(true);
    expect(store.warnings.join()).toContain(reason);
    await expect(store.createSession("mine")).rejects.toMatchObject({
      code: "session-db-read-only",
      hint: expect.stringMatching(/Update|finish/),
    });
    expect(theirs(path)).toEqual(before);
    expect(query(path, "SELECT name FROM sqlite_master WHERE name GLOB 'hermes_memory_*'")).toEqual([]);
  });

  it.each([
    "INSERT INTO state_meta VALUES ('fts_rebuild_deferral', '1')",
    "ALTER TABLE messages ADD COLUMN message_uid TEXT; CREATE TRIGGER messages_uid_insert AFTER INSERT ON messages WHEN new.message_uid IS NULL BEGIN UPDATE messages SET message_uid = lower(hex(randomblob(16))) WHERE id = new.id; END; UPDATE schema_version SET version = 31",
    "UPDATE schema_version SET version = 99",
  ])("is written to after %s", async (sql) => {
    const path = copyOf30();
    execute(path, sql);
    const before = theirs(path);
    await writeAndSearch(path);
    expect(theirs(path)).toEqual(before);
  });

  it.skipIf(!hasPythonSqlite)(
    "with the June layout of its index refuses to delete what only the other SQLite can delete, and says so",
    async () => {
      const path = newPath();
      makeReferenceFile(path, [{ session: "one", content: "plain" }]);
      const python = openPython(path);
      for (let row = 0; row < 5; row += 1) await python.run({ sql: ADD, values: [NUL_TEXT] });
      await python.run({ sql: "UPDATE schema_version SET version = 30" });
      await python.close();
      const before = theirs(path);
      await using store = await openSessionStore({ path });
      expect(store.readOnly).toBe(false);
      await expect(store.clearMessages("one")).rejects.toMatchObject({
        code: "session-db-unavailable",
        message: expect.stringContaining("Nothing was changed"),
        hint: expect.stringContaining("optimize-storage"),
      });
      expect(await store.messageCount("one")).toBe(6);
      expect(theirs(path)).toEqual(before);
    },
  );

  it("whose triggers need a tokenizer we lack is marked stale first, and written to", async () => {
    const path = copyOf30();
    const arm = () => {
      using db = new DatabaseSync(path, { defensive: false });
      if (query(path, "SELECT 1 FROM sqlite_master WHERE name = 'messages_fts_cjk'").length === 0) {
        db.exec("CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(content, tokenize='ascii')");
        db.exec("PRAGMA writable_schema = ON");
        db.exec(
          "UPDATE sqlite_master SET sql = replace(sql, '''ascii''', '''cjk_unicode61''') WHERE name = 'messages_fts_cjk'",
        );
      }
      db.exec("DELETE FROM state_meta WHERE key = 'fts_cjk_stale'");
      for (const event of ["insert", "delete", "update"])
        db.exec(
          `CREATE TRIGGER messages_fts_cjk_${event} AFTER ${event} ON messages BEGIN INSERT INTO messages_fts_cjk(rowid, content) VALUES (1, 'x'); END`,
        );
    };
    arm();
    const stale = "SELECT value FROM state_meta WHERE key = 'fts_cjk_stale'";
    const triggers =
      "SELECT name FROM sqlite_master WHERE name GLOB 'messages_fts_cjk_*' AND type = 'trigger'";
    await using store = await openSessionStore({ path });
    expect(store.readOnly).toBe(false);
    await store.createSession("mine", { source: "cli" });
    await store.appendMessage("mine", { role: "user", content: "heronloft" });
    expect([query(path, stale), query(path, triggers)]).toEqual([[{ value: "1" }], []]);
    arm(); // by a process that has the tokenizer, while ours is open
    await store.appendMessage("mine", { role: "user", content: "opalhinge" });
    expect([query(path, stale), query(path, triggers)]).toEqual([[{ value: "1" }], []]);
    expect(await store.messageCount("mine")).toBe(2);
  });
});

describe("a file of 0.1.0 or 0.2.0", () => {
  const former = (path: string) =>
    query(
      path,
      `SELECT name FROM sqlite_master WHERE name IN ('hermes_memory_text', 'hermes_memory_words', 'hermes_memory_trigrams')
         OR name GLOB 'hermes_memory_build*' OR name GLOB 'hermes_memory_new_*s' OR name IN ('messages_fts', 'messages_fts_trigram')
         OR (type = 'trigger' AND name GLOB 'messages_fts*') ORDER BY name`,
    ).map(({ name }) => String(name));

  function halfConverted(): string {
    const path = newPath();
    writeFileSync(
      path,
      gunzipSync(
        readFileSync(join(import.meta.dirname, "../../../../../test/fixtures/half-converted-0.2.0.db.gz")),
      ),
    );
    return path;
  }
  const whole = () => join(fixtureHome(), "state.db");

  it.each([
    ["with its index", whole, 11],
    ["whose optimize was interrupted", halfConverted, 17],
  ] as const)(
    "%s gets the new one, and then loses what those versions made",
    async (_name, make, objects) => {
      const path = make();
      expect(former(path)).toHaveLength(objects);
      const rows = query(path, "SELECT * FROM messages ORDER BY id");
      await finishIndex(path);
      const isOfIndex = (name: string) => name.startsWith("messages_fts");
      expect(former(path).filter((name) => make === whole || !isOfIndex(name))).toEqual([]);
      expect(query(path, "SELECT * FROM messages ORDER BY id")).toEqual(rows);
      await using opened = await openIndex(path);
      expect(await opened.notSearched()).toBe(0);
      expect(query(path, "SELECT COUNT(*) AS n FROM hermes_memory_doc")).toEqual([{ n: rows.length }]);
      await writeAndSearch(path);
    },
  );

  it("keeps the June original's tables when an optimize was interrupted", async () => {
    const path = halfConverted();
    const tables = "SELECT name, sql FROM sqlite_master WHERE name GLOB 'messages_fts*' ORDER BY name";
    const before = query(path, tables);
    await finishIndex(path);
    expect(query(path, tables)).toEqual(before);
  });

  it("is written to and searched before the old index goes", async () => {
    const path = whole();
    const lock = holdFileLock(`${path}.fts_rebuild.lock`);
    if (!lock.ok) throw new Error("the lock is taken");
    using _held = lock.value;
    await writeAndSearch(path);
    expect(former(path)).toHaveLength(11); // gave up, because another program holds the lock
    expect(complaints(path)).toEqual([]);
  });

  it("loses triggers of the original's that index into its tables", async () => {
    const path = whole();
    for (const name of ORIGINAL_TRIGGERS.map((sql) => sql.split(" ")[2] ?? ""))
      execute(path, `DROP TRIGGER ${name}`);
    for (const sql of ORIGINAL_TRIGGERS) execute(path, sql);
    await finishIndex(path);
    expect(former(path)).toEqual([]);
    await writeAndSearch(path);
  });
});

describe("half of our schema", () => {
  it.each([
    "DROP TRIGGER hermes_memory_origin_delete",
    "DROP INDEX hermes_memory_origin_copies",
    "DROP TABLE hermes_memory_origin",
    "DROP TRIGGER hermes_memory_leases_delete",
    "DROP TABLE hermes_memory_prompts",
    "DROP INDEX hermes_memory_activity_user",
    "DROP TRIGGER hermes_memory_session_insert",
    "DROP TABLE hermes_memory_activity",
    "DROP TRIGGER hermes_memory_queue_session",
    "DROP TABLE hermes_memory_word",
    "DROP INDEX idx_messages_session",
  ])("becomes whole at the next open (%s)", async (sql) => {
    const path = await ownFile();
    const schema = () =>
      query(path, "SELECT type, name, sql FROM sqlite_master ORDER BY type, name").map((row) => ({
        ...row,
        sql: String(row.sql).replace(" IF NOT EXISTS", ""),
      }));
    const before = schema();
    execute(path, sql);
    await finishIndex(path);
    expect(schema()).toEqual(before);
    expect(documentsOf(path)).toEqual(await documentsOfFresh(path));
    expect(query(path, "SELECT session_id FROM hermes_memory_activity")).toEqual([{ session_id: "one" }]);
    await using store = await openSessionStore({ path });
    const { id } = await store.branchSession("one");
    expect((await store.getMessages(id)).map((row) => row.origin_id)).toEqual([1, 2, 3]);
  });

  it("in another version's words is put in ours, and its rows are kept", async () => {
    const path = await ownFile();
    {
      await using store = await openSessionStore({ path });
      await store.branchSession("one", { id: "two" });
    }
    execute(
      path,
      `DROP INDEX hermes_memory_origin_copies;
       CREATE INDEX hermes_memory_origin_copies ON hermes_memory_origin(origin_id, message_id);
       DROP TRIGGER hermes_memory_origin_delete;
       CREATE TRIGGER hermes_memory_origin_delete AFTER DELETE ON messages BEGIN SELECT 1; END;
       ALTER TABLE hermes_memory_origin ADD COLUMN note TEXT`,
    );
    await using store = await openSessionStore({ path });
    expect((await store.getMessages("two")).map((row) => row.origin_id)).toEqual([1, 2, 3]);
    await store.deleteSession("two");
    expect(query(path, "SELECT * FROM hermes_memory_origin")).toEqual([]);
  });
});

it.skipIf(!hasPythonSqlite)("Python's SQLite appends, alters and vacuums a file with our index", async () => {
  const path = await ownFile();
  const python = openPython(path);
  await python.run(
    { sql: ADD, values: ["heronloft"] },
    { sql: "ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0" },
    { sql: "UPDATE messages SET content = 'brittlefern' WHERE id = 1" },
    { sql: "DELETE FROM messages WHERE id = 2" },
    {
      sql: "INSERT OR IGNORE INTO messages (id, session_id, role, content, timestamp) VALUES (3, 'one', 'user', 'x', 9)",
    },
    { sql: "VACUUM" },
  );
  const [[[ok] = []] = []] = await python.run({ sql: "PRAGMA integrity_check" });
  expect(ok).toBe("ok");
  await python.close();
  await using opened = await openIndex(path);
  expect([
    await opened.find("heronloft"),
    await opened.find("brittlefern"),
    await opened.find("velvetanchor"),
  ]).toEqual([[4], [1], []]);
});
