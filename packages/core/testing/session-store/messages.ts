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
  withSessions,
} from "./support.ts";

const COLUMNS = [
  "id session_id role content tool_call_id tool_calls tool_name timestamp token_count finish_reason reasoning",
  "reasoning_content reasoning_details codex_reasoning_items codex_message_items platform_message_id observed active",
].flatMap((line) => line.split(" "));

const CALL = { id: "c1", type: "function", function: { name: "terminal", arguments: '{"command":"ls"}' } };

export function messagesContract({ it, expect }: Suite, { open }: Harness): void {
  it("a finish reason can be set later, for messages of that session alone and only with the lease", async () => {
    await using store = await withSessions(open(), "a", "b");
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
    await using store = await withSessions(open(), "a");
    await store.appendMessage("a", { content: "from the future", timestamp: 4e9 });
    await store.appendMessage("a", { content: "now" });
    const times = (await store.getMessages("a")).map(({ timestamp }) => timestamp);
    expect(times[0]).toBe(4e9);
    expect(times[1]).toBeLessThan(4e9);
  });

  it("gives back every field of a message under the names of the columns", async () => {
    await using store = await withSessions(open({ clock: new ManualClock() }), "s1");
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

  it.each([
    ["an empty string", ""],
    ["nothing", null],
    [
      "a list",
      [
        { type: "text", text: "看图" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      ],
    ],
    ["text with a zero character", "before\u0000after"],
    ["text that begins with a zero character", "\u0000"],
    ["text that looks like stored structure", "\u0000json:[1, 2]"],
    ["a list with a zero character in it", ["a\u0000b"]],
    ["text beyond the basic plane", "𠮷野家 👩‍👩‍👧 é"],
  ])("content that is %s comes back the same", async (_name, content) => {
    await using store = await withSessions(open(), "s1");
    await store.appendMessage("s1", { role: "user", content });
    expect(await contents(store, "s1")).toEqual([content]);
    expect(await store.exportSession("s1")).toMatchObject({ messages: [{ content }] });
  });

  it("times given by the store never run backwards in a session, even when the clock does", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "s1");
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
    await using store = await withSessions(open(), "a", "b");
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
    await using store = await withSessions(open(), "s1");
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

  it("refuses messages for a session that does not exist", async () => {
    await using store = await open();
    await expectCode(store.appendMessage("nope", { role: "user", content: "x" }), "unknown-session");
    await expectCode(store.appendMany("nope", [{ role: "user", content: "x" }]), "unknown-session");
    expect(await store.messageCount()).toBe(0);
  });

  it("refuses values that are not messages", async () => {
    await using store = await withSessions(open(), "s1");
    await expectCode(store.appendMessage("s1", null as unknown as NewMessage), "bad-message");
    await expectCode(store.appendMany("s1", ["text" as unknown as NewMessage]), "bad-message");
    expect(await row(store, "s1")).toMatchObject({ message_count: 0 });
  });

  it("many messages are appended in order, as if one by one", async () => {
    await using store = await withSessions(open(), "s1");
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

  it("many messages are appended all or not at all", async () => {
    await using store = await withSessions(open(), "s1");
    await talk(store, "s1", ["before"]);
    await expect(store.appendMany("s1", [{ role: "user", content: "lost?" }, UNREADABLE])).rejects.toThrow();
    expect(await contents(store, "s1")).toEqual(["before"]);
    expect(await row(store, "s1")).toMatchObject({ message_count: 1 });
  });

  it("messages appended at the same time are all there, with the counter right", async () => {
    await using store = await withSessions(open(), "s1");
    const texts = Array.from({ length: 40 }, (_, index) => `message ${index}`);
    const ids = await Promise.all(
      texts.map((content) => store.appendMessage("s1", { role: "user", content })),
    );
    expect(new Set(ids).size).toBe(texts.length);
    expect((await contents(store, "s1")).sort()).toEqual([...texts].sort());
    expect(await row(store, "s1")).toMatchObject({ message_count: texts.length });
  });

  it("counts the messages of one session or of all, rewound ones included", async () => {
    await using store = await withSessions(open(), "a", "b");
    const ids = await talk(store, "a", ["one", "two"]);
    await talk(store, "b", ["three"]);
    await store.rewindToMessage("a", nth(ids, 0));
    expect(await store.messageCount("a")).toBe(2);
    expect(await store.messageCount()).toBe(3);
    expect(await store.messageCount("nope")).toBe(0);
  });

  it("the latest user messages can be limited, and include rewound ones on request only", async () => {
    await using store = await withSessions(open(), "s1");
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
