// Reading messages: around one of them, and as the conversation that a model is sent.

import type { OpenAiMessage } from "../../src/message/index.ts";
import type { AnchoredView, MessageWindow } from "../../src/sessions/rows.ts";
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { type Harness, ManualClock, messageIds, NOW, nth, talk, withSessions } from "./support.ts";

// ---- Windows around a message, and the same with the beginning and the end of the conversation ----

const NOTHING = { window: [], messages_before: 0, messages_after: 0 };
const NO_VIEW = { ...NOTHING, bookend_start: [], bookend_end: [] };

export function windowsContract({ it, expect }: Suite, { open }: Harness): void {
  it.each([
    ["in the middle", 10, 3, 7, 13],
    ["at the start", 0, 3, 0, 3],
    ["at the end", 19, 3, 16, 19],
    ["with a window larger than the session", 10, 500, 0, 19],
    ["with a window of nothing", 10, 0, 10, 10],
    ["with a negative window", 10, -4, 10, 10],
  ])("an anchor %s shows what is there on both sides", async (_name, anchor, window, first, last) => {
    await using store = await open();
    const ids = await numbered(store, 20);
    const view = await store.getMessagesAround("s1", nth(ids, anchor), { window });
    expect(messageIds(view.window)).toEqual(ids.slice(first, last + 1));
    expect(view).toMatchObject({ messages_before: anchor - first, messages_after: last - anchor });
  });

  it("the window is five messages on each side by default", async () => {
    await using store = await open();
    const ids = await numbered(store, 20);
    expect(messageIds((await store.getMessagesAround("s1", nth(ids, 10))).window)).toEqual(ids.slice(5, 16));
  });

  it("an anchor that is unknown or of another session shows nothing", async () => {
    await using store = await open();
    const ids = await numbered(store, 3);
    await store.createSession("s2", { source: "cli" });
    const [foreign] = await talk(store, "s2", ["elsewhere"]);
    expect(await store.getMessagesAround("s1", nth(ids, 2) + 1000)).toEqual(NOTHING);
    expect(await store.getMessagesAround("s1", foreign ?? -1)).toEqual(NOTHING);
    expect(await store.getMessagesAround("nope", nth(ids, 0))).toEqual(NOTHING);
    expect(await store.getAnchoredView("s1", foreign ?? -1)).toEqual(NO_VIEW);
    expect(await store.getAnchoredView("nope", nth(ids, 0))).toEqual(NO_VIEW);
  });

  it("messages of other sessions in between do not use up the window", async () => {
    await using store = await withSessions(open(), "s1", "s2");
    const ids: number[] = [];
    for (let index = 0; index < 7; index += 1) {
      ids.push(...(await talk(store, "s1", [`mine ${index}`])));
      await talk(store, "s2", ["a", "b", "c"]);
    }
    expect(messageIds((await store.getMessagesAround("s1", nth(ids, 3), { window: 2 })).window)).toEqual(
      ids.slice(1, 6),
    );
  });

  it("rewound rows are not shown, and do not count", async () => {
    await using store = await open();
    const ids = await withGap(store);
    const window = await store.getMessagesAround("s1", nth(ids, 7), { window: 3 });
    expect(shape(window)).toEqual({ window: pick(ids, [2, 3, 6, 7]), messages_before: 3, messages_after: 0 });
    const view = await store.getAnchoredView("s1", nth(ids, 7), { window: 1, bookend: 10, keepRoles: null });
    expect(shape(view).window).toEqual(pick(ids, [6, 7]));
    expect(messageIds(view.bookend_start)).toEqual(pick(ids, [0, 1, 2, 3]));
  });

  it("an anchor that is rewound itself shows the rewound rows around it", async () => {
    await using store = await open();
    const ids = await withGap(store);
    const window = await store.getMessagesAround("s1", nth(ids, 4), { window: 2 });
    expect(shape(window)).toEqual({
      window: pick(ids, [2, 3, 4, 5, 6]),
      messages_before: 2,
      messages_after: 2,
    });
  });

  it("a view shows the first and last messages outside the window, in order, never overlapping", async () => {
    await using store = await open();
    const ids = await numbered(store, 30);
    for (const [anchor, window, bookend] of [
      [15, 3, 3],
      [4, 3, 3],
      [26, 2, 5],
      [15, 0, 40],
    ] as const) {
      const view = await store.getAnchoredView("s1", nth(ids, anchor), { window, bookend });
      const from = Math.max(0, anchor - window);
      const to = Math.min(ids.length, anchor + window + 1);
      expect(messageIds(view.bookend_start)).toEqual(ids.slice(0, Math.min(bookend, from)));
      expect(messageIds(view.window)).toEqual(ids.slice(from, to));
      expect(messageIds(view.bookend_end)).toEqual(ids.slice(Math.max(to, ids.length - bookend)));
    }
  });

  it("bookends are empty when the window covers everything, or when none are wanted", async () => {
    await using store = await open();
    const ids = await numbered(store, 9);
    const whole = await store.getAnchoredView("s1", nth(ids, 4), { window: 50 });
    expect(shape(whole).window).toEqual(ids);
    expect(whole).toMatchObject({ bookend_start: [], bookend_end: [] });
    for (const bookend of [0, -3]) {
      const none = await store.getAnchoredView("s1", nth(ids, 4), { window: 1, bookend });
      expect(none).toMatchObject({ bookend_start: [], bookend_end: [] });
    }
  });

  it("bookends pass over empty turns, and show structured ones", async () => {
    await using store = await withSessions(open(), "s1");
    const picture = [{ type: "text", text: "look at this" }];
    const ids = await store.appendMany("s1", [
      { role: "assistant", content: "" },
      { role: "user", content: picture },
      { role: "assistant", content: null },
      { role: "user", content: "second" },
      { role: "assistant", content: "anchor" },
      { role: "user", content: "" },
      { role: "assistant", content: { text: "structured end" } },
    ]);
    const view = await store.getAnchoredView("s1", nth(ids, 4), { window: 0, bookend: 2 });
    expect(view.bookend_start.map(({ content }) => content)).toEqual([picture, "second"]);
    expect(view.bookend_end.map(({ content }) => content)).toEqual([{ text: "structured end" }]);
  });

  it("a view keeps users and assistants, and the anchor whatever it is", async () => {
    await using store = await withSessions(open(), "s1");
    const roles = ["user", "tool", "assistant", "tool", "tool", "assistant", "system", "user"];
    const ids = await store.appendMany(
      "s1",
      roles.map((role, index) => ({ role, content: `${role} ${index}` })),
    );
    const view = await store.getAnchoredView("s1", nth(ids, 4), { window: 2, bookend: 3 });
    expect(shape(view)).toEqual({ window: pick(ids, [2, 4, 5]), messages_before: 2, messages_after: 2 });
    expect(messageIds(view.bookend_start)).toEqual(pick(ids, [0]));
    expect(messageIds(view.bookend_end)).toEqual(pick(ids, [7]));
    const all = await store.getAnchoredView("s1", nth(ids, 4), { window: 2, bookend: 3, keepRoles: null });
    expect(shape(all).window).toEqual(ids.slice(2, 7));
    expect(messageIds(all.bookend_start)).toEqual(ids.slice(0, 2));
    const tools = await store.getAnchoredView("s1", nth(ids, 2), {
      window: 1,
      bookend: 1,
      keepRoles: ["tool"],
    });
    expect(shape(tools).window).toEqual(pick(ids, [1, 2, 3]));
    expect(messageIds(tools.bookend_end)).toEqual(pick(ids, [4]));
  });

  it("messages in a window are decoded like any others", async () => {
    await using store = await withSessions(open(), "s1");
    const content = [{ type: "text", text: "a\u0000b" }];
    const [id] = await store.appendMany("s1", [{ role: "assistant", content, toolCalls: [{ id: "c1" }] }]);
    const { window } = await store.getMessagesAround("s1", id ?? -1);
    expect(window).toEqual(await store.getMessages("s1"));
    expect(window).toMatchObject([{ content, tool_calls: [{ id: "c1" }] }]);
  });
}

async function numbered(store: SessionStore, count: number): Promise<number[]> {
  await store.createSession("s1", { source: "cli" });
  return talk(
    store,
    "s1",
    Array.from({ length: count }, (_, index) => `message ${index}`),
  );
}

/** Eight messages of which 4 and 5 are rewound. */
async function withGap(store: SessionStore): Promise<number[]> {
  const ids = await numbered(store, 6);
  await store.rewindToMessage("s1", nth(ids, 4));
  ids.push(...(await talk(store, "s1", ["message 6", "message 7"])));
  return ids;
}

function shape({ window, messages_before, messages_after }: MessageWindow | AnchoredView): {
  window: number[];
  messages_before: number;
  messages_after: number;
} {
  return { window: messageIds(window), messages_before, messages_after };
}

function pick(ids: readonly number[], indexes: readonly number[]): number[] {
  return indexes.map((index) => nth(ids, index));
}

// ---- Conversations for a model's context ----

export function conversationContract({ it, expect }: Suite, { open }: Harness): void {
  it("a plain message has role, content and time, and no key without a value", async () => {
    await using store = await withSessions(open({ clock: new ManualClock() }), "s1");
    await talk(store, "s1", ["hello"]);
    expect(await store.getMessagesAsConversation("s1")).toEqual([
      { role: "user", content: "hello", timestamp: NOW },
    ]);
  });

  it("fields of calls and results come along, parsed", async () => {
    await using store = await withSessions(open({ clock: new ManualClock() }), "s1");
    await store.appendMany("s1", [
      { role: "assistant", content: "", toolCalls: [{ id: "c1" }], finishReason: "tool_calls" },
      { role: "tool", content: "done", toolCallId: "c1", toolName: "terminal", finishReason: "ignored" },
    ]);
    expect(await store.getMessagesAsConversation("s1")).toEqual([
      {
        role: "assistant",
        content: "",
        timestamp: NOW,
        tool_calls: [{ id: "c1" }],
        finish_reason: "tool_calls",
      },
      { role: "tool", content: "done", timestamp: NOW, tool_call_id: "c1", tool_name: "terminal" },
    ]);
  });

  it("reasoning comes back with assistants only; an empty reasoning is absent, an empty reasoning_content is kept", async () => {
    await using store = await withSessions(open({ clock: new ManualClock() }), "s1");
    const details = [{ type: "reasoning.text", text: "步骤", signature: "s" }];
    await store.appendMany("s1", [
      { role: "assistant", content: "a", reasoning: "", reasoningContent: "" },
      {
        role: "assistant",
        content: "b",
        reasoning: "because",
        reasoningDetails: details,
        codexReasoningItems: [{ id: "r" }],
        codexMessageItems: [{ id: "m" }],
      },
      { role: "user", content: "c", reasoning: "no", reasoningContent: "no", reasoningDetails: details },
    ]);
    expect(await store.getMessagesAsConversation("s1")).toEqual([
      { role: "assistant", content: "a", timestamp: NOW, reasoning_content: "" },
      {
        role: "assistant",
        content: "b",
        timestamp: NOW,
        reasoning: "because",
        reasoning_details: details,
        codex_reasoning_items: [{ id: "r" }],
        codex_message_items: [{ id: "m" }],
      },
      { role: "user", content: "c", timestamp: NOW },
    ]);
  });

  it("the platform's id is called message_id, after appending and after replacing", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "telegram" });
    await store.appendMessage("s1", {
      role: "user",
      content: "x",
      platformMessageId: "pm-1",
      observed: true,
    });
    const before = await store.getMessagesAsConversation("s1");
    expect(before).toMatchObject([{ message_id: "pm-1", observed: true }]);
    await store.replaceMessages("s1", before);
    expect(await store.getMessagesAsConversation("s1")).toEqual(before);
  });

  it("a conversation that is stored again is the same conversation", async () => {
    await using store = await withSessions(open(), "s1");
    await store.appendMany("s1", [
      { role: "user", content: [{ type: "text", text: "look" }], timestamp: NOW - 10 },
      {
        role: "assistant",
        content: null,
        toolCalls: [{ id: "c1" }],
        finishReason: "tool_calls",
        reasoning: "r",
        reasoningContent: "",
        reasoningDetails: [{ a: 1 }],
        timestamp: NOW - 9,
      },
      { role: "tool", content: "a\u0000b", toolCallId: "c1", toolName: "t", timestamp: NOW - 8 },
    ]);
    const before = await store.getMessagesAsConversation("s1");
    await store.replaceMessages("s1", before);
    expect(await store.getMessagesAsConversation("s1")).toEqual(before);
  });

  it("recalled memory is taken out of what users and assistants said, and the rest is trimmed", async () => {
    await using store = await withSessions(open(), "s1");
    const fence = "<memory-context>\nThe user likes tea.\n</memory-context>";
    await store.appendMany("s1", [
      { role: "user", content: `  what do I drink?\n${fence}\n` },
      { role: "assistant", content: `Tea. ${fence}` },
      { role: "tool", content: ` ${fence} ` },
    ]);
    expect(textsOf(await store.getMessagesAsConversation("s1"))).toEqual([
      "what do I drink?",
      "Tea.",
      ` ${fence} `,
    ]);
  });

  it("messages come in the order of their times, then of their ids", async () => {
    await using store = await withSessions(open(), "s1");
    for (const [content, timestamp] of [
      ["third", NOW],
      ["first", NOW - 60],
      ["fourth", NOW],
      ["second", NOW - 30],
    ] as const) {
      await store.appendMessage("s1", { role: "assistant", content, timestamp });
    }
    expect(textsOf(await store.getMessagesAsConversation("s1"))).toEqual([
      "first",
      "second",
      "third",
      "fourth",
    ]);
  });

  it("rewound messages are left out unless asked for", async () => {
    await using store = await withSessions(open(), "s1");
    const ids = await talk(store, "s1", ["one", "two", "three", "four"]);
    await store.rewindToMessage("s1", nth(ids, 2));
    expect(textsOf(await store.getMessagesAsConversation("s1"))).toEqual(["one", "two"]);
    const all = await store.getMessagesAsConversation("s1", { includeInactive: true });
    expect(textsOf(all)).toEqual(["one", "two", "three", "four"]);
  });

  it("ancestors come first, root before parent, whatever kind of parent they are", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    let parentSessionId: string | null = null;
    for (const id of ["root", "middle", "leaf"]) {
      await store.createSession(id, { source: "cli", parentSessionId });
      await talk(store, id, [`asked in ${id}`, `answered in ${id}`]);
      clock.advance(60);
      parentSessionId = id;
    }
    expect(textsOf(await store.getMessagesAsConversation("leaf", { includeAncestors: true }))).toEqual([
      "asked in root",
      "answered in root",
      "asked in middle",
      "answered in middle",
      "asked in leaf",
      "answered in leaf",
    ]);
    expect(textsOf(await store.getMessagesAsConversation("leaf"))).toEqual([
      "asked in leaf",
      "answered in leaf",
    ]);
  });

  it("ancestors come first even when the clock stepped back between the sessions", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "root");
    await talk(store, "root", ["one", "two"]);
    clock.advance(-7200);
    await store.continueSession("root", { id: "next" });
    await talk(store, "next", ["three", "four"]);
    expect(textsOf(await store.getMessagesAsConversation("next", { includeAncestors: true }))).toEqual([
      "one",
      "two",
      "three",
      "four",
    ]);
  });

  it("a prompt repeated on resuming is shown once, a question asked again after an answer twice", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "root");
    await talk(store, "root", ["status?", "all well", "carry on"]);
    clock.advance(60);
    await store.createSession("next", { source: "cli", parentSessionId: "root" });
    await store.appendMany("next", [
      { role: "user", content: "carry on" },
      { role: "assistant", content: "done" },
      { role: "user", content: "status?" },
    ]);
    expect(textsOf(await store.getMessagesAsConversation("next", { includeAncestors: true }))).toEqual([
      "status?",
      "all well",
      "carry on",
      "done",
      "status?",
    ]);
  });

  it("copied messages are shown once with their ancestors", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "root");
    await talk(store, "root", ["one", "two", "three", "four"]);
    clock.advance(60);
    const branch = await store.branchSession("root", { id: "fork" });
    await talk(store, branch.id, ["five"]);
    clock.advance(60);
    const [, , three, four] = await store.getMessages("root");
    await store.continueSession("fork", {
      id: "tail",
      messages: [
        { role: "user", content: "[summary of one and two]" },
        { ...three, originId: three?.id ?? null },
        { ...four, originId: four?.id ?? null },
      ],
    });
    const fork = textsOf(await store.getMessagesAsConversation("fork", { includeAncestors: true }));
    expect(fork).toEqual(["one", "two", "three", "four", "five"]);
    const tail = textsOf(await store.getMessagesAsConversation("tail", { includeAncestors: true }));
    for (const text of ["one", "two", "three", "four", "five", "[summary of one and two]"]) {
      expect(tail.filter((each) => each === text)).toEqual([text]);
    }
    // Without ancestors the copy is the only row of the message, so it must be included.
    expect(textsOf(await store.getMessagesAsConversation("fork"))).toEqual([
      "one",
      "two",
      "three",
      "four",
      "five",
    ]);
  });

  it("an unknown session has no conversation", async () => {
    await using store = await open();
    expect(await store.getMessagesAsConversation("nope")).toEqual([]);
    expect(await store.getMessagesAsConversation("nope", { includeAncestors: true })).toEqual([]);
  });
}

function textsOf(messages: readonly OpenAiMessage[]): unknown[] {
  return messages.map(({ content }) => content);
}
