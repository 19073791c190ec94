// Messages: every content is read back unchanged, the counters follow, and a batch is all or nothing.

import type { NewMessage } from "../../src/message/index.ts";
import type { Suite } from "../runner.ts";
import {
  contents,
  expectCode,
  type Harness,
  ManualClock,
  messageIds,
  NOW,
  nth,
  row,
  talk,
  UNREADABLE,
} from "./support.ts";

const COLUMNS = [
  "id session_id role content tool_call_id tool_calls tool_name timestamp token_count finish_reason reasoning",
  "reasoning_content reasoning_details codex_reasoning_items codex_message_items platform_message_id observed active",
].flatMap((line) => line.split(" "));

const CALL = { id: "c1", type: "function", function: { name: "terminal", arguments: '{"command":"ls"}' } };

export function messagesContract({ it, expect }: Suite, { open }: Harness): void {
  it("a finish reason can be set later, for messages of that session alone and only with the lease", async () => {
    await using store = await open();
    for (const id of ["a", "b"]) await store.createSession(id, { source: "cli" });
    const said = [
      { role: "user", content: "one" },
      { role: "user", content: "two" },
    ];
    const [first = 0, second = 0] = await store.appendMany("a", said);
    const [other = 0] = await store.appendMany("b", said);
    await store.acquireSessionLease("a", "me");
    await store.setFinishReason("a", [second, other], "content_policy", { leaseHolder: "me" });
    const reasons = async (id: string) =>
      (await store.getMessages(id)).map(({ finish_reason }) => finish_reason);
    expect(await reasons("a")).toEqual([null, "content_policy"]);
    expect(await reasons("b")).toEqual([null, null]);
    await expectCode(store.setFinishReason("a", [first], "x", { leaseHolder: "you" }), "lease-lost");
    expect(await reasons("a")).toEqual([null, "content_policy"]);
    expect(await store.getMessagesAsConversation("a")).toMatchObject([
      {},
      { finish_reason: "content_policy" },
    ]);
    expect((await store.search("two")).hits.length).toBeGreaterThan(0);
  });

  it("a time far in the future is not handed on to later messages", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await store.appendMessage("a", { content: "from the future", timestamp: 4e9 });
    await store.appendMessage("a", { content: "now" });
    const times = (await store.getMessages("a")).map(({ timestamp }) => timestamp);
    expect(times[0]).toBe(4e9);
    expect(times[1]).toBeLessThan(4e9);
  });

  it("gives back every field of a message under the names of the columns", async () => {
    await using store = await open({ clock: new ManualClock() });
    await store.createSession("s1", { source: "cli" });
    const id = await store.appendMessage("s1", {
      role: "assistant",
      content: "Here it is.",
      toolCalls: [CALL],
      tokenCount: 12,
      finishReason: "tool_calls",
      reasoning: "thought",
      reasoningContent: "",
      reasoningDetails: [{ type: "text", text: "därför" }],
      codexReasoningItems: [{ id: "r1" }],
      codexMessageItems: [{ id: "m1" }],
      platformMessageId: "pm-1",
    });
    const [message, ...others] = await store.getMessages("s1");
    expect(others).toEqual([]);
    expect(Object.keys(message ?? {}).sort()).toEqual([...COLUMNS].sort());
    expect(message).toMatchObject({
      id,
      session_id: "s1",
      role: "assistant",
      content: "Here it is.",
      tool_call_id: null,
      tool_calls: [CALL],
      tool_name: null,
      timestamp: NOW,
      token_count: 12,
      finish_reason: "tool_calls",
      reasoning: "thought",
      reasoning_content: "",
      platform_message_id: "pm-1",
      observed: 0,
      active: 1,
    });
    expect(JSON.parse(message?.reasoning_details ?? "")).toEqual([{ type: "text", text: "därför" }]);
    expect(JSON.parse(message?.codex_reasoning_items ?? "")).toEqual([{ id: "r1" }]);
    expect(JSON.parse(message?.codex_message_items ?? "")).toEqual([{ id: "m1" }]);
  });

  it("takes the names of stored rows and of conversations as well", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", {
      role: "assistant",
      content: null,
      tool_calls: [CALL],
      finish_reason: "tool_calls",
      reasoning_content: "why",
    });
    await store.appendMessage("s1", {
      role: "tool",
      content: "ok",
      tool_call_id: "c1",
      tool_name: "terminal",
    });
    await store.appendMessage("s1", { role: "user", content: "thanks", message_id: "pm-7", observed: true });
    expect(await store.getMessages("s1")).toMatchObject([
      { tool_calls: [CALL], finish_reason: "tool_calls", reasoning_content: "why" },
      { tool_call_id: "c1", tool_name: "terminal" },
      { platform_message_id: "pm-7", observed: 1 },
    ]);
  });

  it.each([
    ["a string", "plain text"],
    ["an empty string", ""],
    ["nothing", null],
    [
      "a list",
      [
        { type: "text", text: "看图" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      ],
    ],
    ["an object", { nested: { deep: [1, 2.5, null, true, "x"] } }],
    ["an empty list", []],
    ["an empty object", {}],
    ["text with a zero character", "before\u0000after"],
    ["text that begins with a zero character", "\u0000"],
    ["text that looks like stored structure", "\u0000json:[1, 2]"],
    ["a list with a zero character in it", ["a\u0000b"]],
    ["text beyond the basic plane", "𠮷野家 👩‍👩‍👧 é"],
    ["text that looks like JSON", '{"a": 1}'],
    ["line ends of every kind", "a\r\nb\rc\n\u2028d"],
  ])("content that is %s comes back the same", async (_name, content) => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", { role: "user", content });
    expect(await contents(store, "s1")).toEqual([content]);
    expect(await store.exportSession("s1")).toMatchObject({ messages: [{ content }] });
  });

  it("numbers and booleans come back as the text they are stored as", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMany("s1", [
      { role: "user", content: 12345 },
      { role: "user", content: true },
    ]);
    expect(await contents(store, "s1")).toEqual(["12345", "1"]);
  });

  it("bytes are stored as the text they hold", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", { role: "tool", content: new TextEncoder().encode("grüezi") });
    expect(await contents(store, "s1")).toEqual(["grüezi"]);
  });

  it("content that cannot become JSON is stored as some text rather than lost with an error", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    await store.appendMessage("s1", { role: "user", content: circular });
    expect(typeof nth(await store.getMessages("s1"), 0).content).toBe("string");
  });

  it("a message of several megabytes comes back whole", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const content = "every word counts 字 ".repeat(200_000);
    await store.appendMessage("s1", { role: "tool", content });
    expect(nth(await contents(store, "s1"), 0) === content).toBe(true);
  });

  it.each([
    ["a number", 1_600_000_000.125, 1_600_000_000.125],
    ["numeric text", "1600000000.5", 1_600_000_000.5],
    ["a date", new Date(1_600_000_000_250), 1_600_000_000.25],
    ["anything else", "yesterday", NOW],
    ["nothing", null, NOW],
  ])("a timestamp given as %s is understood", async (_name, timestamp, expected) => {
    await using store = await open({ clock: new ManualClock() });
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", { role: "user", content: "x", timestamp });
    expect(nth(await store.getMessages("s1"), 0).timestamp).toBe(expected);
  });

  it("times given by the store never run backwards in a session, even when the clock does", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("s1", { source: "cli" });
    await talk(store, "s1", ["one"]);
    clock.advance(-7200);
    await talk(store, "s1", ["two", "three"]);
    clock.advance(10);
    await talk(store, "s1", ["four"]);
    const times = (await store.getMessages("s1")).map(({ timestamp }) => timestamp);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const conversation = await store.getMessagesAsConversation("s1");
    expect(conversation.map(({ content }) => content)).toEqual(["one", "two", "three", "four"]);
  });

  it("message ids only grow, over all sessions, and are never used again", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await store.createSession("b", { source: "cli" });
    const ids = [
      ...(await talk(store, "a", ["1"])),
      ...(await talk(store, "b", ["2"])),
      ...(await talk(store, "a", ["3"])),
    ];
    await store.clearMessages("a");
    await store.deleteSession("b");
    ids.push(...(await talk(store, "a", ["4"])));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  });

  it("calls raise the tool counter by their number, results do not", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", {
      role: "assistant",
      content: "",
      toolCalls: [CALL, { ...CALL, id: "c2" }],
    });
    await store.appendMessage("s1", {
      role: "tool",
      content: "done",
      toolCallId: "c1",
      toolName: "terminal",
    });
    await store.appendMessage("s1", {
      role: "tool",
      content: "done",
      toolCallId: "c2",
      toolName: "terminal",
    });
    expect(await row(store, "s1")).toMatchObject({ message_count: 3, tool_call_count: 2 });
    await store.appendMessage("s1", { role: "assistant", toolCalls: { id: "single" } });
    expect(await row(store, "s1")).toMatchObject({ message_count: 4, tool_call_count: 3 });
  });

  it("empty JSON fields are stored as none", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", {
      role: "assistant",
      content: "x",
      toolCalls: [],
      reasoningDetails: [],
      codexMessageItems: {},
    });
    expect(await store.getMessages("s1")).toMatchObject([
      { tool_calls: null, reasoning_details: null, codex_message_items: null },
    ]);
    expect(await row(store, "s1")).toMatchObject({ tool_call_count: 0 });
  });

  it("overheard messages keep their flag", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "telegram" });
    await store.appendMany("s1", [
      { role: "user", content: "chatter", observed: true },
      { role: "user", content: "to you" },
    ]);
    expect((await store.getMessages("s1")).map(({ observed }) => observed)).toEqual([1, 0]);
  });

  it("refuses messages for a session that does not exist", async () => {
    await using store = await open();
    await expectCode(store.appendMessage("nope", { role: "user", content: "x" }), "unknown-session");
    await expectCode(store.appendMany("nope", [{ role: "user", content: "x" }]), "unknown-session");
    expect(await store.messageCount()).toBe(0);
  });

  it("refuses values that are not messages", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await expectCode(store.appendMessage("s1", null as unknown as NewMessage), "bad-message");
    await expectCode(store.appendMany("s1", ["text" as unknown as NewMessage]), "bad-message");
    expect(await row(store, "s1")).toMatchObject({ message_count: 0 });
  });

  it("many messages are appended in order, as if one by one", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const ids = await store.appendMany("s1", [
      { role: "user", content: "one" },
      { role: "assistant", content: "two", toolCalls: [CALL] },
      { role: "tool", content: "three", toolCallId: "c1" },
    ]);
    const stored = await store.getMessages("s1");
    expect(messageIds(stored)).toEqual(ids);
    expect(stored.map(({ content }) => content)).toEqual(["one", "two", "three"]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 3, tool_call_count: 1 });
  });

  it("appending no messages is no change", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    expect(await store.appendMany("s1", [])).toEqual([]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 0 });
  });

  it("many messages are appended all or not at all", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await talk(store, "s1", ["before"]);
    await expect(store.appendMany("s1", [{ role: "user", content: "lost?" }, UNREADABLE])).rejects.toThrow();
    expect(await contents(store, "s1")).toEqual(["before"]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 1 });
  });

  it("messages appended at the same time are all there, with the counter right", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const texts = Array.from({ length: 40 }, (_, index) => `message ${index}`);
    const ids = await Promise.all(
      texts.map((content) => store.appendMessage("s1", { role: "user", content })),
    );
    expect(new Set(ids).size).toBe(texts.length);
    expect((await contents(store, "s1")).sort()).toEqual([...texts].sort());
    expect(await row(store, "s1")).toMatchObject({ message_count: texts.length });
  });

  it("messages come in the order they were stored, whatever their times say", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    await store.appendMessage("s1", { role: "user", content: "later", timestamp: NOW + 50 });
    await store.appendMessage("s1", { role: "user", content: "earlier", timestamp: NOW - 50 });
    expect(await contents(store, "s1")).toEqual(["later", "earlier"]);
  });

  it("counts the messages of one session or of all, rewound ones included", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await store.createSession("b", { source: "cli" });
    const ids = await talk(store, "a", ["one", "two"]);
    await talk(store, "b", ["three"]);
    await store.rewindToMessage("a", nth(ids, 0));
    expect(await store.messageCount("a")).toBe(2);
    expect(await store.messageCount()).toBe(3);
    expect(await store.messageCount("nope")).toBe(0);
  });

  it("the latest user messages come newest first, shortened to one line", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const long = `${"word ".repeat(15)}${"x".repeat(10)}`; // 85 characters
    const exact = "y".repeat(80);
    const ids = await store.appendMany("s1", [
      { role: "user", content: "two\n\n  lines\there" },
      { role: "assistant", content: "not this" },
      { role: "user", content: long },
      { role: "user", content: exact },
      {
        role: "user",
        content: [{ type: "text", text: "look" }, { type: "image_url" }, { type: "text", text: "here" }],
      },
      { role: "user", content: [{ type: "image_url" }] },
    ]);
    const rows = await store.listRecentUserMessages("s1");
    expect(messageIds(rows)).toEqual([5, 4, 3, 2, 0].map((index) => nth(ids, index)));
    expect(rows.map(({ preview }) => preview)).toEqual([
      "[multimodal content]",
      "look here",
      exact,
      `${long.slice(0, 77)}...`,
      "two lines here",
    ]);
  });

  it("the latest user messages can be limited, and include rewound ones on request only", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    const ids = await talk(store, "s1", ["one", "1", "two", "2", "three", "3"]);
    await store.rewindToMessage("s1", nth(ids, 4));
    expect((await store.listRecentUserMessages("s1", { limit: 1 })).map((each) => each.preview)).toEqual([
      "two",
    ]);
    expect(
      (await store.listRecentUserMessages("s1", { includeInactive: true })).map((each) => each.preview),
    ).toEqual(["three", "two", "one"]);
    expect(await store.listRecentUserMessages("s1", { limit: -1 })).toEqual([]);
    expect(await store.listRecentUserMessages("nope")).toEqual([]);
  });
}
