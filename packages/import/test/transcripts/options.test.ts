// What an import does when the same files are read again with other options, and what it notes about a session.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { zed } from "../../src/transcripts/formats/zed.ts";
import { importInto, openEmptyStore, temporaryFolder } from "./import-suite.ts";

it("reads an unchanged session of a database again when the options change", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "threads.db");
  const tool_results = { t: { tool_name: "read", content: { Text: "x ".repeat(5000) } } };
  const content = [{ ToolUse: { id: "t", name: "read", input: {} } }];
  const document = {
    messages: [{ User: { id: "u1", content: [{ Text: "hi" }] } }, { Agent: { content, tool_results } }],
  };
  const db = new DatabaseSync(path);
  db.exec(
    "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)",
  );
  db.prepare("INSERT INTO threads VALUES ('z1', '', '2026-09-01T10:00:00Z', 'json', ?)").run(
    Buffer.from(JSON.stringify(document)),
  );
  db.close();
  await using store = await openEmptyStore(folder.path);
  await importInto(store, zed, folder.path, { path });
  expect(await importInto(store, zed, folder.path, { path, prepare: { tools: "full" } })).toMatchObject({
    sessionsUpdated: 1,
    messagesUpdated: 1,
  });
});
