// What other programs may do to a file of ours: triggers of their own, their repair, a SQLite without FTS5, half a schema.
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { ensureSchema, isCurrent } from "../../../src/sessions/sqlite/ensure-schema.ts";
import {
  COMPACT_TRIGGERS,
  FTS_TABLES,
  FTS_TRIGGERS,
  REFERENCE_TABLES,
  REFERENCE_TRIGGERS,
} from "../../../src/sessions/sqlite/index-layout.ts";
import { startScript } from "../../fakes/child.ts";
import {
  complaints,
  execute,
  hasPythonSqlite,
  makeReferenceFile,
  matches,
  newPath,
  ORIGINAL_TRIGGERS,
  openPython,
  query,
  termsOf,
  termsOfRebuilt,
} from "../../fakes/session-index.ts";

const CHINESE = "昨天讨论了琥珀灯塔的部署方案";
const CALLS = '[{"function": {"name": "grep", "arguments": "{\\"q\\": \\"mossbridge\\"}"}}]';

/** Rows 1 to 4, one of each kind. */
async function compactFile(): Promise<string> {
  const path = newPath();
  await using store = await openSessionStore({ path });
  await store.createSession("one", { source: "cli" });
  await store.appendMany("one", [
    { role: "user", content: "the quartzwharf crane" },
    { role: "user", content: [{ type: "text", text: "velvetanchor" }] },
    { role: "assistant", content: CHINESE },
    { role: "assistant", toolCalls: JSON.parse(CALLS) as unknown },
  ]);
  return path;
}

function referenceFile(): string {
  const path = newPath();
  makeReferenceFile(path, [
    { session: "one", content: "the quartzwharf crane" },
    { session: "one", content: '\0json:[{"type": "text", "text": "velvetanchor"}]' },
    { session: "one", content: CHINESE },
    { session: "one", content: null, toolCalls: CALLS },
  ]);
  return path;
}

async function halfConvertedFile(): Promise<string> {
  const path = newPath();
  const rows = Array.from({ length: 230 }, (_, n) => ({
    session: "one",
    content: n === 2 ? CHINESE : (["the quartzwharf crane", '\0json:["velvetanchor"]'][n % 2] ?? ""),
    ...(n === 3 ? { toolCalls: CALLS } : {}),
  }));
  makeReferenceFile(path, rows);
  await using store = await openSessionStore({ path });
  const stop = new AbortController();
  await store.optimize({ signal: stop.signal, onProgress: () => stop.abort() });
  expect((await store.stats()).index).toBe("converting");
  return path;
}

const FILES = [
  ["with our index", compactFile],
  ["with the original's index", referenceFile],
  ["half converted", halfConvertedFile],
] as const;

const triggers = (path: string) =>
  query(
    path,
    "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'messages_fts*' ORDER BY name",
  );

const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
const asRows = (objects: readonly { name: string; sql: string }[]) =>
  objects.map(({ name, sql }) => ({ name, sql })).sort(byName);

async function layout(path: string): Promise<string> {
  await using store = await openSessionStore({ path });
  expect(store.warnings).toEqual([]);
  return (await store.stats()).index;
}

function expectComplete(path: string): void {
  expect(complaints(path)).toEqual([]);
  for (const table of FTS_TABLES) expect(termsOf(path, table)).toEqual(termsOfRebuilt(path, table));
}

async function expectSoundForPython(path: string): Promise<void> {
  if (!hasPythonSqlite) return;
  const python = openPython(path);
  expect(await python.complaints()).toEqual([]);
  await python.close();
}

const DROP_TRIGGERS = FTS_TRIGGERS.map((name) => `DROP TRIGGER IF EXISTS ${name}`);

/** What the original writes: zero bytes and all. */
const WRITES = [
  "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('one', 'user', 'heronloft', 9)",
  `INSERT INTO messages(session_id, role, content, timestamp) VALUES ('one', 'user', char(0) || 'json:["opalhinge"]', 9)`,
  "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('one', 'user', '新灯塔的方案', 9)",
  "UPDATE messages SET content = 'brittlefern' WHERE id = 1",
  "DELETE FROM messages WHERE id = 2",
];

describe("triggers of the original's on our index", () => {
  it.each([["Node", false] as const, ...(hasPythonSqlite ? [["Python", true] as const] : [])])(
    "go, and the index is made anew, when %s wrote with them",
    async (_who, isPython) => {
      const path = await compactFile();
      const statements = [...DROP_TRIGGERS, ...ORIGINAL_TRIGGERS, ...WRITES];
      if (isPython) {
        const python = openPython(path);
        await python.run(...statements.map((sql) => ({ sql })));
        await python.close();
      } else for (const sql of statements) execute(path, sql);
      expect(triggers(path)).not.toEqual(asRows(COMPACT_TRIGGERS));

      expect(await layout(path)).toBe("compact");
      expect(triggers(path)).toEqual(asRows(COMPACT_TRIGGERS));
      const found = [
        "heronloft",
        "opalhinge",
        "brittlefern",
        "mossbridge",
        "quartzwharf",
        "velvetanchor",
      ].map((word) => matches(path, "messages_fts", word));
      expect(found).toEqual([[5], [6], [1], [4], [], []]);
      expect(matches(path, "messages_fts_trigram", '"灯塔的"')).toEqual([3, 7]);
      expectComplete(path);
      await expectSoundForPython(path);
    },
  );

  // The original fills the tables when it finds too few triggers. On an index without a copy of the text, emptying it
  // works only if nothing was missed; if something was, the statement fails and takes nothing with it.
  it.skipIf(!hasPythonSqlite).each([
    ["and did", []],
    ["and could not", WRITES],
  ])("go as well when the original wanted to fill the index in its own way, %s", async (_outcome, missed) => {
    const path = await compactFile();
    const python = openPython(path);
    const text = "COALESCE(content, '') || ' ' || COALESCE(tool_name, '') || ' ' || COALESCE(tool_calls, '')";
    const refill = FTS_TABLES.flatMap((table) => [
      { sql: `DELETE FROM ${table}` },
      { sql: `INSERT INTO ${table}(rowid, content) SELECT id, ${text} FROM messages` },
    ]);
    await python.run(...[...DROP_TRIGGERS, ...missed, ...ORIGINAL_TRIGGERS].map((sql) => ({ sql })));
    if (missed.length === 0) await python.run(...refill);
    else await expect(python.run(...refill.slice(0, 1))).rejects.toThrow("malformed");
    await python.close();
    expect(await layout(path)).toBe("compact");
    expect(triggers(path)).toEqual(asRows(COMPACT_TRIGGERS));
    expect(matches(path, "messages_fts", "heronloft")).toEqual(missed.length === 0 ? [] : [5]);
    expectComplete(path);
    await expectSoundForPython(path);
  });
});

describe.each(FILES)("a file %s", (name, make) => {
  /** What the original does to a file whose schema it cannot read. */
  function repairAsOriginal(path: string): void {
    using db = new DatabaseSync(path, { defensive: false });
    db.exec("PRAGMA writable_schema = ON");
    db.exec("DELETE FROM sqlite_master WHERE name LIKE 'messages_fts%'");
    db.exec("PRAGMA writable_schema = OFF");
    db.exec("VACUUM");
  }

  it("is searched with the original's index after the original has repaired it", async () => {
    const path = await make();
    const rows = Number(query(path, "SELECT COUNT(*) AS n FROM messages")[0]?.n);
    repairAsOriginal(path);
    for (const table of FTS_TABLES) execute(path, REFERENCE_TABLES[table]);
    for (const sql of ORIGINAL_TRIGGERS) execute(path, sql);
    for (const table of FTS_TABLES)
      execute(
        path,
        `INSERT INTO ${table}(rowid, content) SELECT id, COALESCE(content, '') || ' ' || COALESCE(tool_name, '') || ' ' || COALESCE(tool_calls, '') FROM messages`,
      );
    for (const sql of WRITES) execute(path, sql);
    expect(await layout(path)).toBe(name === "half converted" ? "converting" : "reference");
    expect(triggers(path)).toEqual(asRows(REFERENCE_TRIGGERS));
    expect(matches(path, "messages_fts", "heronloft")).toEqual([rows + 1]);
    expect(matches(path, "messages_fts", "brittlefern")).toEqual([1]);
    expect(complaints(path)).toEqual([]);
    await expectSoundForPython(path);
    await using store = await openSessionStore({ path });
    await store.optimize();
    expectComplete(path);
    expect(matches(path, "messages_fts", "opalhinge")).toEqual([rows + 2]);
    await store.clearMessages("one");
    expectComplete(path);
  });

  it("gets our index when nobody has made another one since the repair", async () => {
    const path = await make();
    repairAsOriginal(path);
    for (const sql of WRITES) execute(path, sql);
    expect(await layout(path)).toBe("compact");
    expect(matches(path, "messages_fts", "brittlefern")).toEqual([1]);
    expectComplete(path);
    await using store = await openSessionStore({ path });
    await store.clearMessages("one");
    expectComplete(path);
    await expectSoundForPython(path);
  });

  it("loses nothing to a SQLite without FTS5", async () => {
    const path = await make();
    await layout(path);
    const schema = () => query(path, "SELECT type, name, sql FROM sqlite_master ORDER BY type, name");
    const before = schema();
    {
      using db = new DatabaseSync(path);
      db.exec("BEGIN IMMEDIATE");
      expect(ensureSchema(db, false)).toHaveLength(1);
      db.exec("COMMIT");
      expect(isCurrent(db)).toBe(false);
    }
    const gone = before.filter(
      (row) => !schema().some(({ type, name: kept }) => type === row.type && kept === row.name),
    );
    const expected = [...FTS_TRIGGERS];
    // Those of a conversion would need FTS5 as well.
    if (name === "half converted")
      expected.push(...["insert", "delete", "update"].map((on) => `hermes_memory_build_${on}`));
    expect(gone.map((row) => row.name).sort()).toEqual(expected.sort());

    for (const sql of WRITES) execute(path, sql);
    const last = Number(query(path, "SELECT MAX(id) AS id FROM messages")[0]?.id);
    await layout(path);
    expect(matches(path, "messages_fts", "heronloft")).toEqual([last - 2]);
    expect(matches(path, "messages_fts", "opalhinge")).toEqual([last - 1]);
    expect(matches(path, "messages_fts", "brittlefern")).toEqual([1]);
    expect(matches(path, "messages_fts", "velvetanchor")).not.toContain(2);
    expect(matches(path, "messages_fts_trigram", '"灯塔的"')).toEqual([3, last]);
    expect(complaints(path)).toEqual([]);
    await expectSoundForPython(path);
    await using store = await openSessionStore({ path });
    expect(await store.optimize()).toMatchObject({ finished: true, converted: name !== "with our index" });
    expectComplete(path);
    await store.clearMessages("one");
    expectComplete(path);
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
    "DROP VIEW hermes_memory_trigrams",
    "DROP TRIGGER messages_fts_insert",
    "DROP TABLE hermes_memory_text",
    "DROP TABLE messages_fts_trigram",
    "DROP INDEX idx_messages_session",
  ])("becomes whole at the next open (%s)", async (sql) => {
    const path = await compactFile();
    const schema = () =>
      query(
        path,
        "SELECT type, name, sql FROM sqlite_master WHERE name NOT GLOB 'messages_fts*_*' ORDER BY type, name",
      );
    const before = schema();
    execute(path, sql);
    expect(await layout(path)).toBe("compact");
    const plain = (rows: ReturnType<typeof schema>) =>
      rows.map((row) => ({ ...row, sql: String(row.sql).replace(" IF NOT EXISTS", "") }));
    expect(plain(schema())).toEqual(plain(before));
    expect(triggers(path)).toEqual(asRows(COMPACT_TRIGGERS));
    expectComplete(path);
    expect(query(path, "SELECT session_id FROM hermes_memory_activity")).toEqual([{ session_id: "one" }]);
    await using store = await openSessionStore({ path });
    const { id } = await store.branchSession("one");
    expect((await store.getMessages(id)).map((row) => row.origin_id)).toEqual([1, 2, 3, 4]);
  });

  it("in another version's words is put in ours, and its rows are kept", async () => {
    const path = await compactFile();
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
    expect((await store.getMessages("two")).map((row) => row.origin_id)).toEqual([1, 2, 3, 4]);
    await store.deleteSession("two");
    expect(query(path, "SELECT * FROM hermes_memory_origin")).toEqual([]);
  });
});

it("is made once when six processes open a new file at the same moment", async () => {
  const path = newPath();
  const children = Array.from({ length: 6 }, () => startScript("open-store.ts", [path]));
  for (const child of children) expect(await child.nextLine()).toBe("ready");
  for (const child of children) child.say("go");
  for (const child of children) {
    const lines = await child.rest();
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { readOnly: false, warnings: [], messages: 0 },
    ]);
  }
  expect(query(path, "SELECT version FROM schema_version")).toEqual([{ version: 16 }]);
  expect(await layout(path)).toBe("compact");
  expect(complaints(path)).toEqual([]);
  expect(query(path, "PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
});
