import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cline, roo } from "../../../src/transcripts/formats/cline.ts";
import { eventsOf, textsOf } from "./plain-reading.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hermes-cline-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("reads a task again later when its file is being written", async () => {
  const path = join(folder, "api_conversation_history.json");
  await writeFile(path, '[{"role":"user","content":"add a ret');
  await expect(eventsOf(roo, folder)).rejects.toThrow("still being written");
  await writeFile(path, '[{"role":"user","content":"add a retry"}]');
  expect(textsOf(await eventsOf(roo, path))).toEqual(["add a retry"]);
});

it("reads a session whose subagent is being written", async () => {
  const session = join(folder, "1788255000000_a");
  await mkdir(session);
  const messages = [{ id: "m1", role: "user", content: "add a retry" }];
  await writeFile(join(session, "1788255000000_a.messages.json"), JSON.stringify({ messages }));
  await writeFile(join(session, "agent_1.messages.json"), '{"messages":[{"id":');
  const unreadable: string[] = [];
  const events = await eventsOf(cline, folder, { unreadable: (path) => void unreadable.push(path) });
  expect(textsOf(events)).toEqual(["add a retry"]);
  expect(unreadable).toEqual([join(session, "agent_1.messages.json")]);
});

it("takes a file for the extension that its path names", () => {
  const sample = (path: string) => ({ path, head: new Uint8Array(), first: {} });
  const inRoo = sample("/home/ana/globalStorage/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json");
  expect([cline.recognises(inRoo), roo.recognises(inRoo)]).toEqual([false, true]);
  const anywhere = sample("/home/ana/backup/1788250000000/ui_messages.json");
  expect([cline.recognises(anywhere), roo.recognises(anywhere)]).toEqual([true, false]);
});
