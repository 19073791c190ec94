// Which product wrote a file, where neither its name nor its folder tells.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { READERS, readerOf } from "../../src/internal.ts";
import { temporaryFolder } from "./import-suite.ts";

const LONG = "a long text ".repeat(20_000);
const envelope = { uuid: "a", parentUuid: null, sessionId: "s", timestamp: "2026-09-01T10:00:00Z" };
const qwenTitle = { ...envelope, type: "system", systemPayload: { customTitle: "Retry" } };
const thread = { id: "T-1", messages: [{ role: "user", content: [{ type: "text", text: LONG }] }] };
const agentFile = { agents: [{ id: "agent-0", messages: [] }], blocks: [], tools: [{ source_code: LONG }] };
const firstPrompt = { ...envelope, type: "user", message: { role: "user", content: LONG } };

it.each([
  ["a Qwen Code file that begins with its title", "one.jsonl", `${JSON.stringify(qwenTitle)}\n`, "qwen-code"],
  ["a long Amp thread over many lines", "one.json", JSON.stringify(thread, null, 2), "amp"],
  ["a long Letta agent file on one line", "one.af", JSON.stringify(agentFile), "letta"],
  ["a file whose first line is long", "one.jsonl", `${JSON.stringify(firstPrompt)}\n{}\n`, "claude-code"],
  [
    "a log of Kimi CLI under another name",
    "one.jsonl",
    '{"timestamp":1788250000.5,"message":{"type":"TurnBegin","payload":{"user_input":"hi"}}}\n',
    "kimi",
  ],
  ["an event of OpenHands", "c1/events/event-00000-a.json", '{"kind":"MessageEvent","id":"a"}', "openhands"],
])("recognises %s", async (_, name, text, source) => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  expect((await readerOf(path, READERS, new AbortController().signal))?.source).toBe(source);
});

it.each([
  [
    "zed",
    "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)",
  ],
  ["warp", "CREATE TABLE ai_queries (id INTEGER, exchange_id TEXT, conversation_id TEXT, input TEXT)"],
  ["kiro", "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT)"],
])("recognises a copied database of %s by its tables", async (source, table) => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "copy.db");
  const db = new DatabaseSync(path);
  db.exec(table);
  db.close();
  const reader = await readerOf(path, READERS, new AbortController().signal);
  expect(reader?.source).toBe(source);
  const units = [];
  const walking = { signal: new AbortController().signal, unreadable: () => {} };
  for await (const unit of reader?.units(path, walking) ?? []) units.push(unit.path);
  expect(units).toEqual([path]);
});
