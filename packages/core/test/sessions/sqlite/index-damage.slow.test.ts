// A damaged page of our own index stops nothing: the index is rebuilt from the messages.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { repairDatabase } from "../../../src/sessions/sqlite/repair.ts";
import {
  duplicateSchemaRow,
  overwritePages,
  spoilDeclaration,
  spoilIndexContent,
} from "../../fakes/broken-database.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

const TABLES = [
  "hermes_memory_fts_data",
  "hermes_memory_fts_idx",
  "hermes_memory_fts_docsize",
  "hermes_memory_fts_config",
  "hermes_memory_doc",
  "hermes_memory_no",
  "hermes_memory_word",
  "hermes_memory_queue",
  "hermes_memory_large",
  "hermes_memory_state",
  "hermes_memory_activity",
] as const;

const MESSAGES = 60;

/** A word that only message `at` contains. */
function wordOf(at: number): string {
  return `lantern${at}x`;
}

async function indexedFile(): Promise<string> {
  const path = join(tempDirectory(), "state.db");
  await using store = await openSessionStore({ path });
  await store.createSession("one", { source: "cli" });
  const contents = Array.from({ length: MESSAGES }, (_, at) => ({
    role: "user" as const,
    content: `${wordOf(at)} ${"a long text about the harbour ".repeat(at % 7 === 0 ? 400 : 3)}`,
  }));
  await store.appendMany("one", contents);
  expect((await store.search(wordOf(3))).hits).toHaveLength(1);
  return path;
}

async function hits(store: SessionStore, word: string): Promise<number> {
  return (await store.search(word)).hits.length;
}

/** All earlier messages and a new one are stored and found. */
async function expectToWork(store: SessionStore, before = MESSAGES): Promise<void> {
  await store.appendMessage("one", { role: "user", content: `${wordOf(before)} written afterwards` });
  expect(await store.messageCount("one")).toBe(before + 1);
  for (const at of [0, 7, 31, before - 1, before])
    expect([at, await hits(store, wordOf(at))]).toEqual([at, 1]);
}

function beside(path: string): string[] {
  return readdirSync(join(path, "..")).filter((name) => !/-(?:wal|shm)$|\.lock$/.test(name));
}

describe.each(["zeros", "noise"] as const)("a page of our index that holds %s", (content) => {
  it.each(TABLES)("does not stop opening, appending or searching: %s", async (table) => {
    const path = await indexedFile();
    overwritePages(path, table, content);
    {
      await using store = await openSessionStore({ path });
      await expectToWork(store);
    }
    // No copy was made for that.
    expect(beside(path)).toEqual(["state.db"]);
  });

  it("does not stop the handle that meets it in a search: hermes_memory_fts_data", async () => {
    const path = await indexedFile();
    overwritePages(path, "hermes_memory_fts_data", content);
    await using store = await openSessionStore({ path });
    for (const at of [3, 3, 31]) expect([at, await hits(store, wordOf(at))]).toEqual([at, 1]);
    await expectToWork(store);
    await using again = await openSessionStore({ path });
    await expectToWork(again, MESSAGES + 1);
    // Repair still finds abandoned pages, and damage that no operation has touched.
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, healthy: true });
    expect(await again.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
    await expectToWork(again, MESSAGES + 2);
  });
});

describe("a damaged page of our index", () => {
  it("stops a search of a handle that only reads, with a sentence that says what to do", async () => {
    const path = await indexedFile();
    overwritePages(path, "hermes_memory_fts_data");
    const before = readFileSync(path);
    {
      await using store = await openSessionStore({ path, readOnly: true });
      await expect(hits(store, wordOf(7))).rejects.toMatchObject({
        code: "session-db-damaged",
        hint: expect.stringContaining("hermes sessions repair"),
      });
      expect((await store.stats()).messages).toBe(MESSAGES);
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it.each(["hermes_memory_fts_data", "hermes_memory_queue", "hermes_memory_large", "hermes_memory_state"])(
    "is mended in a store that is open: %s",
    async (table) => {
      const path = await indexedFile();
      await using store = await openSessionStore({ path });
      expect(await store.messageCount("one")).toBe(MESSAGES);
      overwritePages(path, table);
      // A connection reads its pages again when another one has written.
      using other = new DatabaseSync(path);
      other.exec("CREATE TABLE harbour_notes (note TEXT)");
      await expectToWork(store);
    },
  );

  it.each(TABLES)("is given back by repair, which keeps every message: %s", async (table) => {
    const path = await indexedFile();
    overwritePages(path, table);
    expect(await repairDatabase(path, { checkOnly: true })).toMatchObject({ healthy: false });
    const report = await repairDatabase(path);
    expect(report).toMatchObject({ repaired: true, healthy: true, sessions: 1 });
    expect(await repairDatabase(path, { checkOnly: true })).toMatchObject({ healthy: true });
    await using store = await openSessionStore({ path });
    expect(store.warnings).toEqual([]);
    await expectToWork(store);
    expect(await store.file!.checkHealth()).toEqual({ ok: true, problems: [], indexChecked: true });
  });
});

describe("a page of messages written over a page of our index", () => {
  it.each(TABLES)("costs no message when the file is repaired: %s", async (table) => {
    const path = await indexedFile();
    overwritePages(path, table, { copyOf: "messages" });
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, healthy: true });
    await using store = await openSessionStore({ path });
    await expectToWork(store);
    expect(await store.file!.checkHealth()).toEqual({ ok: true, problems: [], indexChecked: true });
    const contents = (await store.getMessages("one")).map((message) => String(message.content).split(" ")[0]);
    expect(contents).toEqual(Array.from({ length: MESSAGES + 1 }, (_, at) => wordOf(at)));
  });
});

describe("schema rows of our index", () => {
  const NAMES = [
    "hermes_memory_fts",
    "hermes_memory_fts_data",
    "hermes_memory_doc",
    "hermes_memory_no",
    "hermes_memory_state",
    "hermes_memory_queue_insert",
    "hermes_memory_activity",
    "hermes_memory_message_insert",
  ];

  it.each(NAMES)(
    "are made anew at the next open when they are nonsense, without a copy: %s",
    async (name) => {
      const path = await indexedFile();
      spoilDeclaration(path, name);
      {
        await using store = await openSessionStore({ path });
        expect(store.warnings.join("\n")).toContain("being built again");
        await expectToWork(store);
      }
      expect(beside(path)).toEqual(["state.db"]);
    },
  );

  it.each(NAMES)("are repaired when they are there twice: %s", async (name) => {
    const path = await indexedFile();
    duplicateSchemaRow(path, name);
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, healthy: true });
    await using store = await openSessionStore({ path });
    await expectToWork(store);
    expect((await store.file!.checkHealth()).ok).toBe(true);
  });
});

describe("an index of ours that contradicts itself", () => {
  const WRONGS: readonly (readonly [string, string])[] = [
    [
      "has lost a message",
      "DELETE FROM hermes_memory_doc WHERE key = (SELECT min(key) FROM hermes_memory_doc)",
    ],
    ["holds a message too many", "INSERT INTO hermes_memory_doc(key, n) VALUES ((1 << 40) | 999999, 1)"],
    [
      "has lost a document",
      "DELETE FROM hermes_memory_fts WHERE rowid = (SELECT min(key) FROM hermes_memory_doc)",
    ],
  ];

  it.each(WRONGS)("is found and built again by repair when it %s", async (_what, sql) => {
    const path = await indexedFile();
    {
      using db = new DatabaseSync(path);
      db.exec(sql);
    }
    const checked = await repairDatabase(path, { checkOnly: true });
    expect(checked).toMatchObject({ healthy: false });
    expect(checked.problems?.join("\n")).toMatch(/1 message\(s\)/);
    expect(await repairDatabase(path)).toMatchObject({
      repaired: true,
      strategy: "rebuild_index",
      backup_path: null,
    });
    await using store = await openSessionStore({ path });
    await expectToWork(store);
    expect(await store.file!.checkHealth()).toEqual({ ok: true, problems: [], indexChecked: true });
  });

  it("is found and built again by repair when FTS5 lacks the length of a document", async () => {
    const path = await indexedFile();
    spoilIndexContent(path, "hermes_memory_fts");
    expect(await repairDatabase(path)).toMatchObject({ repaired: true, healthy: true });
    await using store = await openSessionStore({ path });
    await expectToWork(store);
    expect((await store.file!.checkHealth()).ok).toBe(true);
  });

  it("does not keep messages from being deleted", async () => {
    const path = await indexedFile();
    spoilIndexContent(path, "hermes_memory_fts");
    await using store = await openSessionStore({ path });
    expect(store.warnings).toEqual([]);
    expect(await store.deleteSession("one")).toBe(true);
    expect(await hits(store, wordOf(0))).toBe(0);
    expect(await store.messageCount()).toBe(0);
    expect(existsSync(path)).toBe(true);
  });
});
