// What the fixture of ChatGPT exports cannot show: recognising them, options that are off, a file named by the user.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { chatgpt } from "../../../src/transcripts/formats/chatgpt.ts";
import { claudeAi } from "../../../src/transcripts/formats/claude-ai.ts";
import type { Sample } from "../../../src/transcripts/reader.ts";
import { readHome } from "../read-fixture.ts";
import { zipped } from "../zip-writer.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hermes-chatgpt-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function message(id: string, role: string, text: string, more: object = {}) {
  return {
    id,
    author: { role },
    create_time: 1_788_250_000,
    content: { content_type: "text", parts: [text] },
    ...more,
  };
}
function conversation(...messages: { id: string }[]) {
  const nodes = messages.map((one, place) => [
    one.id,
    { id: one.id, parent: messages[place - 1]?.id, message: one },
  ]);
  return {
    conversation_id: "c",
    title: "T",
    mapping: Object.fromEntries(nodes),
    current_node: messages.at(-1)?.id,
  };
}
it("reports an archive it cannot read and goes on", async () => {
  writeFileSync(join(folder, "a.zip"), "PK\x03\x04 cut off");
  writeFileSync(
    join(folder, "conversations.json"),
    JSON.stringify([conversation(message("u", "user", "hi"))]),
  );
  const found = await readHome(chatgpt, folder, { path: folder });
  expect(found.sessions).toHaveLength(1);
  expect(found.unreadable).toEqual([
    expect.stringMatching(/^~\/a\.zip: .*not a zip file, or file is truncated/),
  ]);
});

describe("exports with the same file names are told apart", () => {
  const samples = {
    chatgpt: [conversation(message("u", "user", "hi ".repeat(1000)))],
    "claude-ai": [{ uuid: "c", name: "T", chat_messages: [{ uuid: "m", sender: "human", text: "hi" }] }],
    neither: [{ conversations: [] }],
  };
  it.each(Object.entries(samples))("%s", async (name, value) => {
    writeFileSync(join(folder, "chat.html"), "<html>");
    writeFileSync(join(folder, "conversations.json"), JSON.stringify(value, undefined, 1));
    const archive = await zipped(folder);
    for (const head of [archive, archive.subarray(0, 250), Buffer.from(JSON.stringify(value))]) {
      const sample: Sample = { path: "export", head, first: {} };
      expect([chatgpt.recognises(sample), claudeAi.recognises(sample)]).toEqual([
        name === "chatgpt",
        name === "claude-ai",
      ]);
    }
  });
});
