// What the fixture of Grok Build cannot show: equal texts, and a history that was compacted.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { grok } from "../../../src/import/formats/grok.ts";
import { readHome } from "../read-fixture.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-grok-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const typed = (text: string, timestamp: number): object => ({
  timestamp,
  params: { update: { sessionUpdate: "user_message_chunk", content: { type: "text", text } } },
});
const done = (timestamp: number): object => ({
  timestamp,
  params: { update: { sessionUpdate: "turn_completed" } },
});
const checkpoint = { timestamp: 150, params: { update: { sessionUpdate: "compaction_checkpoint" } } };
const said = { type: "user", content: "go on" };

it("gives equal texts their times in order", async () => {
  const updates = [typed("go on", 100), done(101), typed("go on", 200)];
  expect(await timesOf([said, said], updates)).toEqual([100, 200]);
});

it("forgets times from before a compaction, which rewrote the history", async () => {
  expect(await timesOf([said], [typed("go on", 100), checkpoint, typed("go on", 200)])).toEqual([200]);
});

async function timesOf(history: readonly object[], updates: readonly object[]): Promise<unknown[]> {
  const folder = join(home, "project", "s1");
  await mkdir(folder, { recursive: true });
  const text = (records: readonly object[]): string =>
    records.map((one) => `${JSON.stringify(one)}\n`).join("");
  await writeFile(join(folder, "chat_history.jsonl"), text(history));
  await writeFile(join(folder, "updates.jsonl"), text(updates));
  const found = await readHome(grok, home, { path: home });
  return found.sessions.flatMap(({ messages }) => messages.map(({ at }) => at));
}
