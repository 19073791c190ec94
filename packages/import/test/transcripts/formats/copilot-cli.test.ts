// Event logs of Copilot that grow between two reads.
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { copilotCli } from "../../../src/transcripts/formats/copilot-cli.ts";
import { readHome } from "../read-fixture.ts";

let home = "";
let log = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-copilot-"));
  log = join(home, ".copilot", "session-state", "s1", "events.jsonl");
  await mkdir(join(log, ".."), { recursive: true });
});
afterEach(() => rm(home, { recursive: true, force: true }));

function event(id: string, type: string, data: Record<string, unknown>): string {
  return `${JSON.stringify({ type, id, parentId: null, timestamp: "2026-09-01T10:00:00.000Z", data })}\n`;
}

async function ids(): Promise<(string | undefined)[]> {
  return (await readHome(copilotCli, home)).sessions.flatMap(({ messages }) => messages.map(({ id }) => id));
}

it("leaves an answer in chunks for the next run until its last chunk is there", async () => {
  const chunk = (index: number) => ({
    messageId: "m",
    content: `${index}`,
    chunkIndex: index,
    chunkCount: 2,
  });
  await writeFile(log, event("e1", "user.message", { content: "count" }));
  await appendFile(log, event("e2", "assistant.message", chunk(0)));
  expect(await ids()).toEqual(["e1"]);
  await appendFile(log, event("e3", "assistant.message", chunk(1)));
  expect(await ids()).toEqual(["e1", "e2"]);
});

it("gives the chunks that came when the user asks the next question", async () => {
  const chunk = { messageId: "m", content: "half", chunkIndex: 0, chunkCount: 2 };
  const question = (id: string) => event(id, "user.message", { content: id });
  await writeFile(log, question("e1") + event("e2", "assistant.message", chunk) + question("e3"));
  expect(await ids()).toEqual(["e1", "e2", "e3"]);
});

it("a rewind whose events were removed from the file changes nothing", async () => {
  const rewind = event("e2", "session.snapshot_rewind", { upToEventId: "gone", eventsRemoved: 4 });
  await writeFile(log, event("e1", "user.message", { content: "kept" }) + rewind);
  const { sessions } = await readHome(copilotCli, home);
  expect(sessions).toMatchObject([{ inactive: [], messages: [{ id: "e1" }] }]);
});
