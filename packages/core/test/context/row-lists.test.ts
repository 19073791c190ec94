// Chat rows handed to an engine: it answers in kind, and rows that stay are the same objects.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readList } from "../../src/context/chat-rows.ts";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import { applyPromptCaching, estimateMessages } from "../../src/context/index.ts";
import { isMessage, type OpenAiMessage, parseToolCalls, toOpenAi } from "../../src/message/index.ts";
import { alternating } from "../../testing/context-engine/lists.ts";
import { answering } from "../../testing/context-engine/summarisers.ts";
import { histories } from "./histories.ts";
import { Conversation, SMALL } from "./lossless/conversation.ts";
import { asMessage } from "./messages.ts";
import { expectPairs } from "./valid-list.ts";

const compressor = () =>
  new ContextCompressor({ contextLength: 30_000, summarizer: answering("## Goal\nGo on.") });
const rowsOf = (count: number, chars: number): OpenAiMessage[] =>
  alternating(count, chars).map((message) => toOpenAi(message));
const withoutIds = (rows: readonly object[]): unknown => rows.map((row) => ({ ...row, _id: undefined }));

describe("a compaction of rows", () => {
  it("does to them what it does to messages", async () => {
    await fc.assert(
      fc.asyncProperty(histories(), async (messages) => {
        const rows = messages.map((message) => toOpenAi(message));
        const ofRows = await compressor().compress(rows);
        const ofMessages = await compressor().compress(messages);
        expect({ ...ofRows, messages: [] }).toEqual({ ...ofMessages, messages: [] });
        expect(withoutIds(ofRows.messages)).toEqual(
          withoutIds(ofMessages.messages.map((message) => toOpenAi(message))),
        );
        expect(ofRows.messages === rows).toBe(ofMessages.messages === messages);
      }),
      { numRuns: 60 },
    );
  });

  it("takes objects that only look like messages, as it takes every row", async () => {
    const meta = { id: "a", atSeconds: 1 };
    const odd = [
      { role: "assistant", content: "no calls", meta },
      { role: "assistant", content: 5, toolCalls: 5, meta },
      { role: "tool", content: [null, { type: "text" }], meta },
      { role: "user", content: { a: 1 }, meta: { ...meta, storedContent: 5 } },
      { content: "no role", meta },
    ] as unknown as OpenAiMessage[];
    for (const list of [odd, [...rowsOf(20, 3_000), ...odd, ...rowsOf(2, 100)]]) {
      const { kind } = await compressor().compress(list);
      expect(["compacted", "pruned", "unchanged"]).toContain(kind);
      expect(estimateMessages(list)).toBeGreaterThan(0);
      expect(applyPromptCaching(list, { native: true })).toHaveLength(list.length);
    }
  });

  it("keeps rows apart that have the same _id", async () => {
    const rows = Array.from({ length: 30 }, (_, at) => [
      { role: "user", content: "w ".repeat(300), _id: "d", _mark: `u${at}` },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: `c${at}`, type: "function", function: { name: "t", arguments: "{}" } }],
        _id: "d",
        _mark: `a${at}`,
      },
      { role: "tool", tool_call_id: `c${at}`, content: "res ".repeat(600), _id: "d", _mark: `c${at}` },
    ]).flat();
    const { messages } = await compressor().compress(rows as readonly OpenAiMessage[]);
    const results = messages.filter(({ role }) => role === "tool");
    expect(results.some((row) => !rows.includes(row as never))).toBe(true);
    for (const row of results) expect(row._mark ?? row.tool_call_id).toBe(row.tool_call_id);
  });

  it("gives back the very rows that stay, with every key of their owner on those that changed", async () => {
    const page = "the same long page ".repeat(300);
    const call = (id: string) => ({
      role: "assistant",
      content: "",
      tool_calls: [{ id, type: "function", function: { name: "read", arguments: "{}" } }],
    });
    const result = (id: string) => ({
      role: "tool",
      tool_call_id: id,
      content: page,
      _mine: id,
      name: "read",
    });
    const rows: OpenAiMessage[] = [...rowsOf(20, 3_000), call("a"), result("a"), call("b"), result("b")];
    const { messages, summaryIndex = -1, kind } = await compressor().compress(rows);
    expect(kind).toBe("compacted");
    expect(messages[0]).toBe(rows[0]);
    expect(messages.at(-1)).toBe(rows.at(-1));
    expect(messages.at(-3)).toEqual({ ...result("a"), content: expect.stringMatching(/^\[Duplicate/) });
    expect(messages[summaryIndex]).toMatchObject({ _compressed_summary: true });
    expect(messages.some(isMessage)).toBe(false);
  });

  it("leaves out entries that are no objects, and takes a row of any depth or without a role", async () => {
    let deep: unknown = "x";
    for (let level = 0; level < 5_000; level += 1) deep = [deep];
    const odd = [null, undefined, 17, "text", { content: "no role" }, { role: "user", content: deep }];
    const rows = [...rowsOf(3, 100), ...odd, ...rowsOf(40, 3_000)] as readonly OpenAiMessage[];
    const { kind, summarised } = await compressor().compress(rows);
    expect(kind).toBe("compacted");
    expect(summarised?.from).toBe(3);
    const short = await compressor().compress([{ content: "no role" }] as unknown as OpenAiMessage[]);
    expect(short.messages).toEqual([{ content: "no role" }]);
  });
});

describe("the lossless engine on rows", () => {
  it("answers with rows, and knows by _row_id what is stored", async () => {
    const talk = await Conversation.begin({ ...SMALL, summarizer: answering("short") });
    await using _store = talk.store;
    await talk.say(alternating(60, 400));
    const rows = talk.live.map((message) => toOpenAi(message));
    expect(talk.engine.hasContentToCompress(rows)).toBe(true);
    const { kind, messages, summaryIndex = -1 } = await talk.engine.compress(rows);
    expect(kind).toBe("compacted");
    expect(messages[0]).toBe(rows[0]);
    expect(messages.at(-1)).toBe(rows.at(-1));
    expect(messages[summaryIndex]).toMatchObject({ _compressed_summary: true });
    expect(await talk.nodes()).not.toEqual([]);
    const unstored = await talk.engine.compress(rowsOf(60, 400));
    expect(unstored).toMatchObject({ kind: "unchanged", reason: "not_stored" });
  });
});

describe("calls that cannot be answered", () => {
  const sound = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
  const result = { role: "tool", tool_call_id: "a", content: "done" };
  const repaired = async (...rows: readonly object[]) =>
    (await compressor().compress(rows as readonly OpenAiMessage[])).messages;

  it.each<[string, unknown]>([
    ["an empty list", []],
    ["no list", "calls"],
    ["entries without an id", [{ type: "function", function: { name: "f" } }, null, 7]],
  ])("%s: the message stays without them", async (_name, tool_calls) => {
    const message = { role: "assistant", content: null, tool_calls };
    expect(await repaired(message)).toEqual([{ role: "assistant", content: "" }]);
    expect(await repaired({ ...message, content: "hello" })).toEqual([
      { role: "assistant", content: "hello" },
    ]);
  });

  it("a sound call beside a broken one stays with its result", async () => {
    const broken = { role: "assistant", content: "", tool_calls: [{}, sound] };
    const outcome = await compressor().compress([broken, result] as unknown as OpenAiMessage[]);
    expect(outcome).toMatchObject({ kind: "pruned", reason: "too_short" });
    expect(outcome.messages).toEqual([{ role: "assistant", content: "", tool_calls: [sound] }, result]);
  });

  it("a list that is in order is the same list", async () => {
    for (const rows of [
      [{ role: "assistant", content: "", tool_calls: [sound] }, result],
      [{ role: "assistant", content: "hi", tool_calls: null }],
    ]) {
      const outcome = await compressor().compress(rows as unknown as OpenAiMessage[]);
      expect(outcome.kind).toBe("unchanged");
      expect(outcome.messages).toBe(rows);
    }
  });
});

describe("arguments of a call that are no text", () => {
  const holdsItself: Record<string, unknown> = {};
  holdsItself.self = holdsItself;
  const callWith = (given: unknown) => ({
    role: "assistant",
    content: "",
    tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: given } }],
  });
  const argumentsOf = (given: unknown) => parseToolCalls(callWith(given).tool_calls)[0]?.arguments;

  it("are read as the JSON they stand for", () => {
    expect(argumentsOf({ path: "a" })).toBe('{"path":"a"}');
    expect(argumentsOf(null)).toBe("null");
    expect(argumentsOf(undefined)).toBe("");
  });

  it.each([
    ["hold a bigint", { id: 1n }],
    ["hold themselves", holdsItself],
    ["are a function", () => 1],
  ])("are nothing when they %s, and the list is compacted all the same", async (_what, given) => {
    expect(argumentsOf(given)).toBe("");
    const result = { role: "tool", tool_call_id: "c1", content: "done" };
    const list = [...rowsOf(20, 3_000), callWith(given), result, ...rowsOf(10, 3_000)];
    const outcome = await compressor().compress(list as unknown as OpenAiMessage[]);
    expect(outcome.kind).toBe("compacted");
    expectPairs(outcome.messages.map((row) => asMessage(row)));
  });
});

it("a list of messages is taken as it is", () => {
  const messages = alternating(4, 10);
  expect(readList(messages).messages).toBe(messages);
});
