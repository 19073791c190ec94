// What the importer makes of messages that every format can have: without a time, without text, without the name of their tool.
import { appendFile, mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { READERS } from "../../src/internal.ts";
import {
  contentsOf,
  type ImportOptions,
  importInto,
  openEmptyStore,
  temporaryFolder,
} from "./import-suite.ts";

type Row = {
  readonly started_at: number;
  readonly ended_at: number;
  readonly model: string | null;
  readonly messages: readonly Record<string, unknown>[];
};

const DAY_SECONDS = 86_400;
const START = Date.parse("2026-09-01T10:00:00Z") / 1000;

function readerOf(source: string) {
  const found = READERS.find((reader) => reader.source === source);
  if (found === undefined) throw new Error(`no reader ${source}`);
  return found;
}

function lines(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}

it("keeps the times of messages without one when their file grows, is touched, or gets an older date", async () => {
  await using folder = await temporaryFolder();
  await using store = await openEmptyStore(folder.path);
  const transcripts = join(folder.path, "projects", "empty-window", "agent-transcripts");
  const path = join(transcripts, "c1.jsonl");
  await mkdir(transcripts, { recursive: true });
  const said = (role: string, content: string) => lines([{ role, message: { content } }]);
  await writeFile(path, said("user", "one") + said("assistant", "two"));
  const importedAt = async (time: number) => {
    await utimes(path, time, time);
    const report = await importInto(store, readerOf("cursor"), folder.path, { path });
    const [session] = (await contentsOf(store)) as Row[];
    const times = session?.messages.map(({ timestamp }) => Math.floor(Number(timestamp)));
    return { updated: report.messagesUpdated, times, started: session?.started_at };
  };
  await importedAt(START);
  await appendFile(path, said("user", "three"));
  const next = START + DAY_SECONDS;
  const grown = { updated: 0, times: [START, START, next], started: START };
  expect(await importedAt(next)).toEqual(grown);
  expect(await importedAt(next + DAY_SECONDS)).toEqual(grown);
  await appendFile(path, said("assistant", "four"));
  expect(await importedAt(START - DAY_SECONDS)).toEqual({ ...grown, times: [START, START, next, next] });
});

it("lets a session without times end when its product changed it last, also for --since", async () => {
  await using folder = await temporaryFolder();
  await using store = await openEmptyStore(folder.path);
  const id = "00000000-0000-4000-8000-000000000001";
  const path = join(folder.path, `${id}.json`);
  const history = [{ message: { role: "user", content: "add a retry" } }];
  await writeFile(path, JSON.stringify({ sessionId: id, workspaceDirectory: "/home/ana", history }));
  const created = [{ sessionId: id, dateCreated: String((START - 30 * DAY_SECONDS) * 1000) }];
  await writeFile(join(folder.path, "sessions.json"), JSON.stringify(created));
  await utimes(path, START, START);
  const options = { path, since: START - DAY_SECONDS };
  expect((await importInto(store, readerOf("continue"), folder.path, options)).sessionsAdded).toBe(1);
  const [session] = (await contentsOf(store)) as Row[];
  expect(session).toMatchObject({ started_at: START - 30 * DAY_SECONDS, ended_at: START });
});

const HEADER = { type: "session", version: 3, id: "s1", timestamp: "2026-02-18T10:00:00Z", cwd: "/home/ana" };

async function importedPi(
  messages: readonly object[],
  options: ImportOptions = {},
): Promise<Row | undefined> {
  await using folder = await temporaryFolder();
  await using store = await openEmptyStore(folder.path);
  const path = join(folder.path, "s1.jsonl");
  const entries = messages.map((message, at) => ({ type: "message", id: `e${at}`, message }));
  await writeFile(path, lines([HEADER, ...entries]));
  await importInto(store, readerOf("pi"), folder.path, { ...options, path });
  const [session] = (await contentsOf(store)) as Row[];
  return session;
}

it("keeps a message that has only reasoning when reasoning is wanted", async () => {
  const messages = [
    { role: "user", content: "why?" },
    { role: "assistant", content: [{ type: "thinking", thinking: "The key has no locale." }] },
  ];
  const kept = await importedPi(messages, { prepare: { includeReasoning: true } });
  expect(kept?.messages[1]).toMatchObject({ content: "", reasoning: "The key has no locale." });
  expect((await importedPi(messages))?.messages).toHaveLength(1);
});

it("names the tool of a result after its call", async () => {
  const call = { type: "toolCall", id: "t1", name: "exec", arguments: {} };
  const session = await importedPi([
    { role: "user", content: "list the files" },
    { role: "assistant", content: [call] },
    { role: "toolResult", toolCallId: "t1", content: [{ type: "text", text: "a.ts" }] },
  ]);
  expect(session?.messages[2]).toMatchObject({ role: "tool", tool_name: "exec" });
});

it("gives the session the model of the active path", async () => {
  await using folder = await temporaryFolder();
  await using store = await openEmptyStore(folder.path);
  const path = join(folder.path, "conversations.json");
  const node = (id: string, parent: string | null, role: string, model?: string) => ({
    id,
    parent,
    message: {
      id,
      author: { role },
      create_time: START + Number(id),
      content: { content_type: "text", parts: [id] },
      metadata: { model_slug: model },
    },
  });
  const mapping = {
    1: node("1", null, "user"),
    2: node("2", "1", "assistant", "in-use"),
    3: node("3", "1", "assistant", "left"),
  };
  await writeFile(path, JSON.stringify([{ conversation_id: "k1", current_node: "2", mapping }]));
  await importInto(store, readerOf("chatgpt"), folder.path, { path });
  const [session] = (await contentsOf(store)) as Row[];
  expect(session?.model).toBe("in-use");
});
