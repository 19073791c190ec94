// Chats at the door: what is stored of an exchange, what goes to a model next, and who sees it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { HermesError } from "../../src/lib/index.ts";
import { ChatTurns } from "../../src/memory/chat-session.ts";
import { openMemory, type UserMemory } from "../../src/memory/index.ts";
import { ana, owner } from "../fakes/opened-memory.ts";
import { registeringPlugin, writePlugin } from "../fakes/plugins.ts";
import { tempDirectory } from "../fakes/temp-directory.ts";

const ANA = { platform: "web", id: "ana" };

async function failure(work: Promise<unknown>): Promise<HermesError> {
  const cause = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(cause instanceof HermesError)) throw new Error(`no HermesError: ${String(cause)}`);
  return cause;
}

function texts(messages: readonly { readonly content: unknown }[]): unknown[] {
  return messages.map(({ content }) => content);
}

async function open(home = tempDirectory()) {
  return openMemory({ home });
}

const PERSONS = {
  "the owner": (memory: Awaited<ReturnType<typeof open>>): UserMemory => memory.owner,
  "a user": (memory: Awaited<ReturnType<typeof open>>): UserMemory => memory.user(ANA),
};

describe.each(Object.entries(PERSONS))("%s", (_, personOf) => {
  it("gets the stored exchange back as the history of the next turn", async () => {
    await using memory = await open();
    const me = personOf(memory);
    const first = await me.context("c1", { query: "hello" });
    expect(first.messages).toEqual([]);
    expect(first.request.messages).toEqual([{ role: "user", content: "hello" }]);
    const stored = await me.remember("c1", "hello", "hi there");
    expect(stored).toMatchObject({ chatId: "c1", stored: 2, known: 0, takenBack: 0 });
    const next = await me.context("c1", { query: "and now?" });
    expect(next.request.messages).toEqual([
      { role: "user", content: "hello" },
      { role: "assistant", content: "hi there" },
      { role: "user", content: "and now?" },
    ]);
    expect(next.leftOut).toBe(0);
    expect(next.sessionId).toBe(stored.sessionId);
  });

  it("stores an exchange once, and again with another id", async () => {
    await using memory = await open();
    const me = personOf(memory);
    await me.remember("c", "ok", "fine");
    expect(await me.remember("c", "ok", "fine")).toMatchObject({ stored: 0, known: 2 });
    expect(await me.remember("c", "ok", "fine", { id: "r2" })).toMatchObject({ stored: 2 });
    expect(await me.remember("c", "ok", "fine", { id: "r2" })).toMatchObject({ stored: 0, known: 2 });
    expect(await me.remember("c", "something else", "no matter", { id: "r2" })).toMatchObject({ stored: 0 });
    const { messages } = await me.remember("c", "ok", "fine", { id: "r3" });
    expect(messages).toHaveLength(6);
  });

  it("keeps the memory block of a chat, in another process too, until it is compacted", async () => {
    const home = tempDirectory();
    {
      await using memory = await open(home);
      const me = personOf(memory);
      const curated = await me.layers.curated();
      await curated?.apply("memory", { action: "add", content: "The office is in Lyon" });
      const { system } = await me.context("c", { identity: "You are a clerk." });
      expect(system.startsWith("You are a clerk.\n\n")).toBe(true);
      expect(system).toContain("The office is in Lyon");
      await curated?.apply("memory", { action: "add", content: "The office moved to Nantes" });
      expect((await me.context("c", { identity: "You are a clerk." })).system).toBe(system);
    }
    await using again = await open(home);
    const me = personOf(again);
    expect((await me.context("c")).system).not.toContain("Nantes");
    expect((await me.context("other")).system).toContain("Nantes");
  });

  it("lists, names and forgets chats", async () => {
    await using memory = await open();
    const me = personOf(memory);
    expect(await me.chats()).toEqual([]);
    expect(await me.chat("a/b")).toBeUndefined();
    expect(await me.rename("a/b", "x")).toBe(false);
    expect(await me.forgetChat("a/b")).toBe(false);
    await me.remember("a/b", "one", "two");
    await me.remember("zweiter Chat ü", "three", "four");
    expect((await me.chats()).map(({ chatId }) => chatId).sort()).toEqual(["a/b", "zweiter Chat ü"]);
    expect(await me.rename("a/b", "The first")).toBe(true);
    expect(await me.chat("a/b")).toMatchObject({ chatId: "a/b", title: "The first", messages: 2 });
    expect(await me.forgetChat("a/b")).toBe(true);
    expect(await me.chat("a/b")).toBeUndefined();
    expect(await me.chats()).toHaveLength(1);
  });

  it("reopens a chat that was archived and ended", async () => {
    await using memory = await open();
    const me = personOf(memory);
    const { sessionId } = await me.remember("c", "one", "two");
    const store = await me.layers.sessions({ mode: "write", create: true });
    await store.endSession(sessionId, "user_exit");
    await store.setSessionArchived(sessionId, true);
    expect((await me.remember("c", "three", "four")).messages).toHaveLength(4);
    expect(await store.getSession(sessionId)).toMatchObject({ archived: 0, ended_at: null });
  });

  it("goes on at the tip of a chat that was continued after a compaction", async () => {
    await using memory = await open();
    const me = personOf(memory);
    const { sessionId } = await me.remember("c", "one", "two");
    const store = await me.layers.sessions({ mode: "write", create: true });
    const { id } = await store.continueSession(sessionId, {
      messages: [{ role: "user", content: "[CONTEXT COMPACTION — REFERENCE ONLY] summary\nof it" }],
    });
    const next = await me.remember("c", "three", "four");
    expect(next.sessionId).toBe(id);
    expect((await me.chats()).map(({ chatId }) => chatId)).toEqual(["c"]);
    expect((await me.chat("c"))?.sessionId).toBe(id);
    // The caller's own list begins before the compaction.
    const whole = ["one", "two", "three", "four", "five", "six"].map((content, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content,
    }));
    expect(await me.remember("c", whole)).toMatchObject({ stored: 2, known: 4 });
    expect(await me.forgetChat("c")).toBe(true);
    expect(await store.getSession(sessionId)).toBeNull();
  });
});

describe("remember", () => {
  it("stores nothing of a list with a message that nobody can read, and names it", async () => {
    const me = await owner();
    const bad = await failure(
      me.remember("c", [
        { role: "user", content: "u" },
        { role: "wizard", content: "" },
      ]),
    );
    expect(bad.code).toBe("bad-message");
    expect(bad.message).toContain("Entry 1");
    expect(await me.chat("c")).toBeUndefined();
    expect((await failure(me.remember("c", "text", 7 as unknown as object))).code).toBe("bad-message");
    const ui = await failure(me.remember("c", [{ role: "user", parts: [] } as never]));
    expect(ui.hint).toContain("convertToModelMessages");
    expect((await failure(me.remember("", "a", "b"))).code).toBe("bad-chat-id");
    expect((await failure(me.remember("x".repeat(5_000), "a", "b"))).code).toBe("bad-chat-id");
    expect((await failure(me.remember("\ud800", "a", "b"))).code).toBe("bad-chat-id");
  });

  it("refuses an exchange without a question, and says which argument is wrong", async () => {
    const me = await owner();
    const empty = await failure(me.remember("c", " \n", "a reply"));
    expect([empty.code, empty.hint]).toEqual(["bad-message", expect.stringContaining("image")]);
    const missing = await failure(me.remember("c", undefined as never, "a reply"));
    expect([missing.code, missing.message]).toEqual([
      "bad-message",
      expect.stringContaining("The argument after the chat's id is undefined"),
    ]);
    const noReply = await failure(me.remember("c", "text", undefined as never));
    expect([noReply.code, noReply.message]).toEqual([
      "bad-message",
      expect.stringContaining("The reply, the argument after the text of the user, is undefined"),
    ]);
    expect(await me.chat("c")).toBeUndefined();
  });

  it("follows a list that was edited: rows it no longer has are taken back, not deleted", async () => {
    const me = await owner();
    const list = (...said: string[]) =>
      said.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
    await me.remember("c", list("u1", "a1", "u2", "a2"));
    const regenerated = await me.remember("c", list("u1", "a1", "u2", "a2b"), { follow: true });
    expect(regenerated).toMatchObject({ stored: 1, known: 3, takenBack: 1 });
    expect(texts(regenerated.messages)).toEqual(["u1", "a1", "u2", "a2b"]);
    const edited = await me.remember("c", list("u1", "a1", "u2b", "a3"), { follow: true });
    expect(edited).toMatchObject({ stored: 2, known: 2, takenBack: 2 });
    expect(texts(edited.messages)).toEqual(["u1", "a1", "u2b", "a3"]);
    const shorter = await me.remember("c", list("u1", "a1"), { follow: true });
    expect(shorter).toMatchObject({ stored: 0, known: 2, takenBack: 2 });
    expect(texts(shorter.messages)).toEqual(["u1", "a1"]);
    const store = await me.layers.sessions({ mode: "write", create: true });
    expect((await store.getMessages(shorter.sessionId, { includeInactive: true })).length).toBeGreaterThan(6);
    expect(await me.remember("c", list("u1", "a1"), { follow: true })).toMatchObject({
      takenBack: 0,
      stored: 0,
    });
    expect((await failure(me.remember("c", "u", "a", { follow: true }))).code).toBe("bad-option");
  });

  it("takes nothing back when what replaces it cannot be stored", async () => {
    const home = tempDirectory();
    await using memory = await open(home);
    const me = memory.user(ANA);
    const list = ["a", "b", "c"].flatMap((text) => [
      { role: "user", content: text },
      { role: "assistant", content: `${text}!` },
    ]);
    await me.remember("c", list);
    const database = new DatabaseSync(join(home, "state.db"));
    database.exec(`CREATE TRIGGER full BEFORE INSERT ON messages WHEN new.content = 'too much'
      BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
    const edited = [
      ...list.slice(0, 2),
      { role: "user", content: "b2" },
      { role: "assistant", content: "too much" },
    ];
    await expect(me.remember("c", edited, { follow: true })).rejects.toThrow("the disk is full");
    expect(texts((await me.context("c")).messages)).toEqual(texts(list));
    database.exec("DROP TRIGGER full");
    database.close();
    const { messages } = await me.remember("c", edited, { follow: true });
    expect(texts(messages)).toEqual(texts(edited));
  });

  it("does not store the recall of a request", async () => {
    const me = await ana();
    await me.remember("old", "My sister Berta breeds alpacas", "Lovely!");
    const turn = await me.context("new", { query: "What does my sister Berta breed?" });
    expect(turn.recall).toContain("alpacas");
    const { messages } = await me.remember("new", [
      ...turn.request.messages,
      { role: "assistant", content: "Alpacas." },
    ]);
    expect(texts(messages)).toEqual(["What does my sister Berta breed?", "Alpacas."]);
  });

  it("serialises calls of one process", async () => {
    const me = await ana();
    const all = await Promise.all(Array.from({ length: 8 }, () => me.remember("c", "same", "same too")));
    expect(all.map(({ stored }) => stored).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 2]);
    expect(await me.chat("c")).toMatchObject({ messages: 2 });
  });

  it("waits for the lease of another process, until the caller stops it", async () => {
    const me = await ana();
    const { sessionId } = await me.remember("c", "one", "two");
    const store = await me.layers.sessions({ mode: "write", create: true });
    await store.acquireSessionLease(sessionId, "pid=1:host=elsewhere:nonce=ab", { ttl: 60 });
    const signal = AbortSignal.timeout(300);
    await expect(me.remember("c", "three", "four", { signal })).rejects.toThrow(/abort/i);
    const waiting = me.remember("c", "three", "four");
    await store.releaseSessionLease(sessionId, "pid=1:host=elsewhere:nonce=ab");
    expect(await waiting).toMatchObject({ stored: 2 });
  });
});

describe("context", () => {
  it("recalls other chats of the person, fenced, and the same bytes for each step of a turn", async () => {
    const me = await ana();
    await me.remember(
      "trip",
      "I am allergic to walnuts",
      "I will remember that you are allergic to walnuts.",
    );
    const query = "Which nuts am I allergic to?";
    const turn = await me.context("dinner", { query });
    expect(turn.recall).toMatch(/^<memory-context>\n[\s\S]*walnuts[\s\S]*<\/memory-context>$/);
    expect(turn.request.messages.at(-1)).toEqual({ role: "user", content: `${query}\n\n${turn.recall}` });
    await me.remember("third", "Walnuts and allergic things, which nuts am I allergic to?", "Many.");
    const step = await me.context("dinner", {
      messages: [
        { role: "user", content: query },
        { role: "assistant", content: [{ type: "tool-call", toolCallId: "t", toolName: "look", input: {} }] },
      ],
    });
    expect(step.recall).toBe(turn.recall);
    await me.remember("dinner", [{ role: "user", content: query }]);
    expect((await me.context("dinner", { messages: [{ role: "user", content: query }] })).recall).toBe(
      turn.recall,
    );
    expect((await me.context("dinner", { query, recall: false })).recall).toBe("");
    for (const trivial of ["ok", "Thanks!", "ok, thank you so much", ""])
      expect((await me.context("dinner", { query: trivial })).recall).toBe("");
    expect((await me.context("trip", { query })).recall).not.toContain("I will remember");
  });
});

describe("a list that comes back", () => {
  const user = (content: string) => ({ role: "user", content });
  const assistant = (content: string) => ({ role: "assistant", content });
  const call = (...ids: string[]) => ({
    role: "assistant",
    content: ids.map((id) => ({ type: "tool-call", toolCallId: id, toolName: "look", input: { q: id } })),
  });
  const result = (id: string, value: string) => ({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: id, toolName: "look", output: { type: "text", value } }],
  });

  it("has the result of a stored call: a model gets it, and it is stored once", async () => {
    const me = await ana();
    await me.remember("c", [user("q1"), call("t1", "t2")]);
    const list = [user("q1"), call("t1", "t2"), result("t2", "SECOND"), result("t1", "FIRST"), user("q2")];
    const { messages } = await me.context("c", { messages: list, format: "openai" });
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "q1"],
      ["assistant", null],
      ["tool", "SECOND"],
      ["tool", "FIRST"],
      ["user", "q2"],
    ]);
    const alone = await me.context("c", { messages: [result("t1", "FIRST"), result("t2", "SECOND")] });
    expect(JSON.stringify(alone.messages)).toContain("FIRST");
    expect(JSON.stringify(alone.messages)).not.toContain("Result from earlier");
    expect(await me.remember("c", list)).toMatchObject({ stored: 3, known: 2 });
    expect(await me.remember("c", list)).toMatchObject({ stored: 0, known: 5 });
    const masked = [...list.slice(0, 2), result("t1", "An error occurred."), result("t2", "x"), user("q2")];
    expect(await me.remember("c", [...masked, assistant("a2")])).toMatchObject({ stored: 1, known: 5 });
    const followed = await me.remember("c", [...masked, assistant("a2")], { follow: true });
    expect(followed).toMatchObject({ stored: 0, takenBack: 0 });
  });

  it("is known after a compaction, also with a gap behind the summary", async () => {
    const me = await ana();
    const say = (at: number) =>
      me.remember("c", `question ${at} ${"lorem ".repeat(120)}`, `answer ${at} ${"ipsum ".repeat(120)}`);
    for (let at = 0; at < 30; at += 1) await say(at);
    const model = { complete: async () => "## Summary\nAbout kilns." };
    expect((await me.compact("c", { model, contextLength: 8_000, force: true })).kind).toBe("compacted");
    for (let at = 30; at < 40; at += 1) await say(at);
    for (const maxTokens of [600, 1_500, 2_500, 5_000]) {
      const { messages, leftOut } = await me.context("c", { maxTokens });
      expect(leftOut).toBeGreaterThan(0);
      const next = await me.context("c", { maxTokens, messages: [...messages, user("new")] });
      expect(next.messages).toEqual([...messages, user("new")]);
      const list = [...messages, user(`new ${maxTokens}`), assistant("yes")];
      expect(await me.remember("c", list)).toMatchObject({ stored: 2, known: messages.length });
    }
  });

  it("is known when its texts were cut and rounds of its newest turn left out", async () => {
    const me = await ana();
    const list = [user("My name is Ana"), assistant("Hello"), user(`look it up ${"now ".repeat(3_000)}`)];
    for (let at = 0; at < 60; at += 1)
      list.push(call(`c${at}`) as never, result(`c${at}`, `${at} ${"word ".repeat(700)}`) as never);
    list.push(assistant(`found ${"it ".repeat(2_000)}`));
    await me.remember("c", list);
    for (const maxTokens of [1_500, 3_000, 6_000, 12_000, 24_000]) {
      const { messages, leftOut, tokens } = await me.context("c", { maxTokens });
      expect(messages[0]?.role).toBe("user");
      expect(JSON.stringify(messages)).not.toContain("CONTEXT COMPACTION");
      expect(messages.length + leftOut).toBe(list.length);
      expect(tokens).toBeLessThanOrEqual(maxTokens);
      const given = [...messages, user("thanks")];
      expect((await me.context("c", { maxTokens, messages: given })).messages).toEqual(given);
    }
    const { messages } = await me.context("c");
    const stored = await me.remember("c", [...messages, user("thanks"), assistant("welcome")]);
    expect(stored).toMatchObject({ stored: 2, known: messages.length });
  });

  it("completes an exchange whose question was stored under the same id", async () => {
    const me = await ana();
    const [q, a] = [user("q"), assistant("the reply")];
    await me.remember("c", [q], { id: "r1" });
    expect(await me.remember("c", [q, a], { id: "r1" })).toMatchObject({ stored: 1, known: 1 });
    expect(await me.remember("c", [q, a], { id: "r1" })).toMatchObject({ stored: 0, known: 2 });
    expect(await me.remember("c", [q, assistant("another")], { id: "r1" })).toMatchObject({ stored: 0 });
    await me.remember("d", "q", "", { id: "r2" });
    const { messages } = await me.remember("d", "q", "the real reply", { id: "r2" });
    expect(texts(messages)).toEqual(["q", "the real reply"]);
  });
});

describe("options that cannot be used", () => {
  it("are refused, and nothing is created", async () => {
    await using memory = await open();
    const me = memory.user(ANA);
    for (const value of [0, -1, Number.NaN, "24000", null, {}]) {
      const number = value as number;
      expect((await failure(me.context("c", { maxTokens: number }))).code).toBe("bad-option");
      expect((await failure(me.chats({ limit: number }))).code).toBe("bad-limit");
      expect((await failure(me.transcript("c", { limit: number }))).code).toBe("bad-limit");
      const model = { complete: () => Promise.reject(new Error("asked")) };
      expect((await failure(me.extract("c", { model, maxFacts: number }))).code).toBe("bad-option");
      expect((await failure(me.compact("c", { model, contextLength: number }))).code).toBe("bad-option");
    }
    for (const offset of [-1, 0.5, "1", null])
      expect((await failure(me.chats({ offset: offset as number }))).code).toBe("bad-option");
    const format = "xml" as "openai";
    expect((await failure(me.context("c", { format }))).code).toBe("bad-option");
    expect((await failure(me.transcript("c", { format }))).code).toBe("bad-option");
    expect(await me.chats({ limit: Number.POSITIVE_INFINITY })).toEqual([]);
    for (const options of [undefined, {}, { model: {} }]) {
      expect((await failure(me.extract("c", options as never))).code).toBe("bad-option");
      expect((await failure(me.compact("c", options as never))).code).toBe("bad-option");
    }
    for (const user of [undefined, null, "ana", 7])
      expect(() => memory.user(user as never)).toThrow(expect.objectContaining({ code: "bad-user-id" }));
  });
});

describe("a text that looks like the summary of a compaction", () => {
  const marked = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\nGoodbye";
  it.each([
    ["first", [marked, "My name is Ana", "later"]],
    ["in the middle", ["My name is Ana", marked, "later"]],
  ])("hides nothing, %s", async (_, said) => {
    const me = await ana();
    for (const text of said) await me.remember("c", text, "ok");
    let prompt = "";
    const model = {
      complete: async (request: { readonly prompt: string }) => {
        prompt = request.prompt;
        return "[]";
      },
    };
    expect(await me.extract("c", { model })).toMatchObject({ messages: 6 });
    expect(prompt).toContain("My name is Ana");
    expect((await me.transcript("c"))?.messages).toHaveLength(6);
    expect(await me.chat("c")).toMatchObject({ messages: 6 });
    const list = [
      { role: "user", content: said[0] },
      { role: "assistant", content: "ok" },
      { role: "user", content: "edited" },
    ];
    const { messages, takenBack } = await me.remember("c", list, { follow: true });
    expect(texts(messages)).toEqual([said[0], "ok", "edited"]);
    expect(takenBack).toBe(4);
  });
});

describe("what was forgotten", () => {
  it("is not recalled any more, also within the same turn", async () => {
    const me = await ana();
    const query = "Which nuts am I allergic to?";
    const ways = { dinner: () => me.forgetChat("trip"), supper: () => me.erase() };
    for (const [chatId, forget] of Object.entries(ways)) {
      await me.remember("trip", "I am allergic to walnuts", "Noted: allergic to walnuts.");
      expect((await me.context(chatId, { query })).recall).toContain("walnuts");
      await forget();
      expect((await me.context(chatId, { query })).recall).toBe("");
    }
    expect(await me.chats()).toMatchObject([{ chatId: "supper" }]);
  });
});

describe("a chat that another process works on", () => {
  it("is busy after the wait, and the error names the process", async () => {
    const me = await ana();
    const { sessionId } = await me.remember("c", "one", "two");
    const store = await me.layers.sessions({ mode: "write", create: true });
    await store.acquireSessionLease(sessionId, "pid=17:host=elsewhere:nonce=ab", { ttl: 60 });
    const turns = new ChatTurns(me.layers);
    const busy = await failure(turns.alone("c", async () => "not reached", { waitMs: 100 }));
    expect(busy).toMatchObject({ code: "chat-busy" });
    expect(busy.message).toContain("process 17 on elsewhere");
    // Reading does not wait for it.
    expect((await me.context("c")).messages).toHaveLength(2);
  });
});

describe("the active provider", () => {
  it("gets turns in the background, adds recall but no text about tools that are not offered, and is shut down with the home", async () => {
    const home = tempDirectory();
    const more = `
      initialize(id, options) { globalThis.notes = [["initialize", options.platform, options.user_id]]; }
      systemPromptBlock() { return "Provider notes are on."; }
      prefetch(query) { return "The provider knows about " + query; }
      syncTurn(user, assistant) { globalThis.notes.push(["sync", user, assistant]); }
      shutdown() { globalThis.notes.push(["shutdown"]); }`;
    writePlugin(home, "notes", { "index.js": registeringPlugin({ name: "notes", more }) });
    writeFileSync(join(home, "config.yaml"), "memory:\n  provider: notes\n");
    {
      await using memory = await open(home);
      const me = memory.user(ANA);
      const turn = await me.context("c", { query: "harbour cranes" });
      expect(turn.system).not.toContain("Provider notes are on.");
      expect(turn.recall).toContain("The provider knows about harbour cranes");
      await me.remember("c", "harbour cranes", "are blue");
    }
    const shared = globalThis as { notes?: unknown };
    expect(shared.notes).toEqual([
      ["initialize", "web", "ana"],
      ["sync", "harbour cranes", "are blue"],
      ["shutdown"],
    ]);
    delete shared.notes;
  });
});
