// Conversations as they go back into a model's context.

import type { ConversationMessage } from "../../src/sessions/rows.ts";
import type { Suite } from "../runner.ts";
import { type Harness, ManualClock, NOW, nth, talk } from "./support.ts";

export function conversationContract({ it, expect }: Suite, { open }: Harness): void {
  it("a plain message has role, content and time, and no key without a value", async () => {
    await using store = await open({ clock: new ManualClock() });
    await store.createSession("s1", { source: "cli" });
    await talk(store, "s1", ["hello"]);
    expect(await store.getMessagesAsConversation("s1")).toEqual([
      { role: "user", content: "hello", timestamp: NOW },
    ]);
  });

  it("fields of calls and results come along, parsed", async () => {
    await using store = await open({ clock: new ManualClock() });
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open({ clock: new ManualClock() });
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open({ clock });
    await store.createSession("root", { source: "cli" });
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
    await using store = await open({ clock });
    await store.createSession("root", { source: "cli" });
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
    await using store = await open({ clock });
    await store.createSession("root", { source: "cli" });
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
    // Without ancestors a copy is all there is, and it has to be there.
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

function textsOf(messages: readonly ConversationMessage[]): unknown[] {
  return messages.map(({ content }) => content);
}
