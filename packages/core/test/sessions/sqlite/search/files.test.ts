// Search on files in every state: read-only, made by Hermes Agent, half converted, without an index, with another program's
// triggers.
import { chmodSync } from "node:fs";
import { expect, it } from "vitest";
import { openSessionStore, type SessionStore } from "../../../../src/sessions/index.ts";
import { makeOldDatabase, OLD_VERSIONS } from "../../../fakes/old-database.ts";
import {
  execute,
  makeReferenceFile,
  newPath,
  query,
  type ReferenceMessage,
} from "../../../fakes/session-index.ts";

const CALLS = JSON.stringify([
  {
    id: "call_1",
    type: "function",
    function: { name: "read_file", arguments: '{"path": "mossbridge.txt"}' },
  },
]);
const MESSAGES: readonly ReferenceMessage[] = [
  { session: "a", content: "the quartzwharf crane turns slowly" },
  { session: "a", content: "cranes were turning" },
  { session: "b", content: "昨天讨论了琥珀灯塔" },
  { session: "b", content: "用docker部署灯塔" },
  { session: "c", content: null, toolCalls: CALLS },
  { session: "c", content: "opalhinge", toolName: "read_file" },
  { session: "c", content: '\0json:[{"type":"text","text":"see the velvetanchor"}]' },
  { session: "c", content: "the lantern\0 and what follows a zero" },
  { session: "d", content: "Hà Nội, một thành phố" },
];

/** What must be found in all of them, by ids. */
const EXPECTED: Readonly<Record<string, readonly number[]>> = {
  quartzwharf: [1],
  crane: [1, 2],
  '"crane turns"': [1],
  "crane NOT quartzwharf": [],
  "quartz*": [1],
  灯: [3, 4],
  灯塔: [3, 4],
  琥珀灯塔: [3],
  "灯塔 NOT 琥珀": [4],
  "docker 灯塔": [4],
  "mossbridge.txt": [5],
  read_file: [5, 6],
  opalhinge: [6],
  velvetanchor: [7],
  lantern: [8],
  thành: [9],
};

async function expectAll(store: SessionStore): Promise<void> {
  for (const [text, ids] of Object.entries(EXPECTED)) {
    const { hits } = await store.search(text);
    expect([text, hits.map(({ id }) => id).sort()]).toEqual([text, ids]);
  }
}

function referenceFile(): string {
  const path = newPath();
  makeReferenceFile(path, MESSAGES);
  return path;
}

it("a file of the original is searched as it is, and after it was optimized", async () => {
  await using store = await openSessionStore({ path: referenceFile() });
  await expectAll(store);
  await store.file!.optimize();
  await expectAll(store);
});

it("a file of the original that we never wrote to is searched read-only", async () => {
  const path = referenceFile();
  chmodSync(path, 0o400);
  await using store = await openSessionStore({ path, readOnly: true });
  await expectAll(store);
});

it("a compact file is searched read-only, and while another handle writes to it", async () => {
  const path = referenceFile();
  await using writer = await openSessionStore({ path });
  await writer.file!.optimize();
  await using reader = await openSessionStore({ path, readOnly: true });
  await expectAll(reader);
  await writer.appendMessage("a", { role: "user", content: "a heronloft 苍鹭" });
  for (const text of ["heronloft", "heronlofts", "苍", "苍鹭"])
    expect((await reader.search(text)).hits).toMatchObject([{ id: 10 }]);
});

it("a half-converted file is searched, and what is said meanwhile is found", async () => {
  const path = referenceFile();
  await using store = await openSessionStore({ path });
  const controller = new AbortController();
  controller.abort();
  expect(await store.file!.optimize({ signal: controller.signal })).toMatchObject({ finished: false });
  await expectAll(store);
  const id = await store.appendMessage("a", { role: "user", content: "a heronloft 苍鹭" });
  for (const text of ["heronloft", "苍鹭"]) expect((await store.search(text)).hits).toMatchObject([{ id }]);
  await store.file!.optimize();
  for (const text of ["heronloft", "苍鹭"]) expect((await store.search(text)).hits).toMatchObject([{ id }]);
  await expectAll(store);
});

it("a handle goes on finding things when another one replaces the index under it", async () => {
  const path = referenceFile();
  await using first = await openSessionStore({ path });
  await expectAll(first);
  {
    await using second = await openSessionStore({ path });
    await second.file!.optimize();
  }
  await expectAll(first);
  const id = await first.appendMessage("a", { role: "user", content: "heronlofts 苍鹭" });
  for (const text of ["heronloft", "苍"]) expect((await first.search(text)).hits).toMatchObject([{ id }]);
});

it("what happens to the original's index under a handle does not matter", async () => {
  const path = referenceFile();
  await using store = await openSessionStore({ path });
  await store.file!.optimize();
  await expectAll(store);
  execute(path, "DROP TABLE messages_fts; DROP TABLE messages_fts_trigram");
  await expectAll(store);
});

it("a file without any index is searched, read-only and after the next opening", async () => {
  const path = referenceFile();
  execute(path, "DROP TABLE messages_fts; DROP TABLE messages_fts_trigram");
  await using readOnly = await openSessionStore({ path, readOnly: true });
  await expectAll(readOnly);
  await using store = await openSessionStore({ path });
  await expectAll(store);
});

it("a compact file with the original's triggers is searched after the next opening", async () => {
  const path = referenceFile();
  {
    await using store = await openSessionStore({ path });
    await store.file!.optimize();
  }
  const foreign = `
    DROP TRIGGER messages_fts_insert;
    CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
      INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content);
    END;
    INSERT INTO messages(session_id, role, content, timestamp) VALUES ('a', 'user', 'a heronloft 苍鹭', 5000);
  `;
  execute(path, foreign);
  await using store = await openSessionStore({ path });
  await expectAll(store);
  for (const text of ["heronloft", "苍鹭"])
    expect((await store.search(text)).hits).toMatchObject([{ id: 10 }]);
});

it.each(OLD_VERSIONS)(
  "a file of version %i is searched once it may be written, and never refused",
  async (version) => {
    const path = newPath();
    makeOldDatabase(path, version);
    {
      await using store = await openSessionStore({ path, readOnly: true });
      for (const text of ["brittlefern", "灯塔", "琥珀灯塔", "crane*", "a OR b"]) await store.search(text);
    }
    await using store = await openSessionStore({ path });
    for (const text of ["brittlefern", "灯塔", "琥珀灯塔", "mossbridge", "heronlofts"])
      expect([text, (await store.search(text)).hits.length]).toEqual([text, text === "heronlofts" ? 2 : 1]);
  },
);

it("a search does not change the file", async () => {
  const path = referenceFile();
  await using store = await openSessionStore({ path });
  const before = query(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name");
  await expectAll(store);
  expect(query(path, "SELECT type, name, sql FROM sqlite_master ORDER BY name")).toEqual(before);
  expect(query(path, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
});
