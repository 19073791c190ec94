// What a user can say about a messenger's chats: who they are, which bot is the assistant, which chat they mean.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { discord } from "../../../src/transcripts/formats/discord.ts";
import { slack } from "../../../src/transcripts/formats/slack.ts";
import { telegram } from "../../../src/transcripts/formats/telegram.ts";
import type { TranscriptReader } from "../../../src/transcripts/reader.ts";
import { makeFixtureHome } from "../fixture-home.ts";
import { readHome } from "../read-fixture.ts";
import { OFF } from "./plain-reading.ts";

let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "hermes-messenger-"));
  for (const { source } of [slack, discord, telegram]) await makeFixtureHome(source, join(folder, source));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function said(reader: TranscriptReader, people: { me?: string; assistant?: string; chat?: string }) {
  const options = { ...OFF, ...people };
  const home = join(folder, reader.source);
  const { sessions } = await readHome(reader, home, { path: join(home, "exports"), options });
  return sessions.flatMap(({ messages }) => messages.map(({ role, text }) => `${role}| ${text}`));
}

it("Discord: the user's and the bot's words stand without a name", async () => {
  expect(await said(discord, { me: "10", assistant: "99", chat: "200" })).toEqual([
    "user| How do I reset the cache?",
    "assistant| Run `cache clear`.",
    "user| [image]\n\n[file: trace.log]",
  ]);
});

it("Telegram: ids with and without their prefix, a chat by its name", async () => {
  const found = ["user| Coffee?", "user| Ben: [audio]"];
  expect(await said(telegram, { me: "1", chat: "Ben" })).toEqual(found);
  expect(await said(telegram, { me: "user1", chat: "2" })).toEqual(found);
  expect(await said(telegram, { chat: "Trip" })).toContain(
    "user| Ben: Platform 4, look: https://example.com",
  );
});

it("Slack: a chat by its name, the bot by its id", async () => {
  const found = await said(slack, { me: "U1", assistant: "B1", chat: "backend" });
  expect(found).toContain("assistant| Build finished");
  expect(found).toContain("user| 2.4.1");
  expect(found).toContain("user| Ben Otto: Which version?");
  expect(found).not.toContain("user| Ben Otto: Lunch?");
  expect(await said(slack, { chat: "nobody" })).toEqual([]);
});
