import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cursor } from "../../../src/transcripts/formats/cursor.ts";
import { eventsOf, textsOf } from "./plain-reading.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hermes-cursor-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("the database of the IDE", () => {
  const put = (rows: Record<string, unknown>): string => {
    const path = join(folder, "state.vscdb");
    const db = new DatabaseSync(path);
    db.exec("CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
    for (const [key, value] of Object.entries(rows))
      db.prepare("INSERT INTO cursorDiskKV VALUES (?, ?)").run(key, Buffer.from(JSON.stringify(value)));
    db.close();
    return path;
  };
  const conversation = {
    "composerData:c1": {
      createdAt: 1788250000000,
      lastUpdatedAt: 1788250001000,
      status: "completed",
      fullConversationHeadersOnly: [{ bubbleId: "b1" }, { bubbleId: "b2" }],
    },
    "bubbleId:c1:b1": { type: 1, text: "why is the cache stale?" },
    "bubbleId:c1:b2": { type: 2, text: "No locale in the key.", thinking: { text: "Hm." } },
    "bubbleId:c1:b3": { type: 1, text: "an edited question" },
  };

  it("does not read a conversation again that has the same mark", async () => {
    const marks: string[] = [];
    const isUnchanged = (id: string, mark: string): boolean => id === "c1" && marks.push(mark) > 0;
    expect(await eventsOf(cursor, put(conversation), { isUnchanged })).toEqual([]);
    const { "composerData:c1": composer } = conversation;
    const grown = [...composer.fullConversationHeadersOnly, { bubbleId: "b4" }];
    await eventsOf(cursor, put({ "composerData:c1": { ...composer, fullConversationHeadersOnly: grown } }), {
      isUnchanged,
    });
    expect(new Set(marks).size).toBe(2);
  });

  it("waits for the end of an answer that is being written", async () => {
    const composer = { ...conversation["composerData:c1"], status: "generating" };
    const events = await eventsOf(cursor, put({ ...conversation, "composerData:c1": composer }));
    expect(textsOf(events)).toEqual(["why is the cache stale?"]);
  });

  it("is preferred to a transcript of the same conversation", async () => {
    const transcripts = join(folder, "agent-transcripts");
    await mkdir(transcripts);
    const line = { role: "user", message: { content: "why is the cache stale?" } };
    await writeFile(join(transcripts, "c1.jsonl"), `${JSON.stringify(line)}\n`);
    const imported = (id: string) => () => new Set([id]);
    const read = (id: string) => eventsOf(cursor, transcripts, { messageIdsOf: imported(id) });
    expect(await read("b1")).toEqual([]);
    expect(textsOf(await read("n0-0123456789abcdef"))).toEqual(["why is the cache stale?"]);
  });
});

it("refuses a store of the command line agent whose messages are encrypted", async () => {
  const db = new DatabaseSync(join(folder, "store.db"));
  db.exec("CREATE TABLE meta (key TEXT, value TEXT); CREATE TABLE blobs (id TEXT, data BLOB)");
  const meta = { agentId: "s1", latestRootBlobId: "00", blobEncryptionKey: "k" };
  db.prepare("INSERT INTO meta VALUES ('0', ?)").run(Buffer.from(JSON.stringify(meta)).toString("hex"));
  db.close();
  await expect(eventsOf(cursor, folder)).rejects.toThrow("encrypted");
});
