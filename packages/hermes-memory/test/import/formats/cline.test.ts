import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cline } from "../../../src/import/formats/cline.ts";
import { roo } from "../../../src/import/formats/roo.ts";
import { eventsOf, textsOf } from "./reading.ts";

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

it("takes a file for the extension that its path names", () => {
  const sample = (path: string) => ({ path, head: new Uint8Array(), first: [] });
  const inRoo = sample("/home/ana/globalStorage/rooveterinaryinc.roo-cline/tasks/1/ui_messages.json");
  expect([cline.recognises(inRoo), roo.recognises(inRoo)]).toEqual([false, true]);
  const anywhere = sample("/home/ana/backup/1788250000000/ui_messages.json");
  expect([cline.recognises(anywhere), roo.recognises(anywhere)]).toEqual([true, false]);
});
