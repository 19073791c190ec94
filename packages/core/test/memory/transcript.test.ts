// What people see of a chat: everything that was said, also before compactions, in pages; and what a listing says about it.
import { describe, expect, it } from "vitest";
import { openMemory, type UserMemory } from "../../src/memory/index.ts";
import { textOf } from "../../src/message/index.ts";
import { ana } from "../fakes/opened-memory.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" };
const WINDOW = 16_000;
const LONG = "The harbour crane is repainted every spring by the same two men. ".repeat(20);
const model = { complete: async () => "## Goal\nMARKER-7" };

async function talk(me: UserMemory, from: number, to: number): Promise<void> {
  const turn = (at: number) => [
    { role: "user", content: `q${at} ${LONG}` },
    { role: "assistant", content: `a${at} ${LONG}` },
  ];
  for (let at = from; at < to; at += 1) await me.remember("c", turn(at));
}

async function compact(me: UserMemory): Promise<void> {
  expect((await me.compact("c", { model, contextLength: WINDOW, force: true })).kind).toBe("compacted");
}

/** The first words. */
async function said(me: UserMemory, options: { limit?: number; before?: number } = {}) {
  const page = await me.transcript("c", { ...options, format: "hermes" });
  return page && { ...page, messages: page.messages.map(({ content }) => textOf(content).split(" ")[0]) };
}

const turns = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => [`q${from + at}`, `a${from + at}`]).flat();

describe.each([
  ["the owner", undefined],
  ["a user", ANA],
])("the transcript of a chat of %s", (_, user) => {
  it("has everything since the beginning once, without the summaries of two compactions", async () => {
    await using memory = await openMemory({ home: tempDirectory() });
    const me = user === undefined ? memory.owner : memory.user(user);
    await talk(me, 0, 24);
    const ids = (await me.transcript("c", { format: "hermes" }))?.messages.map(({ meta }) => meta.rowId);
    await compact(me);
    await talk(me, 24, 40);
    await compact(me);
    await talk(me, 40, 42);
    expect(await said(me)).toMatchObject({ messages: turns(0, 42), leftOut: 0, next: undefined });
    const again = (await me.transcript("c", { format: "hermes" }))?.messages.map(({ meta }) => meta.rowId);
    expect(again?.slice(0, 48)).toEqual(ids);
    expect(JSON.stringify(await me.transcript("c"))).not.toContain("MARKER-7");
    expect(JSON.stringify(await me.context("c"))).toContain("MARKER-7");
    expect(await me.chat("c")).toMatchObject({ messages: 84 });
    expect(await me.chats()).toMatchObject([{ chatId: "c", messages: 84 }]);
  });

  it("comes in pages of whole turns", async () => {
    await using memory = await openMemory({ home: tempDirectory() });
    const me = user === undefined ? memory.owner : memory.user(user);
    await talk(me, 0, 24);
    await compact(me);
    await talk(me, 24, 26);
    const pages: unknown[] = [];
    let before: number | undefined;
    do {
      const page = await said(me, { limit: 15, before });
      expect(page?.leftOut).toBe(52 - 16 * (pages.length + 1) < 0 ? 0 : 52 - 16 * (pages.length + 1));
      pages.unshift(page?.messages);
      before = page?.next;
    } while (before !== undefined);
    expect(pages.map((page) => (page as string[]).length)).toEqual([4, 16, 16, 16]);
    expect(pages.flat()).toEqual(turns(0, 26));
    expect(await said(me, { limit: Number.POSITIVE_INFINITY })).toMatchObject({ leftOut: 0 });
  });
});

describe("the transcript", () => {
  it("leaves out what was taken back after a compaction had copied it", async () => {
    const me = await ana();
    await talk(me, 0, 24);
    await compact(me);
    const { messages } = (await me.transcript("c")) ?? { messages: [] };
    const edited = [...messages.slice(0, -1), { role: "assistant", content: "another answer" }];
    expect(await me.remember("c", edited, { follow: true })).toMatchObject({ takenBack: 1 });
    expect((await said(me))?.messages).toEqual([...turns(0, 24).slice(0, -1), "another"]);
    expect(await me.remember("c", edited)).toMatchObject({ stored: 0 });
    expect(await me.chat("c")).toMatchObject({ messages: 48 });
    expect(await me.chats()).toMatchObject([{ messages: 48 }]);
  });

  it("begins a page with the question, however many steps its answer has", async () => {
    const me = await ana();
    const step = (at: number) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: `k${at}`, function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: `k${at}`, content: `result ${at}` },
    ];
    const steps = Array.from({ length: 15 }, (_, at) => step(at)).flat();
    await me.remember("c", "first", "one");
    await me.remember("c", [
      { role: "user", content: "second" },
      ...steps,
      { role: "assistant", content: "done" },
    ]);
    const page = await me.transcript("c", { limit: 2, format: "openai" });
    expect(page).toMatchObject({ leftOut: 2, messages: [{ role: "user", content: "second" }, ...steps, {}] });
    expect(await me.transcript("c", { limit: 2, before: page?.next })).toMatchObject({
      leftOut: 0,
      next: undefined,
      messages: [{ content: "first" }, { content: "one" }],
    });
  });
});
