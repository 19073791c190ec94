// The table of summary nodes in all kinds of files: ours without it, Hermes Agent's, another program's, read-only.

import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import { leafOf } from "../../../testing/session-store/summary-nodes.ts";
import { outcomeOf } from "../../fakes/every-call.ts";
import { execute, makeReferenceFile, newPath, query } from "../../fakes/session-index.ts";

const WITHOUT_NODES = "DROP TRIGGER hermes_memory_nodes_delete; DROP TABLE lcm_nodes";

async function ownFile(): Promise<string> {
  const path = newPath();
  await using store = await openSessionStore({ path });
  await store.createSession("a", { source: "cli" });
  await store.appendMany("a", [
    { role: "user", content: "one" },
    { role: "assistant", content: "two" },
  ]);
  return path;
}

describe("a file without the table", () => {
  it("gets it at the next writable open, and keeps its search index as it is", async () => {
    const path = await ownFile();
    // A row that a rebuilt index would not have.
    execute(path, `${WITHOUT_NODES}; INSERT INTO hermes_memory_fts(rowid, said) VALUES (999, 'strayword')`);
    await using store = await openSessionStore({ path });
    expect(await store.summaries.insertSummaryNodes([leafOf("a", [1, 2])])).toBe(true);
    expect(await store.summaries.listSummaryNodes(["a"])).toEqual([leafOf("a", [1, 2])]);
    const strays = "SELECT rowid FROM hermes_memory_fts WHERE hermes_memory_fts MATCH 'strayword'";
    expect(query(path, strays)).toEqual([{ rowid: 999 }]);
    const names = query(path, "SELECT name FROM sqlite_master WHERE name GLOB '*nodes*' ORDER BY name");
    expect(names.map(({ name }) => name)).toEqual([
      "hermes_memory_nodes_delete",
      "hermes_memory_nodes_session",
      "lcm_nodes",
      "sqlite_autoindex_lcm_nodes_1",
      "sqlite_autoindex_lcm_nodes_2",
    ]);
  });

  it("made by the original alone can be read as it is, and takes nodes once it may be written", async () => {
    const path = newPath();
    makeReferenceFile(path, [{ session: "a", content: "hello" }]);
    {
      await using store = await openSessionStore({ path, readOnly: true });
      expect(await store.listContinued("a")).toEqual(["a"]);
      expect(await store.listMessageKeys(["a"])).toEqual([{ id: 1, session_id: "a", origin_id: null }]);
      expect(await store.getMessagesById([1])).toMatchObject([{ content: "hello" }]);
      expect(await store.summaries.listSummaryNodes(["a"])).toEqual([]);
    }
    await using store = await openSessionStore({ path });
    expect(await store.summaries.insertSummaryNodes([leafOf("a", [1])])).toBe(true);
    expect((await store.stats()).index).not.toBe("missing");
  });
});

describe("a table of that name that another program made", () => {
  it.each([
    "CREATE TABLE lcm_nodes (id INTEGER PRIMARY KEY, text TEXT)",
    "CREATE VIEW lcm_nodes AS SELECT 1 AS node_id",
    "CREATE TABLE lcm_nodes (node_id TEXT, summary TEXT)",
  ])("stays as it is, and summaries are refused with a reason: %s", async (sql) => {
    const path = await ownFile();
    execute(path, `${WITHOUT_NODES}; ${sql}`);
    for (const readOnly of [false, true, false]) {
      await using store = await openSessionStore({ path, readOnly });
      expect(await store.summaries.listSummaryNodes(["a"])).toEqual([]);
      expect(await store.summaries.getSummaryNode("x")).toBeNull();
      expect(await store.summaries.searchSummaryNodes("one")).toEqual([]);
      expect(await outcomeOf(store.summaries.insertSummaryNodes([leafOf("a", [1])]))).toBe(
        readOnly ? "session-db-read-only" : "no-summary-nodes",
      );
      if (readOnly) continue;
      expect(
        await outcomeOf(store.summaries.improveSummaryNode("x", { summary: "", tokens: 0, method: "model" })),
      ).toBe("no-summary-nodes");
    }
    expect(query(path, "SELECT sql FROM sqlite_master WHERE name = 'lcm_nodes'")).toEqual([{ sql }]);
    await using store = await openSessionStore({ path });
    expect(await store.deleteSession("a")).toBe(true);
  });

  it("with our columns and foreign rows works, and unreadable rows are left out", async () => {
    const path = await ownFile();
    {
      await using store = await openSessionStore({ path });
      await store.summaries.insertSummaryNodes([leafOf("a", [1])]);
    }
    using db = new DatabaseSync(path);
    const insert = db.prepare(
      "INSERT INTO lcm_nodes VALUES (?, 'a', 'a', ?, ?, 2, ?, 'text', 1, 1, 'model', 1)",
    );
    for (const [at, [id, depth, sources]] of (
      [
        ["no JSON", 0, "["],
        ["no list", 0, "{}"],
        ["texts for a leaf", 0, '["a"]'],
        ["numbers above", 1, "[1]"],
        ["no depth", "deep", "[1]"],
      ] as const
    ).entries())
      insert.run(id, depth, at + 10, sources);
    db.exec("UPDATE lcm_nodes SET source_tokens = 9223372036854775807 WHERE node_id = 'lcm_leaf_1'");
    const warnings: string[] = [];
    await using store = await openSessionStore({ path, onWarning: (text) => warnings.push(text) });
    expect((await store.summaries.listSummaryNodes(["a"])).map(({ node_id }) => node_id)).toEqual([
      "lcm_leaf_1",
    ]);
    expect(warnings).toHaveLength(5);
    expect(warnings[0]).toContain("lcm_nodes");
    expect(await store.summaries.insertSummaryNodes([leafOf("a", [2])])).toBe(true);
  });
});
