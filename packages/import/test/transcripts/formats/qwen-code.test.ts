import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { qwenCode } from "../../../src/transcripts/formats/qwen-code.ts";
import { makeFixtureHome } from "../fixture-home.ts";
import { messagesIn } from "./plain-reading.ts";

let home = "";
let chats = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-qwen-"));
  await makeFixtureHome("qwen-code", home);
  chats = join(home, ".qwen/projects/-home-ana-shop/chats");
});
afterEach(() => rm(home, { recursive: true, force: true }));

it("keeps the copied records of a fork whose original is gone", async () => {
  await rm(join(chats, "q1.jsonl"));
  const { q2 } = await messagesIn(qwenCode, join(chats, "q2.jsonl"));
  expect(q2?.map(({ id }) => id)).toEqual(["u1", "u7", "f1", "f2"]);
});

it("drops the copies when the original was imported before it was deleted", async () => {
  await rm(join(chats, "q1.jsonl"));
  const { q2 } = await messagesIn(qwenCode, join(chats, "q2.jsonl"), {
    messageIdsOf: (id) => new Set(id === "q1" ? ["u1", "u7"] : []),
  });
  expect(q2?.map(({ id }) => id)).toEqual(["f1", "f2"]);
});

it("takes back the turns after a rewind before anything new is typed", async () => {
  const path = join(chats, "q1.jsonl");
  const lines = (await readFile(path, "utf8")).split("\n").slice(0, 14);
  await writeFile(path, `${lines.join("\n")}\n`);
  const { q1 } = await messagesIn(qwenCode, path);
  expect(q1?.flatMap(({ id, isActive }) => (isActive === false ? [id] : []))).toEqual([
    "u9",
    "u10",
    "u11:c3",
  ]);
});
