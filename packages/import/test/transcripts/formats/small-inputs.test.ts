// Rules of single formats, each with the smallest input that shows it.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { DEFAULT_PREPARE } from "../../../src/internal.ts";
import { amp } from "../../../src/transcripts/formats/amp.ts";
import { kimi } from "../../../src/transcripts/formats/kimi.ts";
import { letta } from "../../../src/transcripts/formats/letta.ts";
import { librechat } from "../../../src/transcripts/formats/librechat.ts";
import { telegram } from "../../../src/transcripts/formats/telegram.ts";
import { zed } from "../../../src/transcripts/formats/zed.ts";
import type { ReadOptions, TranscriptReader } from "../../../src/transcripts/reader.ts";
import { temporaryFolder } from "../import-suite.ts";
import { type Found, readHome } from "../read-fixture.ts";

async function found(
  reader: TranscriptReader,
  files: Readonly<Record<string, string>>,
  options: ReadOptions = DEFAULT_PREPARE,
): Promise<Found> {
  await using folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), text);
  }
  const [only = ""] = Object.keys(files);
  return await readHome(reader, folder.path, { path: join(folder.path, only), options }); // before the folder is removed
}

function lines(...records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}

it("amp: a result names its call toolUseID, also where it has the content of the API", async () => {
  const result = { type: "tool_result", toolUseID: "t1", content: "42 lines" };
  const text = JSON.stringify({ id: "T-1", messages: [{ role: "user", messageId: 0, content: [result] }] });
  const { sessions } = await found(amp, { "T-1.json": text });
  expect(sessions[0]?.messages).toMatchObject([{ role: "tool", text: "42 lines", toolCallId: "t1" }]);
});

it("kimi: the first known working directory counts", async () => {
  const wire = lines(
    { type: "config.update", cwd: "/home/ana/other" },
    { type: "context.append_message", message: { role: "user", content: "hi" } },
  );
  const state = JSON.stringify({ workDir: "/home/ana/project" });
  const known = await found(kimi, { "k1/agents/main/wire.jsonl": wire, "k1/state.json": state });
  expect(known.sessions[0]?.facts.cwd).toBe("/home/ana/project");
  const twice = lines({ type: "config.update", cwd: "/home/ana/project" }) + wire;
  const unknown = await found(kimi, { "k1/agents/main/wire.jsonl": twice });
  expect(unknown.sessions[0]?.facts.cwd).toBe("/home/ana/project");
});

it("kimi: the places of the older program are looked at only where experimental formats are wanted", () => {
  const place = { home: "/home/ana", env: {}, platform: "linux", cwd: "/" } as const;
  const older = join("/home/ana", ".kimi", "sessions");
  expect(kimi.roots(place)).toContain(older);
  expect(kimi.roots({ ...place, withoutExperimental: true })).not.toContain(older);
});

it("letta: calls that ran at once have a result each", async () => {
  const calls = ["c1", "c2"].map((id) => ({ id, function: { name: `tool ${id}`, arguments: "{}" } }));
  const returns = ["c1", "c2"].map((id) => ({ tool_call_id: id, func_response: `result of ${id}` }));
  const messages = [
    { id: "m1", role: "assistant", content: [], tool_calls: calls },
    { id: "m2", role: "tool", tool_returns: returns },
  ];
  const text = JSON.stringify({ agents: [{ id: "agent-0", messages }], blocks: [] });
  const { sessions } = await found(letta, { "export.json": text });
  expect(sessions[0]?.messages.slice(1)).toMatchObject([
    { id: "m2:c1", toolCallId: "c1", toolName: "tool c1", text: "result of c1" },
    { id: "m2:c2", toolCallId: "c2", toolName: "tool c2", text: "result of c2" },
  ]);
});

it("librechat: a flat list without parents is one conversation", async () => {
  const messages = ["hi", "hello", "again"].map((text, index) => ({
    messageId: `m${index}`,
    isCreatedByUser: index % 2 === 0,
    text,
  }));
  const { sessions } = await found(librechat, {
    "c.json": JSON.stringify({ conversationId: "c", messages }),
  });
  expect(sessions[0]?.messages.map(({ text, isActive }) => [text, isActive])).toEqual([
    ["hi", undefined],
    ["hello", undefined],
    ["again", undefined],
  ]);
});

it("telegram: a message of an unknown type is counted by its type", async () => {
  const messages = [{ id: 1, type: "story", date_unixtime: "1788250000", text: "" }];
  const { unknown, malformed } = await found(telegram, {
    "result.json": JSON.stringify({ name: "Ana", id: 5, messages }),
  });
  expect({ unknown, malformed }).toEqual({ unknown: { "type story": 1 }, malformed: [] });
});

it("telegram: --me and --assistant are ids or names", async () => {
  const said = (id: number, from: string, text: string) => ({
    ...{ id, type: "message", date_unixtime: `${1_788_250_000 + id}`, from, from_id: `user${id}`, text },
  });
  const messages = [said(1, "Ana", "hi"), said(2, "Helper", "hello"), said(3, "Ben", "hey")];
  const text = JSON.stringify({ name: "Team", id: 5, messages });
  for (const who of [
    { me: "user1", assistant: "2" },
    { me: "Ana", assistant: "Helper" },
  ]) {
    const { sessions } = await found(telegram, { "result.json": text }, { ...DEFAULT_PREPARE, ...who });
    expect(sessions[0]?.messages.map((message) => [message.role, message.text])).toEqual([
      ["user", "hi"],
      ["assistant", "hello"],
      ["user", "Ben: hey"],
    ]);
  }
});

it("zed: mentioned text is kept with full tools only, and results find their call in the message before", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "threads.db");
  const mention = { Mention: { uri: { File: { abs_path: "/home/ana/a.rs" } }, content: "fn main() {}" } };
  const current = { version: "0.3.0", messages: [{ User: { id: "u1", content: [mention] } }] };
  const older = {
    messages: [
      { id: 0, role: "assistant", segments: [], tool_uses: [{ id: "t", name: "grep", input: {} }] },
      { id: 1, role: "user", segments: [], tool_results: [{ tool_use_id: "t", content: "found" }] },
    ],
  };
  const db = new DatabaseSync(path);
  db.exec(
    "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)",
  );
  for (const [id, document] of Object.entries({ current, older }))
    db.prepare("INSERT INTO threads VALUES (?, '', '2026-09-01T10:00:00Z', 'json', ?)").run(
      id,
      Buffer.from(JSON.stringify(document)),
    );
  db.close();
  const texts = async (tools: "full" | "brief") => {
    const { sessions } = await readHome(zed, folder.path, { path, options: { ...DEFAULT_PREPARE, tools } });
    return sessions.map(({ messages }) => messages.at(-1));
  };
  expect(await texts("brief")).toMatchObject([{ text: "[file: a.rs]" }, { toolName: "grep" }]);
  expect(await texts("full")).toMatchObject([{ text: "[file: a.rs]\n\nfn main() {}" }, { toolName: "grep" }]);
});
