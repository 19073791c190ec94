// Compaction of a chat: the chat id stays, nothing that is said meanwhile is lost, and one process compacts at a time.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TextModel } from "../../src/lib/index.ts";
import { openMemory, type UserMemory } from "../../src/memory/index.ts";
import { ana } from "../fakes/opened-memory.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" };
const WINDOW = 16_000;

function modelThat(answer: (prompt: string) => string | Promise<string>): TextModel {
  return { complete: async ({ prompt }) => answer(prompt) };
}

const summarising = modelThat(() => "## Goal\nThe crane MARKER-7 must be repainted.");

async function talk(me: UserMemory, chatId: string, turns: number): Promise<void> {
  const long = "The harbour crane is repainted every spring by the same two men. ".repeat(20);
  await me.remember(
    chatId,
    Array.from({ length: turns * 2 }, (_, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content: `${at}: ${long}`,
    })),
  );
}

describe.each([
  ["the owner", undefined],
  ["a user", ANA],
])("compacting a chat of %s", (_, user) => {
  it("continues it under the same id, with the summary and the entries as they are now", async () => {
    await using memory = await openMemory({ home: tempDirectory() });
    const me = user === undefined ? memory.owner : memory.user(user);
    await talk(me, "c", 30);
    const before = await me.context("c", { maxTokens: 1_000_000 });
    await (await me.layers.curated())?.apply("memory", { action: "add", content: "The yard opens at six" });
    expect((await me.context("c")).system).toBe(before.system);

    const compacted = await me.compact("c", { model: summarising, contextLength: WINDOW });
    expect(compacted.kind).toBe("compacted");
    expect(compacted.sessionId).not.toBe(before.sessionId);
    expect(compacted.tokensAfter).toBeLessThan(compacted.tokensBefore / 2);

    const after = await me.context("c", { query: "go on", maxTokens: 1_000_000 });
    expect(after.sessionId).toBe(compacted.sessionId);
    expect(after.system).toContain("The yard opens at six");
    expect(JSON.stringify(after.messages)).toContain("MARKER-7");
    expect(JSON.stringify(after.messages)).toContain("are still stored:");
    expect(after.messages.length).toBeLessThan(before.messages.length);
    // Both the list of `context` and the caller's own whole list are recognised.
    expect(
      await me.remember("c", [...after.request.messages, { role: "assistant", content: "gone on" }]),
    ).toMatchObject({ stored: 2, sessionId: compacted.sessionId });
    const own = [
      ...before.messages,
      { role: "user", content: "go on" },
      { role: "assistant", content: "gone on" },
      { role: "user", content: "and more" },
    ];
    expect(await me.remember("c", own)).toMatchObject({ stored: 1 });
    expect(await me.chats()).toMatchObject([{ chatId: "c", sessionId: compacted.sessionId }]);
    // What was summarised can still be found from another chat.
    const followed = await me.remember("c", [...before.messages, { role: "user", content: "go back" }], {
      follow: true,
    });
    expect(followed).toMatchObject({ stored: 1, takenBack: 3 });
    expect(JSON.stringify(followed.messages)).toContain("MARKER-7");
    expect(followed.messages.at(-1)?.content).toBe("go back");
  });
});

describe("compacting a chat", () => {
  it("keeps what is said while the summary is written", async () => {
    const me = await ana();
    await talk(me, "c", 30);
    const model = modelThat(async () => {
      await me.remember("c", "said meanwhile", "heard meanwhile");
      expect((await me.compact("c", { model: summarising, contextLength: WINDOW })).kind).toBe("busy");
      return "## Goal\nA summary.";
    });
    const { kind } = await me.compact("c", { model, contextLength: WINDOW });
    expect(kind).toBe("compacted");
    const { messages } = await me.context("c");
    expect(messages.slice(-2)).toEqual([
      { role: "user", content: "said meanwhile" },
      { role: "assistant", content: "heard meanwhile" },
    ]);
  });
});

it("with compression.checkpoint_required a chat is not compacted without a provider that stores it first", async () => {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), "compression:\n  checkpoint_required: true\n");
  await using memory = await openMemory({ home });
  await talk(memory.owner, "c", 30);
  const compacted = await memory.owner.compact("c", { model: summarising, contextLength: WINDOW });
  expect(compacted.kind).toBe("aborted");
  expect(compacted.notices.join()).toMatch(/checkpoint_required.*no memory provider is active/);
  expect(compacted.tokensAfter).toBe(compacted.tokensBefore);
});
