// Opening a file whose index the original made, with zero bytes in it: by Python's SQLite, by Node's, by both.
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { ensureSchema } from "../../../src/sessions/sqlite/ensure-schema.ts";
import {
  FTS_TABLES,
  fillReferenceTable,
  REFERENCE_TABLES,
  REFERENCE_TRIGGERS,
} from "../../../src/sessions/sqlite/index-layout.ts";
import { indexedPart } from "../../../src/sessions/sqlite/take-over.ts";
import { makeOldDatabase } from "../../fakes/old-database.ts";
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
} from "../../fakes/session-index.ts";

/** What a writer binds; bytes are stored as a blob. */
type Stored = {
  readonly content?: string | Uint8Array | null;
  readonly toolName?: string;
  readonly toolCalls?: string;
};

const CALLS = '[{"function": {"name": "grep", "arguments": "moss\0bridge"}}]';

const ROWS: Readonly<Record<string, Stored>> = {
  "structured content": { content: '\0json:[{"type": "text", "text": "velvetanchor"}]' },
  "a zero at the start": { content: "\0quartzwharf" },
  "a zero in the middle": { content: "brittlefern\0opalhinge" },
  "a zero at the end": { content: "heronloft\0" },
  "many zeros": { content: "dune\0\0lark\0\0\0moth\0" },
  "nothing but a zero": { content: "\0" },
  "less than a trigram before the zero": { content: "ab\0cd" },
  "less than a trigram altogether": { content: "a\0b" },
  "one trigram before the zero": { content: "abc\0" },
  "a zero in tool calls": { content: "look", toolCalls: CALLS },
  "a zero in tool calls alone": { content: null, toolCalls: CALLS },
  "a zero in the tool's name": { content: "harbour", toolName: "gr\0ep" },
  "a zero in every column": { content: "one\0two", toolName: "three\0four", toolCalls: "five\0six" },
  "astral characters": { content: "🚀🛰🌍🪐\0🚀🛰🌍🪐 琥珀灯塔\0" },
  "Chinese text": { content: '\0json:["昨天讨论了琥珀灯塔的部署方案"]' },
  "letters that fold": { content: "ÄÖÜ ẞ İstanbul\0ÇŞĞ" },
  "a long text": { content: `${"gate ".repeat(3000)}\0${"post ".repeat(3000)}` },
  "bytes that are no UTF-8": { content: Buffer.from("fffe80806162630064c3e282", "hex") },
  "lone continuing bytes": { content: Buffer.from("8081826162806300bfbfbf7879", "hex") },
  "a first byte with too many": { content: Buffer.from("c2a0a0a0a061620063f8888080808061", "hex") },
  "half a character before the zero": { content: Buffer.from("68696ae28200ac6b6c6d", "hex") },
  "surrogates in bytes": { content: Buffer.from("eda08061eda08000edb08062", "hex") },
};

const KINDS = Object.keys(ROWS);

const INSERT = `
  INSERT INTO messages(session_id, role, content, tool_name, tool_calls, timestamp) VALUES ('one', 'user', ?, ?, ?, 9)
`;

type Writer = "Node" | "Python";
const WRITERS: readonly Writer[] = hasPythonSqlite ? ["Node", "Python"] : ["Node"];

/** With the original's own triggers; message 1 is plain. Ids go on in the order of the rows. */
async function makeFile(rows: readonly (readonly [Writer, Stored])[]): Promise<string> {
  const path = newPath();
  makeReferenceFile(path, [{ session: "one", content: "the plainest marmalade" }]);
  for (const [writer, row] of rows) await write(path, writer, [row]);
  return path;
}

async function write(path: string, writer: Writer, rows: readonly Stored[]): Promise<void> {
  const bound = rows.map((row) => [row.content ?? null, row.toolName ?? null, row.toolCalls ?? null]);
  if (writer === "Node") {
    for (const values of bound) query(path, INSERT, ...values);
    return;
  }
  const python = openPython(path);
  await python.run(...bound.map((values) => ({ sql: INSERT, values: values.map(portable) })));
  await python.close();
}

function portable(value: string | Uint8Array | null): unknown {
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value;
}

async function run(path: string, writer: Writer, sql: string): Promise<void> {
  if (writer === "Node") {
    execute(path, sql);
    return;
  }
  const python = openPython(path);
  await python.run({ sql });
  await python.close();
}

async function open(path: string): Promise<void> {
  await using store = await openSessionStore({ path });
  expect(store.warnings).toEqual([]);
  expect((await store.stats()).index).toBe("reference");
}

async function expectSound(path: string): Promise<void> {
  expect(complaints(path)).toEqual([]);
  if (!hasPythonSqlite) return;
  const python = openPython(path);
  expect(await python.complaints()).toEqual([]);
  await python.close();
}

/** Every entry of an index, and the texts it was made of. */
function contentOf(path: string): unknown[] {
  using db = new DatabaseSync(path);
  return FTS_TABLES.map((table) => {
    db.exec(`CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', '${table}', 'instance')`);
    const terms = db
      .prepare(`SELECT term, doc, "offset" AS place FROM temp.words ORDER BY doc, place, term`)
      .all();
    db.exec("DROP TABLE temp.words");
    return [terms, db.prepare(`SELECT id, hex(c0) AS text FROM ${table}_content ORDER BY id`).all()];
  });
}

/** The same, when both tables are dropped and filled anew. */
function contentWhenFilledAnew(path: string): unknown[] {
  const copy = newPath();
  query(path, "VACUUM INTO ?", copy);
  for (const table of FTS_TABLES) {
    execute(copy, `DROP TABLE ${table}`);
    execute(copy, REFERENCE_TABLES[table]);
    execute(copy, fillReferenceTable(table));
  }
  return contentOf(copy);
}

/** A table that was dropped and made again lies on other pages. */
const places = (path: string) =>
  query(path, "SELECT name, rootpage FROM sqlite_master WHERE name GLOB 'messages_fts*_data' ORDER BY name");

async function expectTakenOver(path: string): Promise<void> {
  const before = places(path);
  await open(path);
  expect(places(path)).toEqual(before);
  expect(complaints(path)).toEqual([]);
  expect(contentOf(path)).toEqual(contentWhenFilledAnew(path));
}

describe.each(WRITERS)("a row that the original's triggers indexed in %s's SQLite", (writer) => {
  it.each(KINDS)("is taken over by itself: %s", async (kind) => {
    const path = await makeFile([[writer, ROWS[kind] ?? {}]]);
    await expectTakenOver(path);
  });

  it.each(WRITERS)("can be changed and deleted by %s's afterwards", async (other) => {
    const path = await makeFile([]);
    await write(path, writer, Object.values(ROWS));
    await expectTakenOver(path);
    await expectSound(path);
    expect(matches(path, "messages_fts", "velvetanchor")).toEqual([2]);
    expect(matches(path, "messages_fts_trigram", "lvetanc")).toEqual([2]);
    expect(matches(path, "messages_fts", "brittlefern")).toEqual([4]);
    expect(matches(path, "messages_fts_trigram", '"琥珀灯塔的"')).toEqual([16]);

    await run(path, other, "UPDATE messages SET content = 'thimble' || id WHERE id % 2 = 0");
    await expectSound(path);
    expect(matches(path, "messages_fts", "velvetanchor")).toEqual([]);
    expect(matches(path, "messages_fts_trigram", "himble2")).toEqual([2, 20, 22]);
    await run(path, other, "DELETE FROM messages WHERE id > 1");
    await expectSound(path);
    expect(matches(path, "messages_fts", "marmalade")).toEqual([1]);
    const left = FTS_TABLES.map((table) => query(path, `SELECT COUNT(*) AS n FROM ${table}_docsize`)[0]?.n);
    expect(left).toEqual([1, 1]);
  });
});

describe.skipIf(!hasPythonSqlite)("a file that both libraries wrote to", () => {
  it("is taken over row by row", async () => {
    const path = await makeFile([]);
    for (const writer of ["Python", "Node", "Python"] as const)
      await write(path, writer, Object.values(ROWS));
    expect(complaints(path)).not.toEqual([]);
    await expectTakenOver(path);
    await expectSound(path);
    await run(path, "Python", "DELETE FROM messages WHERE id % 3 = 0");
    await run(path, "Node", "DELETE FROM messages WHERE id % 3 = 1 AND id > 1");
    await expectSound(path);
  });

  it("gets a new index when one has left entries of a row that the other wrote", async () => {
    const path = await makeFile([["Node", { content: "brittlefern\0opalhinge" }]]);
    await run(path, "Python", "DELETE FROM messages WHERE id = 2");
    expect(complaints(path)).not.toEqual([]);
    await open(path);
    await expectSound(path);
    expect(contentOf(path)).toEqual(contentWhenFilledAnew(path));
  });

  it.each([
    ["Node", "Python"],
    ["Python", "Node"],
  ] as const)("gets a new index when a row that %s wrote was indexed again by %s", async (first, second) => {
    const path = await makeFile([
      [first, { content: "a plain text, so that there is something that too much can be taken away from" }],
      [first, { content: "brittlefern\0opalhinge" }],
    ]);
    await run(path, second, "UPDATE messages SET active = 0 WHERE id = 3");
    const before = places(path);
    await open(path);
    expect(places(path)).not.toEqual(before);
    await expectSound(path);
    expect(contentOf(path)).toEqual(contentWhenFilledAnew(path));
  });
});

describe("an index that cannot be taken over row by row", () => {
  const damages: Readonly<Record<string, string>> = {
    "lacks a row":
      "DELETE FROM messages_fts_trigram WHERE rowid = 2; DELETE FROM messages_fts WHERE rowid = 2",
    "holds a text that it does not index":
      "UPDATE messages_fts_trigram_content SET c0 = c0 || 'xyz' WHERE id = 2",
    "has lost the length of a row": "DELETE FROM messages_fts_trigram_docsize WHERE id = 2",
    "has lost the text of a row": "DELETE FROM messages_fts_content WHERE id = 2",
    "has lost its totals": "DELETE FROM messages_fts_data WHERE id = 1",
    "keeps no lengths": `
      DROP TABLE messages_fts; CREATE VIRTUAL TABLE messages_fts USING fts5(content, columnsize=0);
      INSERT INTO messages_fts(rowid, content) SELECT id, content FROM messages`,
    "cuts texts in another way": `
      DROP TABLE messages_fts_trigram; CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content);
      INSERT INTO messages_fts_trigram(rowid, content) SELECT id, content FROM messages`,
  };

  it.each(Object.keys(damages))("is filled anew: it %s", async (damage) => {
    const path = await makeFile([["Node", { content: "brittlefern\0opalhinge, and some more" }]]);
    {
      using db = new DatabaseSync(path, { defensive: false });
      db.exec(damages[damage] ?? "");
    }
    await open(path);
    await expectSound(path);
    expect(contentOf(path)).toEqual(contentWhenFilledAnew(path));
    const declared = query(path, "SELECT name, sql FROM sqlite_master WHERE name GLOB 'messages_fts*'");
    for (const table of FTS_TABLES)
      expect(declared).toContainEqual({ name: table, sql: REFERENCE_TABLES[table] });
  });

  it("is filled anew when a trigger was missing, because it may have missed rows", async () => {
    const path = await makeFile([["Node", { content: "brittlefern\0opalhinge" }]]);
    execute(path, "DROP TRIGGER messages_fts_insert");
    await write(path, "Node", [{ content: "heronloft" }]);
    await open(path);
    await expectSound(path);
    expect(matches(path, "messages_fts", "heronloft")).toEqual([3]);
  });
});

describe("taking over", () => {
  it("writes a small part of a large index", async () => {
    const path = newPath();
    makeReferenceFile(path, messages(2000));
    const writer = WRITERS.at(-1) ?? "Node";
    await write(path, writer, Object.values(ROWS));
    const pieces = (): Map<unknown, unknown> =>
      new Map(
        FTS_TABLES.flatMap((table) =>
          query(path, `SELECT id, hex(block) AS block FROM ${table}_data`).map(
            ({ id, block }) => [`${table} ${id}`, block] as const,
          ),
        ),
      );
    const before = pieces();
    {
      using db = new DatabaseSync(path);
      db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA wal_checkpoint(TRUNCATE); BEGIN IMMEDIATE");
      ensureSchema(db);
      db.exec("COMMIT");
      expect(statSync(`${path}-wal`).size).toBeLessThan(statSync(path).size / 5);
    }
    const after = pieces();
    const kept = [...before].filter(([id, block]) => after.get(id) === block).length;
    expect(kept).toBeGreaterThan(before.size * 0.9);
    await expectSound(path);
  });

  it("is done once: what is as it should be stays when the original brings its triggers back", async () => {
    const path = await makeFile([]);
    await write(path, "Node", Object.values(ROWS));
    await open(path);
    for (const { name } of REFERENCE_TRIGGERS) execute(path, `DROP TRIGGER ${name}`);
    for (const sql of ORIGINAL_TRIGGERS) execute(path, sql);
    const before = contentOf(path);
    const pages = query(path, "SELECT id, hex(block) AS block FROM messages_fts_trigram_data");
    await open(path);
    expect(contentOf(path)).toEqual(before);
    expect(query(path, "SELECT id, hex(block) AS block FROM messages_fts_trigram_data")).toEqual(pages);
    await expectSound(path);
  });

  it("leaves the tables of an index guarded", async () => {
    const path = await makeFile([[WRITERS.at(-1) ?? "Node", { content: "brittlefern\0opalhinge" }]]);
    using db = new DatabaseSync(path);
    db.exec("BEGIN IMMEDIATE");
    ensureSchema(db);
    db.exec("COMMIT");
    expect(() => db.exec("UPDATE messages_fts_trigram_content SET c0 = ''")).toThrow("may not be modified");
  });

  it.skipIf(!hasPythonSqlite)("comes before an upgrade changes rows of the original's SQLite", async () => {
    const path = newPath();
    const { root } = makeOldDatabase(path, 11, (db) => {
      db.exec("ALTER TABLE messages ADD COLUMN active INTEGER");
      db.exec("DELETE FROM messages");
    });
    const python = openPython(path);
    await python.run({
      sql: "INSERT INTO messages(session_id, role, content, timestamp) VALUES (?, 'user', ?, 9)",
      values: [root, '\0json:["velvetanchor"]'],
    });
    await python.close();
    await open(path);
    await expectSound(path);
    expect(query(path, "SELECT active FROM messages")).toEqual([{ active: 1 }]);
    expect(matches(path, "messages_fts_trigram", "velvetanchor")).toHaveLength(1);
  });
});

describe("the part of a text that was indexed", () => {
  const part = (text: string, tokens: number) => indexedPart(Buffer.from(text), tokens);

  it("is told from the number of trigrams", () => {
    expect(part("abcd\0efgh", 2)).toBe("head");
    expect(part("abcd\0efgh", 6)).toBe("whole");
    expect(part("abcd\0efgh", 5)).toBe("unknown");
    expect(part("\0json:[]", 0)).toBe("head");
  });

  it("is the whole where both have the same trigrams", () => {
    expect(part("abcd", 2)).toBe("whole");
    expect(part("abcd\0\0", 2)).toBe("whole");
    expect(part("a\0b", 0)).toBe("whole");
  });
});

function* messages(count: number): Generator<{ session: string; content: string }> {
  for (let n = 0; n < count; n += 1) {
    const words = Array.from({ length: 40 }, (_, at) => ((n * 7919 + at * 104_729) % 999_983).toString(36));
    yield { session: "one", content: words.join(" ") };
  }
}
