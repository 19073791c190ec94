// What is saved of a damaged file: read page by page, built beside it, and swapped only when no other program has it open.
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore, repairDatabase } from "../../../src/sessions/index.ts";
import { holdRepairLocks } from "../../../src/sessions/sqlite/repair.ts";
import { rebuild } from "../../../src/sessions/sqlite/salvage/rebuild.ts";
import { classOfTable, isSearchTable } from "../../../src/sessions/sqlite/salvage/table-classes.ts";
import { exportAll } from "../../../testing/session-store/support.ts";
import { overwritePages } from "../../fakes/broken-database.ts";
import { startScript } from "../../fakes/child.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { messageAt } from "../../fakes/varied-messages.ts";

const SESSIONS = 6;
const PER_SESSION = 50;

/** Several leaf pages of messages below an interior page, and a table of another program. */
async function ownFile(): Promise<string> {
  const path = join(tempDirectory(), "state.db");
  {
    await using store = await openSessionStore({ path });
    for (let number = 0; number < SESSIONS; number += 1) {
      const id = `session-${number}`;
      await store.createSession(id, {
        source: number % 2 === 0 ? "cli" : "telegram",
        startedAt: 1000 + number,
      });
      await store.setSessionTitle(id, `Title ${number}`);
      await store.appendMany(
        id,
        Array.from({ length: PER_SESSION }, (_, at) => messageAt(id, at)),
      );
      await store.saveOwnPrompt(id, `prompt of ${id}`, 1);
      await store.setMeta(`key-${number}`, "value");
    }
  }
  using db = new DatabaseSync(path);
  db.exec("CREATE TABLE harbour_notes (note TEXT); INSERT INTO harbour_notes VALUES ('kept')");
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return path;
}

function rows(path: string, sql: string): Record<string, unknown>[] {
  using db = new DatabaseSync(path);
  return db
    .prepare(sql)
    .all()
    .map((row) => ({ ...row }));
}

function overwritePage(path: string, page: number, fill = 0): void {
  const fd = openSync(path, "r+");
  writeSync(fd, Buffer.alloc(4096, fill), 0, 4096, (page - 1) * 4096);
  closeSync(fd);
}

function pagesOf(path: string, name: string, kind: string): { pageno: number; ncell: number }[] {
  return rows(
    path,
    `SELECT pageno, ncell FROM dbstat WHERE name = '${name}' AND pagetype = '${kind}' ORDER BY path`,
  ) as { pageno: number; ncell: number }[];
}

function middleLeaf(path: string): { pageno: number; ncell: number } {
  const leaves = pagesOf(path, "messages", "leaf");
  expect(leaves.length).toBeGreaterThan(4);
  return leaves[Math.floor(leaves.length / 2)] ?? { pageno: 0, ncell: 0 };
}

const COUNT =
  "SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM sessions) AS sessions";
const ALL = { messages: SESSIONS * PER_SESSION, sessions: SESSIONS };

describe("what an object means for repair", () => {
  it.each([
    ["messages", "canonical"],
    ["sessions", "canonical"],
    ["system_prompts", "canonical"],
    ["harbour_notes", "canonical"],
    ["messages_fts_notes", "canonical"],
    ["hermes_memory_origin", "canonical"],
    ["compression_locks", "passing"],
    ["session_turn_leases", "passing"],
    ["schema_version", "passing"],
    ["sqlite_sequence", "passing"],
    ["messages_fts", "derived"],
    ["messages_fts_trigram_docsize", "derived"],
    ["messages_fts_cjk_data", "derived"],
    ["hermes_memory_fts_data", "derived"],
    ["hermes_memory_queue", "derived"],
    ["hermes_memory_activity", "derived"],
    ["sqlite_stat1", "derived"],
  ])("%s is %s", (name, expected) => {
    expect(classOfTable(name)).toBe(expected);
  });

  it("a table of another program that only begins like an index is no index", () => {
    expect(["messages_fts_notes", "messages_ftsx", "harbour_data"].filter(isSearchTable)).toEqual([]);
  });
});

describe("reading a file page by page", () => {
  it.each([
    [512, "UTF-8"],
    [4096, "UTF-16le"],
    [65_536, "UTF-8"],
  ])("gives every value back as it was stored (pages of %d bytes, %s)", async (pageSize, encoding) => {
    const path = join(tempDirectory(), "a.db");
    {
      using db = new DatabaseSync(path);
      db.exec(`PRAGMA page_size = ${pageSize}; PRAGMA encoding = '${encoding}'; PRAGMA user_version = 7`);
      db.exec("CREATE TABLE plain (a, b TEXT, c REAL, d INTEGER, e BLOB)");
      db.exec("CREATE TABLE keyed (id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT NOT NULL)");
      db.exec("CREATE TABLE bare (b TEXT, a INTEGER, c TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID");
      db.exec(
        "CREATE TABLE made (a INTEGER, twice INTEGER AS (a * 2), thrice INTEGER AS (a * 3) STORED, b TEXT)",
      );
      db.exec("INSERT INTO made (a, b) VALUES (4, 'four'), (5, NULL)");
      const plain = db.prepare("INSERT INTO plain VALUES (?, ?, ?, ?, ?)");
      for (const number of [
        0n,
        1n,
        -1n,
        127n,
        -129n,
        40_000n,
        9_000_000n,
        2n ** 40n,
        -(2n ** 63n),
        2n ** 63n - 1n,
      ])
        plain.run(number, `n${number}`, Number(number) / 3, number, new Uint8Array([0, 255]));
      plain.run("", "", 2, null, new Uint8Array(0));
      plain.run("a\0b", "昨天".repeat(9000), 1e300, 3, new Uint8Array(20_000).fill(7));
      db.exec("INSERT INTO plain VALUES (CAST(x'ff00fe41' AS TEXT), 'x', 1.5, 'no number', 5)");
      db.exec(
        "INSERT INTO keyed VALUES (5, 'five'), (-3, 'minus'), (9000000000, 'far'); DELETE FROM keyed WHERE id > 5",
      );
      for (let at = 0; at < 400; at += 1)
        db.prepare("INSERT INTO bare VALUES (?, ?, ?)").run(`row ${at}`, at % 7, "x".repeat(at));
      db.exec("ALTER TABLE keyed ADD COLUMN later TEXT DEFAULT 'later'; CREATE INDEX keyed_v ON keyed(v)");
      db.exec("CREATE VIEW seen AS SELECT v FROM keyed");
    }
    const target = join(tempDirectory(), "b.db");
    expect(await rebuild(path, target)).toMatchObject({ lost: [], notes: [], standIns: [], leftOut: [] });
    for (const sql of [
      "SELECT quote(a) a, typeof(a) ta, hex(b) b, quote(c) c, quote(d) d, typeof(d) td, quote(e) e, rowid FROM plain",
      "SELECT * FROM keyed",
      "SELECT name, seq FROM sqlite_sequence",
      "SELECT * FROM bare",
      "SELECT * FROM made",
      "SELECT type, name, sql FROM sqlite_master ORDER BY name",
      "PRAGMA page_size",
      "PRAGMA encoding",
      "PRAGMA user_version",
      "PRAGMA integrity_check",
    ])
      expect(dump(target, sql)).toEqual(dump(path, sql));
  });
});

function dump(path: string, sql: string): unknown[] {
  using db = new DatabaseSync(path, { readOnly: true });
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement.all().map((row) => ({ ...row }));
}

describe("a page that is gone", () => {
  it("costs the messages it held and no others; the report names each of them", async () => {
    const path = await ownFile();
    const { pageno, ncell } = middleLeaf(path);
    const before = rows(path, "SELECT id, session_id FROM messages");
    overwritePage(path, pageno);
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: true, strategy: "salvage", healthy: true, stand_ins: [] });
    const left = new Set(rows(path, "SELECT id FROM messages").map(({ id }) => id));
    const gone = before.filter(({ id }) => !left.has(id));
    expect(gone).toHaveLength(ncell);
    const [lost] = report.lost ?? [];
    expect(report.lost).toHaveLength(1);
    expect(lost).toMatchObject({
      table: "messages",
      rows: ncell,
      ids: [{ from: gone[0]?.id, to: gone.at(-1)?.id }],
    });
    expect(rows(path, "SELECT note FROM harbour_notes")).toEqual([{ note: "kept" }]);
    await using store = await openSessionStore({ path });
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    expect(await store.appendMessage("session-0", { role: "user", content: "goes on" })).toBe(
      ALL.messages + 1,
    );
  });

  it.each([["messages"], ["sqlite_schema"]])("costs nothing when it only led to others: %s", async (name) => {
    const path = await ownFile();
    const [root] = pagesOf(path, name, "internal");
    overwritePage(path, root?.pageno ?? 0);
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, strategy: "salvage", lost: [] });
    expect(rows(path, COUNT)).toEqual([ALL]);
    expect(rows(path, "SELECT note FROM harbour_notes")).toEqual([{ note: "kept" }]);
  });

  it("of the schema loses the tables that were declared in it, and says so", async () => {
    const path = await ownFile();
    // The last declaration is on the last leaf of the schema.
    const leaf = pagesOf(path, "sqlite_schema", "leaf").at(-1);
    overwritePage(path, leaf?.pageno ?? 0);
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: true, strategy: "salvage" });
    expect(report.lost?.map(({ table }) => table)).toContain("tables without a declaration");
    expect(rows(path, COUNT)).toEqual([ALL]);
  });

  it("of sessions is replaced by rows made from the indexes", async () => {
    const path = await ownFile();
    for (const { pageno } of pagesOf(path, "sessions", "leaf")) overwritePage(path, pageno);
    const report = await repairDatabase(path);
    const ids = Array.from({ length: SESSIONS }, (_, number) => `session-${number}`);
    expect(report).toMatchObject({ repaired: true, strategy: "salvage", stand_ins: ids });
    expect(
      rows(path, "SELECT id, source, title, started_at, message_count FROM sessions ORDER BY id"),
    ).toEqual(
      ids.map((id, number) => ({
        id,
        source: number % 2 === 0 ? "cli" : "telegram",
        title: `Title ${number}`,
        started_at: 1000 + number,
        message_count: PER_SESSION,
      })),
    );
    expect(rows(path, "PRAGMA foreign_key_check")).toEqual([]);
  });

  it.each([
    "hermes_memory_activity",
    "hermes_memory_activity_order",
    "hermes_memory_leases",
    "hermes_memory_origin",
    "hermes_memory_prompts",
    "lcm_nodes",
    "compression_locks",
    "state_meta",
    "schema_version",
    "sqlite_sequence",
    "sqlite_autoindex_sessions_1",
    "idx_messages_session",
    "hermes_memory_fts_data",
    "hermes_memory_doc",
  ])("of a table that can be made anew, or does without, is no reason to give up: %s", async (name) => {
    const path = await ownFile();
    overwritePages(path, name);
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: true, healthy: true, error: null });
    expect(rows(path, COUNT)).toEqual([ALL]);
    expect(rows(path, "SELECT note FROM harbour_notes")).toEqual([{ note: "kept" }]);
    await using store = await openSessionStore({ path });
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    expect((await store.searchMessages("number 7")).length).toBeGreaterThan(0);
    await store.appendMessage("session-0", { role: "user", content: "goes on" });
  });
});

describe("free space that contradicts itself", () => {
  it("is found by the health check and by the check-only repair, and repaired", async () => {
    const path = await ownFile();
    {
      await using store = await openSessionStore({ path });
      for (const number of [1, 3]) await store.deleteSession(`session-${number}`);
    }
    const trunk = readFileSync(path).readUInt32BE(32);
    expect(trunk).toBeGreaterThan(0);
    overwritePage(path, trunk, 0);
    const check = await repairDatabase(path, { checkOnly: true });
    expect(check).toMatchObject({ healthy: false });
    {
      await using store = await openSessionStore({ path, readOnly: true });
      expect((await store.file!.checkHealth()).problems).toEqual(check.problems);
    }
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, healthy: true });
    expect(await repairDatabase(path, { checkOnly: true })).toMatchObject({ healthy: true, error: null });
    expect(rows(path, COUNT)).toEqual([{ messages: 4 * PER_SESSION, sessions: 4 }]);
  });
});

describe("a file that others have open", () => {
  it.each(["wal", "delete"])("is not replaced; the repaired one stays beside it (%s)", async (mode) => {
    const path = await ownFile();
    using setup = new DatabaseSync(path);
    setup.exec(`PRAGMA journal_mode = ${mode}`);
    setup.close();
    const { pageno, ncell } = middleLeaf(path);
    overwritePage(path, pageno);
    // An idle connection: in DELETE mode it holds no lock.
    const holder = startScript("locking-process.ts", [path, "BEGIN"]);
    expect(await holder.nextLine()).toBe("held");
    const inode = statSync(path).ino;
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: false, strategy: "salvage", healthy: false });
    expect(report.error).toMatch(
      /another program has it open.*state\.db\.repaired-.*hermes sessions repair/s,
    );
    expect(statSync(path).ino).toBe(inode);
    expect(rows(String(report.beside), COUNT)).toEqual([{ ...ALL, messages: ALL.messages - ncell }]);
    holder.closeInput();
    expect(await holder.nextLine()).toBe("released");
    await holder.rest();
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, healthy: true });
    expect(rows(path, "PRAGMA journal_mode")).toEqual([{ journal_mode: mode }]);
  });

  it("is not repaired while another program holds one of the locks", async () => {
    const path = await ownFile();
    overwritePage(path, middleLeaf(path).pageno);
    const before = readFileSync(path);
    const locks = holdRepairLocks(path);
    if (!locks.ok) throw new Error("the locks must be free");
    using _ = locks.value;
    expect(JSON.parse(readFileSync(`${path}.repair.lock`, "utf8"))).toMatchObject({ pid: process.pid });
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: false, backup_path: null });
    expect(report.error).toMatch(/another program is repairing it or rebuilding its index/);
    expect(readFileSync(path)).toEqual(before);
  });

  it("keeps the mode of the file", async () => {
    const path = await ownFile();
    overwritePage(path, middleLeaf(path).pageno);
    expect(await repairDatabase(path)).toMatchObject({ repaired: true });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(
      readdirSync(join(path, "..")).filter((name) => /\.repair-|\.reading-|\.repaired-/.test(name)),
    ).toEqual([]);
  });
});

it("an export of a damaged database fails", async () => {
  const path = await ownFile();
  overwritePage(path, middleLeaf(path).pageno);
  await using store = await openSessionStore({ path, readOnly: true });
  await expect(exportAll(store, { includeInactive: true })).rejects.toMatchObject({
    code: "session-db-damaged",
  });
});

describe("a file that is no database", () => {
  it.each([
    ["text", Buffer.from("Dear diary. ".repeat(2000))],
    ["zeros", Buffer.alloc(40_960)],
    ["noise", Buffer.from(Array.from({ length: 40_960 }, (_, at) => (at * 7919) % 251))],
  ])("is left alone: %s", async (_what, bytes) => {
    const path = join(tempDirectory(), "state.db");
    writeFileSync(path, bytes);
    expect(await repairDatabase(path)).toMatchObject({
      repaired: false,
      error: expect.stringMatching(/not a database/),
    });
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(readdirSync(join(path, ".."))).toEqual(["state.db"]);
  });
});
