// Queue and index: whatever any program does to messages, the index ends up like a fresh build.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../../src/sessions/index.ts";
import { idInKey } from "../../../../src/sessions/search/reads.ts";
import {
  documentsOf,
  documentsOfFresh,
  execute,
  finishIndex,
  hasPythonSqlite,
  newPath,
  openIndex,
  openPython,
  query,
} from "../../../fakes/session-index.ts";

const SESSIONS = ["one", "two"];

async function newFile(): Promise<string> {
  const path = newPath();
  await using store = await openSessionStore({ path });
  for (const id of SESSIONS) await store.createSession(id, { source: "cli" });
  return path;
}

const queued = (path: string) => Number(query(path, "SELECT COUNT(*) AS n FROM hermes_memory_queue")[0]?.n);

async function expectAsFresh(path: string): Promise<void> {
  expect(queued(path)).toBe(0);
  expect(documentsOf(path)).toEqual(await documentsOfFresh(path));
}

const text = fc.constantFrom(
  "harbour crane",
  "velvet 琥珀灯塔",
  "",
  '\0json:[{"type":"text","text":"opal"}]',
  "a\0b",
);
const session = fc.constantFrom(...SESSIONS);
const id = fc.integer({ min: 1, max: 12 });
const time = fc.constantFrom(0, -5, 86_399.5, 86_400, 1.7e9, 1e15);

type Sql = { readonly sql: string; readonly values: (string | number | null)[] };
const statement = (sql: string, ...values: fc.Arbitrary<string | number | null>[]) =>
  fc.tuple(...values).map((given): Sql => ({ sql, values: given }));

/** One of each change that affects how a message is found. */
const change: fc.Arbitrary<Sql> = fc.oneof(
  {
    weight: 5,
    arbitrary: statement(
      "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
      session,
      text,
      time,
    ),
  },
  statement(
    "INSERT INTO messages (id, session_id, role, content, timestamp) SELECT ?1, ?2, 'tool', ?3, 5 WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id = ?1)",
    id,
    session,
    text,
  ),
  statement("UPDATE messages SET content = ? WHERE id = ?", text, id),
  statement("UPDATE messages SET tool_name = ?, tool_calls = ? WHERE id = ?", text, text, id),
  statement("UPDATE messages SET role = ? WHERE id = ?", fc.constantFrom("user", "assistant"), id),
  statement("UPDATE messages SET timestamp = ? WHERE id = ?", time, id),
  statement("UPDATE messages SET active = ? WHERE id = ?", fc.constantFrom(0, 1, 2), id),
  statement("UPDATE messages SET session_id = ? WHERE id = ?", session, id),
  statement(
    "UPDATE messages SET id = id + 20 WHERE id = ? AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = messages.id + 20)",
    id,
  ),
  statement(
    "UPDATE sessions SET source = ?, user_id = ? WHERE id = ?",
    fc.constantFrom("cli", "telegram", "subagent"),
    fc.constantFrom(null, "", "bo"),
    session,
  ),
  statement(
    "UPDATE sessions SET model_config = ? WHERE id = ?",
    fc.constantFrom(null, "{}", "no JSON", '{"_user_platform":"telegram"}', '{"_user_platform":"discord"}'),
    session,
  ),
  statement("UPDATE sessions SET parent_session_id = ? WHERE id = 'two'", fc.constantFrom(null, "one")),
  statement("DELETE FROM messages WHERE id = ?", id),
  statement("DELETE FROM messages WHERE session_id = ?", session),
);

describe("the search index", () => {
  it("equals a fresh build after any changes, by whatever connection and with catch-up in between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(change, { minLength: 1, maxLength: 12 }), { maxLength: 4 }),
        async (rounds) => {
          const path = await newFile();
          await using opened = await openIndex(path);
          for (const round of rounds) {
            for (const { sql, values } of round) query(path, sql, ...values);
            await opened.find("harbour");
          }
          await expectAsFresh(path);
        },
      ),
      { numRuns: 25 },
    );
  });

  it.skipIf(!hasPythonSqlite)(
    "equals a fresh build after changes by Python, whose SQLite cannot open it",
    async () => {
      const path = await newFile();
      await using opened = await openIndex(path);
      const python = openPython(path);
      for (const round of fc.sample(fc.array(change, { minLength: 5, maxLength: 30 }), {
        numRuns: 12,
        seed: 7,
      })) {
        await python.run(...round.map(({ sql, values }) => ({ sql, values })));
        await opened.find("harbour");
      }
      await python.close();
      await expectAsFresh(path);
    },
  );

  it("finds a message that another connection has just stored, and not one it has just deleted", async () => {
    const path = await newFile();
    await using opened = await openIndex(path);
    execute(
      path,
      "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', 'quartzwharf', 9)",
    );
    expect(await opened.find("quartzwharf")).toEqual([1]);
    execute(path, "DELETE FROM messages");
    expect(await opened.find("quartzwharf")).toEqual([]);
  });

  it("finds messages while another process holds the write lock", async () => {
    const path = await newFile();
    execute(
      path,
      "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', 'quartzwharf', 9), ('two', 'user', 'heronloft', 9)",
    );
    await finishIndex(path);
    await using opened = await openIndex(path, {});
    using writer = new DatabaseSync(path);
    execute(path, "UPDATE messages SET content = 'brittlefern' WHERE id = 2");
    writer.exec("BEGIN IMMEDIATE");
    expect(await opened.find("quartzwharf")).toEqual([1]);
    expect(await opened.find("brittlefern")).toEqual([2]);
    expect(await opened.find("heronloft")).toEqual([]);
    writer.exec("ROLLBACK");
  });

  it("takes rows of another program that are not as they should be, and comes to an end with them", async () => {
    const path = await newFile();
    execute(
      path,
      `PRAGMA foreign_keys = OFF;
       INSERT INTO messages (session_id, role, content, timestamp) VALUES
         ('nowhere', 'user', x'6c616d70', 9), (x'ff00', x'75', 'lamp', 'yesterday'), ('one', '', 'lamp', x'00'), ('', 'user', 'lamp', 9e999);
       UPDATE sessions SET source = x'ff', user_id = 7 WHERE id = 'two';
       INSERT INTO messages (session_id, role, content, timestamp) VALUES ('two', 'user', 'lamp', -1)`,
    );
    await using opened = await openIndex(path);
    expect(await opened.find("lamp")).toEqual([1, 2, 3, 4, 5]);
    expect(
      query(
        path,
        "SELECT checked = (SELECT schema_version FROM pragma_schema_version) AS same FROM hermes_memory_state",
      ),
    ).toEqual([{ same: 1 }]);
    await expectAsFresh(path);
  });

  it("returns keys by day and id from either end, within a range, at most as many as asked for", async () => {
    const path = await newFile();
    const days = [5, 1, 3, 1, 5];
    for (const day of days)
      execute(
        path,
        `INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', 'lamp', ${day * 86_400 + 7})`,
      );
    await using opened = await openIndex(path);
    const ids = (options: object) =>
      opened.index.read((reader) =>
        reader.keys("lamp", { order: "oldest", limit: 10, ...options }).map(idInKey),
      );
    expect(await ids({})).toEqual([2, 4, 3, 1, 5]);
    expect(await ids({ order: "newest", limit: 3 })).toEqual([5, 1, 3]);
    expect(await ids({ from: 3 * 2 ** 32, to: 5 * 2 ** 32 + 1 })).toEqual([3, 1]);
  });

  it("lists terms by prefix, of the file and of rows that are queued", async () => {
    const path = await newFile();
    execute(
      path,
      "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', 'lantern lamp land', 9)",
    );
    await finishIndex(path);
    execute(
      path,
      "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('one', 'user', 'lance', 9)",
    );
    await using opened = await openIndex(path, { readOnly: true });
    const terms = (limit: number) => opened.index.read((reader) => reader.terms("lan", limit));
    expect(await terms(10)).toEqual(["lance", "land", "lantern"]);
    expect(await terms(1)).toEqual(["lance"]);
  });

  it("is brought up to date in the background after 256 messages, and on close", async () => {
    const path = await newFile();
    const message = { role: "user", content: "lamp" } as const;
    {
      await using store = await openSessionStore({ path });
      await store.appendMany(
        "one",
        Array.from({ length: 255 }, () => message),
      );
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(queued(path)).toBe(255);
      await store.appendMessage("one", message);
      await expect.poll(() => queued(path), { timeout: 10_000 }).toBe(0);
      await store.appendMessage("one", message);
      expect(queued(path)).toBe(1);
    }
    expect(queued(path)).toBe(0);
  });
});

describe("hidden rows", () => {
  const COLUMNS = `ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE messages ADD COLUMN display_kind TEXT`;
  const rows = [
    [1, 0, null, true],
    [0, 1, null, true],
    [0, 0, null, false],
    [2, 0, null, false],
    [1, 0, "hidden", false],
    [1, 0, "note", true],
  ] as const;

  it("are those neither active nor compacted, or not for display", async () => {
    const path = await newFile();
    execute(path, COLUMNS);
    for (const [active, compacted, kind] of rows)
      query(
        path,
        "INSERT INTO messages (session_id, role, content, timestamp, active, compacted, display_kind) VALUES ('one', 'user', 'lamp', 9, ?, ?, ?)",
        active,
        compacted,
        kind,
      );
    await using opened = await openIndex(path);
    const visible = rows.flatMap(([, , , isVisible], at) => (isVisible ? [at + 1] : []));
    expect(await opened.find('lamp NOT "\u0080i"')).toEqual(visible);
    expect(await opened.find("lamp")).toHaveLength(rows.length);
  });

  it("are noticed when another program added the columns, and rows changed before our triggers knew them", async () => {
    const path = await newFile();
    execute(
      path,
      "INSERT INTO messages (session_id, role, content, timestamp, active) VALUES ('one', 'user', 'lamp', 9, 0), ('one', 'user', 'lamp', 9, 1)",
    );
    await finishIndex(path);
    const docs = query(path, "SELECT COUNT(*) AS n FROM hermes_memory_doc");
    execute(path, COLUMNS);
    execute(
      path,
      "UPDATE messages SET compacted = 1 WHERE id = 1; UPDATE messages SET display_kind = 'hidden' WHERE id = 2",
    );
    await using opened = await openIndex(path);
    expect(await opened.find('lamp NOT "\u0080i"')).toEqual([1]);
    execute(path, "UPDATE messages SET display_kind = NULL WHERE id = 2");
    expect(await opened.find('lamp NOT "\u0080i"')).toEqual([1, 2]);
    expect(query(path, "SELECT COUNT(*) AS n FROM hermes_memory_doc")).toEqual(docs);
  });
});

it("a message whose id no index entry can have is counted as one that was not searched", async () => {
  const path = await newFile();
  execute(
    path,
    "INSERT INTO messages (id, session_id, role, content, timestamp) VALUES (5000000000, 'one', 'user', 'opal', 1)",
  );
  await using store = await openSessionStore({ path });
  expect(await store.search("opal")).toMatchObject({ hits: [], notSearched: { messages: 1 } });
});
