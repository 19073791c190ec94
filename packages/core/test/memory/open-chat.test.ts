// The members of the door that a gateway needs: where a chat comes from, its memory block, and recall with a list of what was found.
import { expect, it } from "vitest";
import { openMemory } from "../../src/memory/index.ts";
import { owner } from "../fakes/opened-memory.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANN = { platform: "web", id: "ann" };

it("creates the session of a chat once, with its source", async () => {
  await using memory = await openMemory({ home: tempDirectory() });
  const ann = memory.user(ANN);
  const first = await ann.openChat("c", { source: "open-webui" });
  expect(first).toMatchObject({ sessionId: expect.stringMatching(/^chat\./), isNew: true });
  expect(await ann.openChat("c", { source: "librechat" })).toMatchObject({ ...first, isNew: false });
  const store = await ann.layers.sessions({ mode: "read" });
  expect(await store?.getSession(first.sessionId)).toMatchObject({ source: "open-webui", user_id: "ann" });
  expect(await memory.user({ ...ANN, platform: "open-webui" }).chat(first.sessionId)).toBeUndefined();
  await ann.remember("c", "hello", "hi");
  expect(await ann.chats()).toMatchObject([{ chatId: "c", messages: 2 }]);
  expect(await ann.openChat("plain")).toMatchObject({ isNew: true });
});

it("gives the owner's session exactly the id, and a user's never", async () => {
  await using memory = await openMemory({ home: tempDirectory() });
  const named = { sessionId: "claude-code-1", source: "claude-code" };
  expect(await memory.owner.openChat("claude-code-1", named)).toMatchObject({
    sessionId: "claude-code-1",
    isNew: true,
  });
  expect(await memory.owner.openChat("claude-code-1", named)).toMatchObject({ isNew: false });
  await memory.owner.remember("claude-code-1", "hello", "hi");
  expect(await memory.owner.chats()).toMatchObject([{ chatId: "claude-code-1", sessionId: "claude-code-1" }]);
  await expect(memory.user(ANN).openChat("claude-code-1", named)).rejects.toMatchObject({
    code: "bad-option",
  });
  const own = await memory.user(ANN).openChat("claude-code-1", { source: "claude-code" });
  expect(own.sessionId).not.toBe("claude-code-1");
});

it("links a subagent's chat as an import does", async () => {
  await using memory = await openMemory({ home: tempDirectory() });
  const me = memory.owner;
  const [parentChatId, chatId] = ["claude-code-1", "claude-code-1-agent-a"];
  const run = { sessionId: chatId, source: "claude-code", parentChatId };
  expect(await me.openChat(chatId, run)).toMatchObject({ sessionId: chatId, isNew: true });
  const store = await me.layers.sessions({ mode: "write", create: true });
  expect(await store.getSession(chatId)).toMatchObject({
    source: "subagent",
    parent_session_id: parentChatId,
  });
  expect(await store.getSession(parentChatId)).toMatchObject({ source: "claude-code" });
  expect(await store.listDelegates([parentChatId])).toEqual([chatId]);
  await me.remember(chatId, "look at it", "done");
  expect((await me.chats()).map((chat) => chat.chatId)).toEqual([parentChatId]);
  expect(await me.forgetChat(parentChatId)).toBe(true);
  expect(await me.chat(chatId)).toBeUndefined();
  const ann = memory.user(ANN);
  const theirs = await ann.openChat("run", { parentChatId: "main" });
  const main = await ann.openChat("main");
  expect(main.isNew).toBe(false);
  expect(await store.getSession(theirs.sessionId)).toBeNull();
  const annStore = await ann.layers.sessions({ mode: "read" });
  expect(await annStore?.getSession(theirs.sessionId)).toMatchObject({ parent_session_id: main.sessionId });
});

it.each([
  { source: "subagent" },
  { source: "tool" },
  { source: "" },
  { sessionId: "another" },
  { parentChatId: "c" },
  { sessionId: 1 },
])("refuses %j", async (options) => {
  await using memory = await openMemory({ home: tempDirectory() });
  await expect(memory.owner.openChat("c", options as never)).rejects.toMatchObject({ code: "bad-option" });
  expect(await memory.owner.chats()).toEqual([]);
});

it("recalls what context adds, with the same bytes for a turn, and stops when it is told to", async () => {
  const me = await owner();
  await me.remember("old", "The greenhouse thermostat is set to 19", "Noted.");
  const query = "What is the greenhouse thermostat set to?";
  const first = await me.recall("c", query);
  expect(first.text).toContain("set to 19");
  expect(first.found).toMatchObject([{ source: "chats", outcome: "injected" }]);
  await me.remember("other", "The greenhouse thermostat is set to 21 now", "Noted.");
  expect((await me.recall("c", query)).text).toBe(first.text);
  expect((await me.context("c", { query })).recall).toBe(first.text);
  await me.remember("c", [{ role: "user", content: query }]);
  expect((await me.recall("c", query)).text).toBe(first.text);
  expect(await me.recall("c", "thanks!")).toMatchObject({ text: "", found: [] });
  await expect(me.recall("c", query, { signal: AbortSignal.abort() })).rejects.toThrow();
  await expect(me.recall("c", undefined as never)).rejects.toMatchObject({ code: "bad-option" });
});
