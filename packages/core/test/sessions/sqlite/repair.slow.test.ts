import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { isMalformed, isNotSqlite } from "../../../src/sessions/sqlite/damage.ts";
import { toSessionError } from "../../../src/sessions/sqlite/failures.ts";
import { repairDatabase } from "../../../src/sessions/sqlite/repair.ts";
import {
  duplicateSchemaRow,
  overwritePages,
  spoilDeclaration,
  spoilIndexContent,
  writeNoDatabase,
} from "../../fakes/broken-database.ts";
import { startScript } from "../../fakes/child.ts";
import { makeOldDatabase } from "../../fakes/old-database.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { upgradeToToday } from "../../fakes/today-file.ts";

const SESSIONS = 7;
const MESSAGES = 11;
const NOW = new Date(2026, 1, 3, 4, 5, 6);

function oldFile(): string {
  const path = join(tempDirectory(), "state.db");
  makeOldDatabase(path, 15, (db) => {
    db.exec("CREATE TABLE harbour_notes (note TEXT); INSERT INTO harbour_notes VALUES ('kept')");
    db.exec(
      "CREATE TABLE messages_fts_notes (note TEXT); INSERT INTO messages_fts_notes VALUES ('kept, too')",
    );
  });
  return path;
}

/** A file in our own layout. */
async function ownFile(): Promise<string> {
  const path = join(tempDirectory(), "state.db");
  await using store = await openSessionStore({ path });
  await store.createSession("one", { source: "cli" });
  await store.appendMessage("one", { role: "user", content: "the quartzwharf crane" });
  await store.appendMessage("one", { role: "user", content: [{ type: "text", text: "velvetanchor" }] });
  await store.appendMessage("one", { role: "user", content: "琥珀灯塔" });
  return path;
}

const OWN_WORDS = ["quartzwharf", "velvetanchor", "琥珀灯塔"];

function sessionIn(path: string): string {
  const [row] = rows(
    path,
    "SELECT id FROM sessions WHERE end_reason IS NULL AND parent_session_id IS NULL ORDER BY id DESC",
  );
  return (row as { id: string }).id;
}

function failureOf(path: string): unknown {
  using db = new DatabaseSync(path);
  try {
    db.prepare("SELECT count(*) FROM sessions").get();
  } catch (cause) {
    return cause;
  }
  return undefined;
}

function rows(path: string, sql: string): unknown[] {
  using db = new DatabaseSync(path);
  return db
    .prepare(sql)
    .all()
    .map((row) => ({ ...row }));
}

function names(path: string, pattern: string): string[] {
  const found = rows(path, `SELECT name FROM sqlite_master WHERE name GLOB '${pattern}' ORDER BY name`);
  return found.map((row) => (row as { name: string }).name);
}

function namesBeside(path: string): string[] {
  return readdirSync(join(path, "..")).filter((name) => !/-(?:wal|shm)$|\.lock$/.test(name));
}

function expectAllRows(path: string): void {
  expect(rows(path, "SELECT count(*) AS n FROM sessions")).toEqual([{ n: SESSIONS }]);
  expect(rows(path, "SELECT count(*) AS n FROM messages")).toEqual([{ n: MESSAGES }]);
  expect(rows(path, "SELECT note FROM harbour_notes")).toEqual([{ note: "kept" }]);
  expect(rows(path, "SELECT note FROM messages_fts_notes")).toEqual([{ note: "kept, too" }]);
}

/** The store opens without a warning, writes, finds old and new messages, and is sound. */
async function expectToWork(path: string, session: string, words: readonly string[]): Promise<void> {
  await using store = await openSessionStore({ path });
  expect(store.warnings).toEqual([]);
  const before = await store.messageCount();
  await store.appendMessage(session, { role: "user", content: "the tinberryquay is new" });
  expect(await store.messageCount()).toBe(before + 1);
  for (const word of [...words, "tinberryquay"])
    expect([word, (await store.search(word)).hits.length]).toEqual([word, 1]);
  expect(await store.file!.checkHealth()).toEqual({ ok: true, problems: [], indexChecked: true });
}

const OLD_WORDS = ["quartzwharf", "mossbridge", "velvetanchor"];

describe("repairing a database", () => {
  it("leaves a sound file alone and says that it is sound", async () => {
    const path = oldFile();
    const before = readFileSync(path);
    expect(await repairDatabase(path)).toEqual({
      repaired: true,
      strategy: "dedup_schema",
      backup_path: null,
      error: null,
      sessions: SESSIONS,
      healthy: true,
    });
    expect(readFileSync(path)).toEqual(before);
    expect(namesBeside(path)).toEqual(["state.db"]);
  });

  it.each(["messages_fts", "sessions", "messages_fts_insert", "idx_sessions_source"])(
    "removes a second schema row of %s and keeps sessions, messages and search",
    async (name) => {
      const path = oldFile();
      duplicateSchemaRow(path, name);
      expect(failureOf(path)).toMatchObject({
        message: expect.stringContaining("malformed database schema"),
      });
      expect(await repairDatabase(path, { now: NOW })).toEqual({
        repaired: true,
        strategy: "dedup_schema",
        backup_path: `${realpathSync(path)}.malformed-backup-20260203_040506`,
        error: null,
        sessions: SESSIONS,
        healthy: true,
        problems: [expect.stringMatching(/^malformed database schema .* already exists$/)],
      });
      expectAllRows(path);
      const hits = rows(path, "SELECT rowid AS id FROM messages_fts WHERE messages_fts MATCH 'quartzwharf'");
      expect(hits).toEqual([{ id: 1 }]);
      expect(names(path, "messages_fts_*_insert")).toEqual(["messages_fts_trigram_insert"]);
    },
  );

  it.each(["messages_fts", "messages_fts_trigram_config", "messages_fts_update"])(
    "drops the original's index when the schema row of %s is nonsense, and search works without it",
    async (name) => {
      const path = oldFile();
      spoilDeclaration(path, name);
      expect(isMalformed(failureOf(path))).toBe(true);
      expect(await repairDatabase(path)).toMatchObject({ repaired: true, strategy: "drop_fts_rebuild" });
      expectAllRows(path);
      expect(names(path, "messages_fts*")).toEqual(["messages_fts_notes"]);
      await expectToWork(path, sessionIn(path), OLD_WORDS);
    },
  );

  it.each([
    ["messages_fts_data", "drop_fts_rebuild"],
    ["messages_fts_config", "drop_fts_rebuild"],
    ["idx_messages_session", "drop_fts_rebuild"],
  ])("gives up the pages of %s, which can be made anew, when they are damaged", async (name, strategy) => {
    const path = oldFile();
    overwritePages(path, name);
    expect(await repairDatabase(path, { checkOnly: true })).toMatchObject({ healthy: false });
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, strategy });
    expectAllRows(path);
    await expectToWork(path, sessionIn(path), OLD_WORDS);
    expect(names(path, "idx_messages_session")).toHaveLength(1);
    // Hermes Agent's index goes as a whole, and only when it is damaged.
    const isKept = (table: string) => names(path, table).length === 1;
    expect(isKept("messages_fts")).toBe(name === "idx_messages_session");
    expect(isKept("messages_fts_trigram")).toBe(name === "idx_messages_session");
  });

  it("keeps the original's index when an index of a table is what is nonsense", async () => {
    const path = oldFile();
    spoilDeclaration(path, "idx_sessions_source");
    expect(await repairDatabase(path)).toMatchObject({ repaired: true });
    expectAllRows(path);
    expect(names(path, "messages_fts*")).toEqual(
      expect.arrayContaining(["messages_fts", "messages_fts_trigram"]),
    );
    await expectToWork(path, sessionIn(path), OLD_WORDS);
  });

  it("keeps what is only in the log of a program that was killed", async () => {
    const path = oldFile();
    const crashed = join(tempDirectory(), "state.db");
    using db = new DatabaseSync(path, { defensive: false });
    db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA writable_schema = ON");
    db.exec("INSERT INTO sessions (id, source, started_at) VALUES ('late', 'cli', 9000)");
    db.exec("INSERT INTO sqlite_master SELECT * FROM sqlite_master WHERE name = 'messages_fts'");
    for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, crashed + suffix);
    const report = await repairDatabase(crashed);
    expect(report).toMatchObject({ repaired: true, strategy: "dedup_schema", sessions: SESSIONS + 1 });
    expect(rows(crashed, "SELECT id FROM sessions WHERE id = 'late'")).toEqual([{ id: "late" }]);
    expect(readFileSync(`${report.backup_path}-wal`)).toEqual(readFileSync(`${path}-wal`));
  });

  it("finds the rows of a table again whose schema row is nonsense", async () => {
    const path = oldFile();
    spoilDeclaration(path, "messages");
    const before = readFileSync(path);
    const report = await repairDatabase(path, { now: NOW });
    expect(report).toMatchObject({ repaired: true, strategy: "salvage", healthy: true, lost: [] });
    expectAllRows(path);
    expect(readFileSync(String(report.backup_path))).toEqual(before);
    expect(namesBeside(path)).toEqual(["state.db", "state.db.malformed-backup-20260203_040506"]);
  });

  it("saves everything else when the only page of messages is gone, and says what it held", async () => {
    const path = oldFile();
    overwritePages(path, "messages");
    const before = readFileSync(path);
    const report = await repairDatabase(path, { now: NOW, backup: false });
    expect(report).toMatchObject({ repaired: true, strategy: "salvage", sessions: SESSIONS, healthy: true });
    expect(report.lost).toMatchObject([
      { table: "messages", rows: MESSAGES, ids: [{ from: 1, to: MESSAGES }] },
    ]);
    expect(rows(path, "SELECT count(*) AS n FROM sessions")).toEqual([{ n: SESSIONS }]);
    expect(rows(path, "SELECT note FROM harbour_notes")).toEqual([{ note: "kept" }]);
    // Even without a requested backup: lost rows might still be recovered from it.
    expect(readFileSync(String(report.backup_path))).toEqual(before);
  });

  it("loses no row when asked not to: the file stays unchanged", async () => {
    const path = oldFile();
    overwritePages(path, "messages");
    const before = readFileSync(path);
    const report = await repairDatabase(path, { now: NOW, allowLoss: false });
    expect(report).toMatchObject({ repaired: false, strategy: null, healthy: false });
    expect(report.error).toMatch(
      /would lose rows \(messages: 11 row\(s\), ids 1 to 11.*hermes sessions repair/,
    );
    expect(readFileSync(path)).toEqual(before);
    expect(namesBeside(path)).toEqual(["state.db", "state.db.malformed-backup-20260203_040506"]);
  });

  it("keeps a backup that only its owner can read, and never writes over one", async () => {
    const path = oldFile();
    const backups: string[] = [];
    for (const name of ["messages_fts", "sessions", "messages"]) {
      duplicateSchemaRow(path, name);
      backups.push(String((await repairDatabase(path, { now: NOW })).backup_path));
    }
    const base = `${realpathSync(path)}.malformed-backup-20260203_040506`;
    expect(backups).toEqual([base, `${base}_2`, `${base}_3`]);
    for (const backup of backups) {
      expect(statSync(backup).mode & 0o777).toBe(0o600);
      expect(isMalformed(failureOf(backup))).toBe(true);
    }
  });

  it("only checks when asked to", async () => {
    const path = oldFile();
    expect(await repairDatabase(path, { checkOnly: true })).toMatchObject({
      healthy: true,
      repaired: false,
      error: null,
    });
    duplicateSchemaRow(path, "messages_fts");
    const before = readFileSync(path);
    const report = await repairDatabase(path, { checkOnly: true });
    expect(report).toMatchObject({ healthy: false, repaired: false, strategy: null, backup_path: null });
    expect(report.error).toContain("malformed database schema (messages_fts)");
    expect(readFileSync(path)).toEqual(before);
    expect(namesBeside(path)).toEqual(["state.db"]);
  });

  it("does not take the original's index for damaged when it contradicts itself: versions of SQLite disagree about it", async () => {
    const path = oldFile();
    spoilIndexContent(path, "messages_fts");
    expect(rows(path, "PRAGMA integrity_check")).toEqual([
      { integrity_check: expect.stringContaining("FTS5") },
    ]);
    const before = readFileSync(path);
    expect(await repairDatabase(path, { checkOnly: true })).toMatchObject({ healthy: true });
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, healthy: true, backup_path: null });
    expect(readFileSync(path)).toEqual(before);
    await expectToWork(path, sessionIn(path), OLD_WORDS);
  });

  it("rebuilds our index when it does not fit the messages, without a backup", async () => {
    const path = await ownFile();
    {
      using db = new DatabaseSync(path);
      db.exec("DELETE FROM hermes_memory_doc WHERE key = (SELECT min(key) FROM hermes_memory_doc)");
    }
    expect(await repairDatabase(path, { checkOnly: true })).toMatchObject({
      healthy: false,
      problems: ["1 message(s) are not in the search index"],
    });
    expect(await repairDatabase(path)).toMatchObject({
      repaired: true,
      healthy: true,
      strategy: "rebuild_index",
      backup_path: null,
    });
    await expectToWork(path, "one", OWN_WORDS);
  });

  it("does not touch the database of another program", async () => {
    const path = join(tempDirectory(), "places.sqlite");
    using db = new DatabaseSync(path);
    db.exec("CREATE TABLE places (url TEXT)");
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: false, backup_path: null });
    expect(report.error).toContain("not a session database");
  });

  it("reports a file that is not there, and a folder, without throwing", async () => {
    const directory = tempDirectory();
    const missing = join(directory, "none.db");
    expect(await repairDatabase(missing)).toEqual({
      repaired: false,
      strategy: null,
      backup_path: null,
      error: `${missing} does not exist`,
    });
    mkdirSync(join(directory, "folder"));
    expect(await repairDatabase(join(directory, "folder"))).toMatchObject({
      repaired: false,
      strategy: null,
    });
    expect(readdirSync(directory)).toEqual(["folder"]);
  });

  it("repairs the file behind a link, where its log is", async () => {
    const path = oldFile();
    const link = join(tempDirectory(), "linked.db");
    symlinkSync(path, link);
    duplicateSchemaRow(path, "messages_fts");
    const report = await repairDatabase(link, { now: NOW });
    expect(report).toMatchObject({
      repaired: true,
      backup_path: expect.stringContaining(realpathSync(path)),
    });
    expect(statSync(link, { throwIfNoEntry: true }).ino).toBe(statSync(path).ino);
    expectAllRows(link);
  });

  it("leaves the file as it is when another connection does not let go of it", async () => {
    const path = oldFile();
    duplicateSchemaRow(path, "messages_fts");
    const before = readFileSync(path);
    using holder = new DatabaseSync(path);
    holder.exec("BEGIN IMMEDIATE");
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: false, error: expect.stringContaining("locked") });
    expect(readFileSync(path)).toEqual(before);
    expect(isMalformed(failureOf(String(report.backup_path)))).toBe(true);
  });
});

describe("what an error says about a file", () => {
  it("tells a malformed file, and one that is no database, also behind our own errors", () => {
    const malformed = oldFile();
    duplicateSchemaRow(malformed, "sessions");
    const foreign = join(tempDirectory(), "state.db");
    writeNoDatabase(foreign);
    for (const wrap of [(cause: unknown) => cause, (cause: unknown) => toSessionError(cause, "state.db")]) {
      expect(isMalformed(wrap(failureOf(malformed)))).toBe(true);
      expect(isNotSqlite(wrap(failureOf(malformed)))).toBe(false);
      expect(isMalformed(wrap(failureOf(foreign)))).toBe(false);
      expect(isNotSqlite(wrap(failureOf(foreign)))).toBe(true);
    }
    for (const other of [new Error("disk I/O error"), undefined, null, "malformed"]) {
      expect(isMalformed(other)).toBe(false);
      expect(isNotSqlite(other)).toBe(false);
    }
  });
});

describe("opening a damaged database", () => {
  it("repairs it, says so, and shows everything that was in it", async () => {
    const path = oldFile();
    duplicateSchemaRow(path, "messages_fts");
    await using store = await openSessionStore({ path });
    expect(store.readOnly).toBe(false);
    expect(store.warnings.join("\n")).toMatch(/repaired.*malformed-backup-/);
    expect(await store.messageCount()).toBe(MESSAGES);
    expectAllRows(path);
  });

  it.each([
    ["a second schema row", (path: string) => duplicateSchemaRow(path, "messages_fts")],
    ["a schema row that is nonsense", (path: string) => spoilDeclaration(path, "messages_fts")],
    ["a schema row of ours that is nonsense", (path: string) => spoilDeclaration(path, "hermes_memory_fts")],
    ["a page of ours that is damaged", (path: string) => overwritePages(path, "hermes_memory_state")],
  ])("works in three processes at the same moment (%s)", async (_what, damage) => {
    const path = oldFile();
    await (await openSessionStore({ path })).close();
    damage(path);
    const children = [1, 2, 3].map(() => startScript("open-store.ts", [path]));
    for (const child of children) expect(await child.nextLine()).toBe("ready");
    for (const child of children) child.say("go");
    for (const child of children) {
      const [line = ""] = await child.rest();
      expect(JSON.parse(line)).toMatchObject({ readOnly: false, messages: MESSAGES });
    }
    expectAllRows(path);
    expect(namesBeside(path).filter((name) => name.includes(".repair-"))).toEqual([]);
    await repairDatabase(path); // frees the abandoned pages
    await expectToWork(path, sessionIn(path), OLD_WORDS);
  });

  it("tries once per process, then reports the damage; rows are only given up by the command", async () => {
    const path = oldFile();
    overwritePages(path, "messages");
    const before = readFileSync(path);
    for (let time = 0; time < 3; time += 1)
      await expect(openSessionStore({ path })).rejects.toMatchObject({
        code: "session-db-damaged",
        hint: expect.stringContaining("hermes sessions repair"),
      });
    expect(readFileSync(path)).toEqual(before);
    expect(namesBeside(path).filter((name) => name.includes("malformed-backup"))).toHaveLength(1);
  });
});

describe("the original's own index, damaged", () => {
  it.each([
    ["June's", false],
    ["today's", true],
  ])(
    "stops writes with an error that says what to do, and never loses one: %s",
    async (_whose, isSchema17) => {
      const path = oldFile();
      await (await openSessionStore({ path })).close();
      if (isSchema17) upgradeToToday(path);
      const session = sessionIn(path);
      overwritePages(path, "messages_fts_data");
      {
        await using store = await openSessionStore({ path });
        await expect(
          store.appendMessage(session, { role: "user", content: "not stored" }),
        ).rejects.toMatchObject({
          code: "session-db-damaged",
          hint: expect.stringContaining("hermes sessions repair"),
        });
        // Reading and searching do not need it.
        expect(await store.messageCount()).toBe(MESSAGES);
        for (const word of OLD_WORDS) expect((await store.search(word)).hits).toHaveLength(1);
      }
      expect(await repairDatabase(path)).toMatchObject({ repaired: true, strategy: "drop_fts_rebuild" });
      expectAllRows(path);
      expect(names(path, "messages_fts")).toEqual([]);
      await expectToWork(path, session, OLD_WORDS);
    },
  );
});
