// What the importer makes of messages that every format can have: without a time, without text, without the name of their tool.
import { appendFile, mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { READERS } from "../../src/internal.ts";
import { contentsOf, importInto, openEmptyStore, temporaryFolder } from "./import-suite.ts";

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
