// What an import does when the same files are read again with other options, and what it notes about a session.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { librechat } from "../../src/transcripts/formats/librechat.ts";
import { telegram } from "../../src/transcripts/formats/telegram.ts";
import { warp } from "../../src/transcripts/formats/warp.ts";
import { zed } from "../../src/transcripts/formats/zed.ts";
import { contentsOf, importInto, openEmptyStore, temporaryFolder } from "./import-suite.ts";

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

it("reads another chat of the same export, and the same chat as another person", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "result.json");
  const chat = (id: number, name: string) => {
    const from = { from: name, from_id: `user${id}` };
    return {
      id,
      name,
      messages: [{ id: 1, type: "message", date_unixtime: "1788250000", ...from, text: "hi" }],
    };
  };
  const list = [chat(5, "Ana"), chat(6, "Ben")];
  await writeFile(path, JSON.stringify({ personal_information: {}, chats: { list } }));
  await using store = await openEmptyStore(folder.path);
  const run = (chosen: string, me: string) =>
    importInto(store, telegram, folder.path, { path, prepare: { chat: chosen, me } });
  expect(await run("Anna", "user9")).toMatchObject({ sessionsAdded: 0, skipped: { "another chat": 2 } });
  expect(await run("Ana", "user9")).toMatchObject({ sessionsAdded: 1 });
  expect(await run("Ben", "user9")).toMatchObject({ sessionsAdded: 1 });
  expect(await run("Ana", "user5")).toMatchObject({ sessionsUpdated: 1, messagesUpdated: 1 });
});

it("marks sessions whose messages have no times, and sessions without the answers", async () => {
  await using folder = await temporaryFolder();
  const messages = [{ messageId: "m", isCreatedByUser: true, text: "hi" }];
  const file = join(folder.path, "c.json");
  await writeFile(file, JSON.stringify({ conversationId: "c", messages }));
  const path = join(folder.path, "warp.sqlite");
  const db = new DatabaseSync(path);
  db.exec(
    `CREATE TABLE ai_queries (exchange_id TEXT, conversation_id TEXT, start_ts TEXT, input TEXT, working_directory TEXT, model_id TEXT);
    INSERT INTO ai_queries VALUES ('e1', 'w1', '2026-09-01 10:00:00', '[{"Query":{"text":"why?"}}]', NULL, 'auto')`,
  );
  db.close();
  await using store = await openEmptyStore(folder.path);
  await importInto(store, librechat, folder.path, { path: file });
  await importInto(store, warp, folder.path, { path });
  expect(await contentsOf(store)).toMatchObject([
    { id: "librechat-c", model_config: { _import: { times: "synthetic" } } },
    { id: "warp-w1", model_config: { _import: { partial: true } } },
  ]);
});
