// The index follows the messages, whatever is done to them, by whichever program, in whichever state the file is.
import { copyFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { FTS_TABLES } from "../../../src/sessions/sqlite/index-layout.ts";
import {
  complaints,
  execute,
  hasPythonSqlite,
  makeReferenceFile,
  matches,
  newPath,
  openPython,
  query,
  type Statement,
  termsOf,
  termsOfRebuilt,
} from "../../fakes/session-index.ts";

// ---- anything that can be in a row ----

// Fractions with many digits are spelled differently by different versions of SQLite; that is not the subject here.
const json = fc
  .jsonValue({ maxDepth: 3, stringUnit: "binary" })
  .map((value) =>
    JSON.stringify(value, (_key, part) => (typeof part === "number" ? Math.trunc(part) % 1e6 : part)),
  );
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ unit: fc.constantFrom("灯", "塔", "か", "한", "ภ", "a", "é", " ", "\0", "🚀"), maxLength: 12 }),
  fc.string({ unit: fc.constantFrom("harbour", "crane", " ", "_", "\0"), maxLength: 8 }),
);
const callList = fc
  .array(
    fc.record({
      id: fc.string(),
      function: fc.record({ name: fc.string(), arguments: fc.oneof(json, text) }),
    }),
  )
  .map((list) => JSON.stringify(list));
const column = {
  content: fc.oneof(
    text,
    json,
    json.map((value) => `\0json:${value}`),
    fc.constant(null),
  ),
  tool_name: fc.option(text),
  tool_calls: fc.option(fc.oneof(callList, json, text)),
};

type Column = keyof typeof column;
type Value = string | null;
type Change =
  | { readonly kind: "insert"; readonly row: Readonly<Record<Column, Value>> }
  | { readonly kind: "set"; readonly at: number; readonly column: Column; readonly value: Value }
  | { readonly kind: "flip" | "delete"; readonly at: number };
type Step = { readonly by: "node" | "python"; readonly change: Change };

const at = fc.nat(1000);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant("insert" as const), row: fc.record(column) }),
  ...(Object.keys(column) as Column[]).map((name) =>
    fc.record({ kind: fc.constant("set" as const), at, column: fc.constant(name), value: column[name] }),
  ),
  fc.record({ kind: fc.constantFrom("flip" as const, "delete" as const), at }),
);
const steps = fc.array(
  fc.record({ by: fc.constantFrom("node" as const, hasPythonSqlite ? ("python" as const) : "node"), change }),
  { minLength: 10, maxLength: 60 },
);

/** The statement of a change. `ids` are those of the rows that are there, and are kept up to date. */
function toStatement(given: Change, ids: number[]): Statement | undefined {
  if (given.kind === "insert") {
    const id = Math.max(0, ...ids) + 1;
    ids.push(id);
    const { content, tool_name, tool_calls } = given.row;
    const sql =
      "INSERT INTO messages(id, session_id, role, content, tool_name, tool_calls, timestamp) VALUES (?, 'one', 'user', ?, ?, ?, 1)";
    return { sql, values: [id, content, tool_name, tool_calls] };
  }
  const place = given.at % Math.max(1, ids.length);
  const id = ids[place];
  if (id === undefined) return undefined;
  switch (given.kind) {
    case "set":
      return { sql: `UPDATE messages SET ${given.column} = ? WHERE id = ?`, values: [given.value, id] };
    case "flip":
      return { sql: "UPDATE messages SET active = 1 - active WHERE id = ?", values: [id] };
    case "delete":
      ids.splice(place, 1);
      return { sql: "DELETE FROM messages WHERE id = ?", values: [id] };
    default:
      return given satisfies never;
  }
}

/** Does all of it, each program in its turn, then asks both what they think of the indexes. */
async function applyAll(path: string, list: readonly Step[]): Promise<string[]> {
  using db = new DatabaseSync(path, { timeout: 10_000 });
  const python = hasPythonSqlite ? openPython(path) : undefined;
  const ids = db
    .prepare("SELECT id FROM messages ORDER BY id")
    .all()
    .map((row) => Number(row.id));
  let batch: Statement[] = [];
  const flush = async () => {
    if (batch.length > 0) await python?.run(...batch);
    batch = [];
  };
  for (const { by, change: given } of list) {
    const statement = toStatement(given, ids);
    if (statement === undefined) continue;
    if (by === "python") batch.push(statement);
    else {
      await flush();
      db.prepare(statement.sql).run(...((statement.values ?? []) as SQLInputValue[]));
    }
  }
  await flush();
  const found = [...complaints(path), ...((await python?.complaints()) ?? [])];
  await python?.close();
  return found;
}

async function compactFile(path: string): Promise<void> {
  await using store = await openSessionStore({ path });
  await store.createSession("one", { source: "cli" });
  await store.appendMany("one", [{ content: "the harbour crane" }, { content: "琥珀灯塔" }]);
}

/** As the original left it, but opened by us once, so that its triggers stop at zero bytes. */
async function referenceFile(path: string, rows = 2): Promise<void> {
  const contents = ["the harbour crane", "琥珀灯塔", '\0json:["velvet"]'];
  makeReferenceFile(
    path,
    Array.from({ length: rows }, (_, number) => ({
      session: "one",
      content: contents[number % contents.length] ?? "",
      ...(number % 4 === 3 ? { toolCalls: '[{"function": {"name": "grep", "arguments": "{}"}}]' } : {}),
    })),
  );
  await using store = await openSessionStore({ path });
  expect(store.warnings).toEqual([]);
}

/** With some rows in the new index and some not yet. */
async function halfConvertedFile(path: string): Promise<void> {
  await referenceFile(path, 230);
  await using store = await openSessionStore({ path });
  const stop = new AbortController();
  await store.optimize({ signal: stop.signal, onProgress: () => stop.abort() });
  expect((await store.stats()).index).toBe("converting");
  expect(query(path, "SELECT built FROM hermes_memory_build")).toEqual([{ built: 200 }]);
}

describe.each([
  ["compact", compactFile],
  ["the original's", referenceFile],
  ["being converted", halfConvertedFile],
])("an index that is %s", (name, make) => {
  let template: string;

  beforeEach(async () => {
    template = newPath();
    await make(template);
    execute(template, "PRAGMA wal_checkpoint(TRUNCATE)");
  });

  const where = hasPythonSqlite ? "by Node and by Python" : "by Node";
  it(`stays sound and complete under random changes ${where}`, async () => {
    const property = fc.asyncProperty(steps, async (list) => {
      const path = newPath();
      copyFileSync(template, path);
      expect(await applyAll(path, list)).toEqual([]);
      if (name !== "compact") {
        await using store = await openSessionStore({ path });
        expect(await store.optimize()).toMatchObject({ converted: true, finished: true });
      }
      expect(complaints(path)).toEqual([]);
      for (const table of FTS_TABLES) expect(termsOf(path, table)).toEqual(termsOfRebuilt(path, table));
    });
    await fc.assert(property, { numRuns: 8 });
  }, 120_000);

  it("is left alone when a row is only rewound", async () => {
    const pages = () =>
      query(
        template,
        "SELECT id, hex(block) AS block FROM messages_fts_data UNION ALL SELECT id, hex(block) FROM messages_fts_trigram_data",
      );
    const before = pages();
    execute(template, "UPDATE messages SET active = 0, observed = 1, token_count = 7");
    expect(pages()).toEqual(before);
    execute(template, "UPDATE messages SET content = 'changed' WHERE id = 1");
    expect(pages()).not.toEqual(before);
  });
});

describe("a new file", () => {
  it("stores no text twice", async () => {
    const path = newPath();
    await compactFile(path);
    const names = query(path, "SELECT name FROM sqlite_master WHERE name GLOB 'messages_fts*_content'");
    expect(names).toEqual([]);
    const none = { text: null, extra: null, words: "" };
    expect(query(path, "SELECT text, extra, words FROM hermes_memory_text")).toEqual([none]); // of the Chinese row
  });

  it("finds a word between Chinese ones, and no phrase that reaches over them", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    await store.createSession("one", { source: "cli" });
    await store.appendMany("one", [
      { content: "昨天部署docker服务，日志在 /var/log 里" },
      { content: "docker compose服务" },
      { role: "tool", content: "完成", toolName: "terminal" },
    ]);
    expect(matches(path, "messages_fts", "docker")).toEqual([1, 2]);
    expect(matches(path, "messages_fts", '"docker compose"')).toEqual([2]);
    expect(matches(path, "messages_fts", '"docker var"')).toEqual([]);
    expect(matches(path, "messages_fts", '"var log"')).toEqual([1]);
    expect(matches(path, "messages_fts", "terminal")).toEqual([3]);
    expect(matches(path, "messages_fts_trigram", '"部署docker服务"')).toEqual([1]);
    expect(complaints(path)).toEqual([]);
    execute(path, "UPDATE messages SET content = '昨天docker服务' WHERE id = 2");
    await store.clearMessages("one");
    expect(query(path, "SELECT * FROM hermes_memory_text")).toEqual([]);
    expect(complaints(path)).toEqual([]);
  });

  it("finds the words of a row in its copies too", async () => {
    const path = newPath();
    await using store = await openSessionStore({ path });
    await store.createSession("one", { source: "cli" });
    const own = await store.appendMany("one", [
      { role: "user", content: "昨天部署docker服务" },
      { role: "user", content: "plain" },
      { role: "assistant", content: "好", toolCalls: [{ function: { name: "docker", arguments: "{}" } }] },
      { role: "user", content: "再试docker一次" },
    ]);
    const { messageIds } = await store.branchSession("one", { id: "two" });
    expect(messageIds).toHaveLength(4);
    const found = [...own, ...messageIds].filter((_, at) => at % 4 !== 1);
    expect(matches(path, "messages_fts", "docker")).toEqual(found);
    expect(complaints(path)).toEqual([]);
    await store.deleteSession("two");
    expect(matches(path, "messages_fts", "docker")).toEqual(own.filter((_, at) => at !== 1));
    expect(complaints(path)).toEqual([]);
  });

  it("gives rows of the original the same words when it is converted", async () => {
    const path = newPath();
    makeReferenceFile(path, [{ session: "one", content: "昨天部署docker服务" }]);
    await using store = await openSessionStore({ path });
    expect(matches(path, "messages_fts", "docker")).toEqual([]);
    await store.optimize();
    expect(matches(path, "messages_fts", "docker")).toEqual([1]);
    expect(complaints(path)).toEqual([]);
  });

  it("keeps the words of a row with JSON in a table of ours, and drops them with the row", async () => {
    const path = newPath();
    await compactFile(path);
    await using store = await openSessionStore({ path });
    await store.appendMessage("one", { role: "user", content: [{ type: "text", text: "velvet" }] });
    const kept = () => query(path, "SELECT text, extra FROM hermes_memory_text WHERE message_id = 3");
    expect(matches(path, "messages_fts", "velvet")).toEqual([3]);
    expect(kept()).toEqual([{ text: "velvet  ", extra: null }]);
    execute(path, "UPDATE messages SET content = 'plain' WHERE id = 3");
    expect(kept()).toEqual([]);
    execute(path, `UPDATE messages SET tool_calls = '["fern"]' WHERE id = 3`);
    expect(kept()).toEqual([{ text: null, extra: "fern" }]);
    expect(matches(path, "messages_fts", "plain fern")).toEqual([3]);
    await store.clearMessages("one");
    expect(query(path, "SELECT message_id FROM hermes_memory_text")).toEqual([]);
    expect(termsOf(path, "messages_fts")).toEqual([]);
    expect(complaints(path)).toEqual([]);
  });

  it("has the six triggers the original counts", async () => {
    const path = newPath();
    await compactFile(path);
    const names = query(
      path,
      "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'messages_*'",
    );
    expect(names.map((row) => row.name).sort()).toEqual([
      "messages_fts_delete",
      "messages_fts_insert",
      "messages_fts_trigram_delete",
      "messages_fts_trigram_insert",
      "messages_fts_trigram_update",
      "messages_fts_update",
    ]);
  });
});
