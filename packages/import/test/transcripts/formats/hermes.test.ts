// What the fixture of Hermes cannot show: times without a zone, and a gateway transcript that grows.
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { hermes } from "../../../src/transcripts/formats/hermes.ts";
import { type Found, readHome } from "../read-fixture.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-own-files-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

it("takes times without a zone as local time", async () => {
  const [message] = (await read([{ role: "user", content: "hi", timestamp: "2026-03-04T10:00:00.250000" }]))
    .messages;
  expect(message?.at).toBe(new Date(2026, 2, 4, 10, 0, 0, 250).getTime() / 1000);
});

it("reads a transcript without a first line of metadata, and names the session after its file", async () => {
  const { facts, messages } = await read([{ role: "user", content: "hi" }]);
  await appendFile(join(home, "s1.jsonl"), `${JSON.stringify({ role: "assistant", content: "hello" })}\n`);
  const grown = await readHome(hermes, home, { path: home });
  expect(facts).toEqual({ nativeId: "s1", id: "s1", source: "cli" });
  expect(grown.sessions[0]?.messages.slice(0, 1)).toEqual(messages);
  expect(grown.sessions[0]?.messages).toHaveLength(2);
});

it("gives the session the platform as its source, and keeps it when a later line has none", async () => {
  const head = { role: "session_meta", platform: "telegram" };
  const { facts } = await read([head, { role: "user", content: "hi" }, { role: "session_meta", model: "m" }]);
  expect(facts).toMatchObject({ source: "telegram", model: "m" });
});

it("reads content with images as the database's column holds it", async () => {
  const content = `\u0000json:${JSON.stringify([
    { type: "text", text: "look" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
  ])}`;
  expect((await read([{ role: "user", content }])).messages[0]?.text).toBe("look\n\n[image]");
});

it("reports a snapshot that is no session", async () => {
  await writeFile(join(home, "session_x.json"), "[]");
  await expect(readHome(hermes, home, { path: home })).rejects.toThrow("not a snapshot of a Hermes session");
});

it.each([
  [{ role: "session_meta", model: "m" }, true],
  [{ session_id: "s", session_start: "2026-03-04", messages: [] }, true],
  [{ id: "s", source: "cli", started_at: 1, messages: [] }, true],
  [{ role: "user", content: "x" }, false],
  [{ id: "s", messages: [] }, false],
])("recognises its files: %j", (first, isOurs) => {
  expect(hermes.recognises({ path: "x", head: new Uint8Array(), first })).toBe(isOurs);
});

async function read(records: readonly object[]): Promise<Found["sessions"][number]> {
  await writeFile(join(home, "s1.jsonl"), records.map((one) => `${JSON.stringify(one)}\n`).join(""));
  const [session] = (await readHome(hermes, home, { path: home })).sessions;
  if (session === undefined) throw new Error("no session was read");
  return session;
}
