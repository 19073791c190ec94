import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { startScript } from "../../fakes/child.ts";
import { makeOldDatabase, OLD_TITLE, type OldVersion } from "../../fakes/old-database.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const FIRST_WITH_TOOL_INDEX = 11;

type Row = Readonly<Record<string, unknown>>;

function newPath(): string {
  return join(tempDirectory(), "state.db");
}

function oldFile(version: OldVersion, change?: (db: DatabaseSync) => void) {
  const path = newPath();
  return { path, ...makeOldDatabase(path, version, change) };
}

/** Opens the file as a store once, and closes it. */
async function upgrade(path: string): Promise<readonly string[]> {
  await using store = await openSessionStore({ path });
  return store.warnings;
}

function read(path: string, sql: string): Row[] {
  using db = new DatabaseSync(path, { readOnly: true });
  return db
    .prepare(sql)
    .all()
    .map((row) => ({ ...row }));
}

function column(path: string, sql: string): unknown[] {
  return read(path, sql).map((row) => Object.values(row)[0]);
}

/** Hermes Agent's indexes in the file. */
function indexesOf(path: string): string[] {
  return column(
    path,
    "SELECT name FROM sqlite_master WHERE name IN ('messages_fts', 'messages_fts_trigram')",
  ).map(String);
}

/** Schema and content, without the pages of the search index. */
function dump(path: string): Row {
  const tables = column(
    path,
    "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT GLOB 'messages_fts*' AND name NOT GLOB 'hermes_memory_fts*' ORDER BY name",
  );
  return {
    schema: read(path, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid"),
    content: tables.map((table) => [table, read(path, `SELECT * FROM "${String(table)}"`)]),
    words: indexesOf(path).map((table) => column(path, `SELECT rowid FROM ${table} ORDER BY rowid`)),
  };
}

function expectSoundIndex(path: string): void {
  using db = new DatabaseSync(path);
  for (const table of indexesOf(path))
    db.exec(`INSERT INTO ${table}(${table}, rank) VALUES('integrity-check', 1)`);
}

describe.each([10, 15] as const)("opening a database of schema version %i", (version) => {
  it(`${version < FIRST_WITH_TOOL_INDEX ? "takes the index without tool columns away" : "leaves it its index to the letter"}`, async () => {
    const { path } = oldFile(version);
    const objects = "SELECT name, sql FROM sqlite_master WHERE name GLOB 'messages_fts*' ORDER BY name";
    const before = read(path, objects);
    {
      await using store = await openSessionStore({ path });
      await store.file!.optimize();
      expect((await store.stats()).index).toBe("ready");
    }
    expect(read(path, objects)).toEqual(version < FIRST_WITH_TOOL_INDEX ? [] : before);
  });
});

describe("upgrading", () => {
  it.each([1, 10, 15] as const)(
    "succeeds in two processes that open a file of version %i at the same moment",
    async (version) => {
      const { path, messages } = oldFile(version);
      const children = [startScript("open-store.ts", [path]), startScript("open-store.ts", [path])];
      for (const child of children) expect(await child.nextLine()).toBe("ready");
      for (const child of children) child.say("go");
      for (const child of children) {
        const lines = await child.rest();
        expect(lines.map((line) => JSON.parse(line))).toEqual([
          { readOnly: false, warnings: [], messages: messages.length },
        ]);
      }
      expect(column(path, "SELECT version FROM schema_version")).toEqual([16]);
      expectSoundIndex(path);
    },
  );

  it("lets the session that started first keep a title several have, and says so once", async () => {
    const twice = (db: DatabaseSync) => {
      const add = db.prepare("INSERT INTO sessions (id, source, started_at, title) VALUES (?, 'cli', ?, ?)");
      add.run("earlier", 500, OLD_TITLE);
      add.run("later", 7000, OLD_TITLE);
    };
    const { path, root, continuation } = oldFile(3, twice);
    await using store = await openSessionStore({ path });
    expect(store.warnings).toHaveLength(1);
    expect(store.warnings[0]).toMatch(/2 session.*title/);
    expect(await store.getSessionTitle("earlier")).toBe(OLD_TITLE);
    for (const id of [root, "later"]) expect(await store.getSessionTitle(id)).toBeNull();
    expect(await store.getSessionTitle(continuation)).toBe(`${OLD_TITLE} #2`);
    expect(await store.setSessionTitle("later", "another")).toBe(true);
  });

  it("shows rows whose active flag was never set", async () => {
    const { path, root } = oldFile(11, (db) => db.exec("ALTER TABLE messages ADD COLUMN active INTEGER"));
    await using store = await openSessionStore({ path });
    expect((await store.getMessages(root)).map((message) => message.active)).toEqual([1, 1]);
  });

  it.each([1, 8, 15] as const)("keeps other programs' data in a file of version %i", async (version) => {
    const { path } = oldFile(version, (db) =>
      db.exec(`
        CREATE TABLE telegram_dm_topic_mode (chat_id TEXT PRIMARY KEY, enabled INTEGER DEFAULT 1);
        INSERT INTO telegram_dm_topic_mode VALUES ('42', 0);
        CREATE INDEX harbour_index ON telegram_dm_topic_mode(enabled);
        CREATE VIEW harbour_view AS SELECT chat_id FROM telegram_dm_topic_mode;
        CREATE TRIGGER harbour_trigger AFTER DELETE ON telegram_dm_topic_mode BEGIN SELECT 1; END;
        ALTER TABLE sessions ADD COLUMN harbour_mood TEXT;
        UPDATE sessions SET harbour_mood = 'calm';
      `),
    );
    await upgrade(path);
    const foreign =
      "SELECT name FROM sqlite_master WHERE name GLOB 'harbour*' OR name GLOB 'telegram*' ORDER BY name";
    expect(column(path, foreign)).toEqual([
      "harbour_index",
      "harbour_trigger",
      "harbour_view",
      "telegram_dm_topic_mode",
    ]);
    expect(read(path, "SELECT * FROM telegram_dm_topic_mode")).toEqual([{ chat_id: "42", enabled: 0 }]);
    expect(column(path, "SELECT DISTINCT harbour_mood FROM sessions")).toEqual(["calm"]);
  });

  it.each([1, 15] as const)(
    "is not stopped by a model_config in version %i that is no JSON",
    async (version) => {
      const broken = '{"depth": 1';
      const { path, toolRoot, delegates } = oldFile(version, (db) => {
        db.prepare("UPDATE sessions SET model_config = ? WHERE source = 'subagent' OR started_at = 3000").run(
          broken,
        );
      });
      await using store = await openSessionStore({ path });
      expect(column(path, "SELECT version FROM schema_version")).toEqual([16]);
      for (const id of [toolRoot, delegates[0]?.id ?? ""])
        expect((await store.getSession(id))?.model_config).toBe(broken);
      expect((await store.getSession(delegates[1]?.id ?? ""))?.model_config).toContain("_delegate_from");
      expect((await store.listSessionsRich({ limit: 50 })).map(({ id }) => id)).toContain(toolRoot);
      expect(await store.deleteSession(toolRoot)).toBe(true);
    },
  );
});

describe("a database of a later version", () => {
  /** As a later Hermes Agent might have left it. */
  async function laterFile(sql: string): Promise<string> {
    const path = newPath();
    {
      await using store = await openSessionStore({ path });
      await store.createSession("one", { source: "cli" });
    }
    using db = new DatabaseSync(path);
    db.exec(`UPDATE schema_version SET version = 17; ${sql}`);
    return path;
  }

  it.each([
    ["wants a value we do not know", "ALTER TABLE messages ADD COLUMN mood TEXT NOT NULL", "mood"],
    ["lacks a column we use", "ALTER TABLE sessions DROP COLUMN rewind_count", "rewind_count"],
  ])("is open for reading only, with a warning, when it %s", async (_what, sql, named) => {
    const path = await laterFile(sql);
    const before = dump(path);
    {
      await using store = await openSessionStore({ path });
      expect(store.readOnly).toBe(true);
      expect(store.warnings).toHaveLength(1);
      expect(store.warnings[0]).toContain("17");
      expect(store.warnings[0]).toContain(named);
      expect(await store.getSession("one")).toMatchObject({ id: "one", rewind_count: 0 });
      expect(await store.listSessionsRich()).toHaveLength(1);
      const refused = { code: "session-db-read-only" };
      await expect(store.appendMessage("one", { role: "user", content: "hello" })).rejects.toMatchObject(
        refused,
      );
      await expect(store.createSession("two")).rejects.toMatchObject(refused);
      await expect(store.deleteSession("one")).rejects.toMatchObject(refused);
      await expect(store.setMeta("a", "b")).rejects.toMatchObject(refused);
    }
    expect(dump(path)).toEqual(before);
  });
});
