import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Chat, openChat, textOf } from "./fake-agent.ts";

/** Three conversations with titles, the last of them current. */
async function threeSessions(): Promise<Chat & { readonly ids: readonly string[] }> {
  const chat = await openChat();
  const ids: string[] = [];
  for (const title of ["kiln", "glaze", "clay"]) {
    if (ids.length > 0) await chat.agent.newSession();
    await chat.agent.talk(`about ${title}`, "yes");
    await chat.agent.setTitle(title);
    ids.push(chat.agent.sessionId);
    await wait(2); // the list is ordered by time, which has a resolution of 1 ms
  }
  return Object.assign(chat, { ids });
}

describe("/new", () => {
  it("asks before it leaves a conversation, and says how to come back", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    const old = chat.agent.sessionId;
    const reply = await chat.expect("/new", "text");
    expect(chat.questions).toEqual(["Leave this conversation (2 messages) and start a new one?"]);
    expect(textOf(reply)).toContain(`/resume ${old}`);
    expect(reply.json).toMatchObject({ from: old, to: chat.agent.sessionId });
  });

  it("does nothing when the answer is no, or none", async () => {
    for (const answer of [false, new Error("aborted")]) {
      const chat = await openChat();
      await chat.agent.talk("one", "two");
      const before = chat.agent.sessionId;
      chat.answer = answer;
      const reply = await chat.expect("/new My talk", "text");
      expect(textOf(reply)).toContain("'/new My talk now'");
      expect(reply.json).toMatchObject({ kind: "not_confirmed" });
      expect(chat.agent.sessionId).toBe(before);
    }
  });

  it("does not ask where there is nothing to lose, or where config says so", async () => {
    const empty = await openChat();
    await empty.expect("/new", "text");
    const trusting = await openChat((config) => ({
      ...config,
      approvals: { destructiveSlashConfirm: false },
    }));
    await trusting.agent.talk("one", "two");
    await trusting.expect("/new", "text");
    expect([...empty.questions, ...trusting.questions]).toEqual([]);
  });
});

describe("/resume", () => {
  it("lists the latest sessions, the newest first, and marks this one", async () => {
    const chat = await threeSessions();
    const reply = await chat.expect("/resume", "text");
    const listed = reply.lines.filter((line) => /^ +\d/.test(line));
    expect(listed.map((line) => /kiln|glaze|clay/.exec(line)?.[0])).toEqual(["clay", "glaze", "kiln"]);
    expect(listed.map((line) => line.endsWith("(this one)"))).toEqual([true, false, false]);
    expect(listed[1]).toContain(chat.ids[1]);
  });

  it("lets a number alone choose, once", async () => {
    const chat = await threeSessions();
    await chat.expect("/resume", "text");
    const reply = await chat.expect("3", "text");
    expect(chat.agent.sessionId).toBe(chat.ids[0]);
    expect(textOf(reply)).toContain("'kiln', 2 messages");
    expect(await chat.type("2")).toBeUndefined();
  });

  it("says so when the number is not in the list; typed again it is a message", async () => {
    const chat = await threeSessions();
    await chat.expect("/resume", "text");
    expect(textOf(await chat.expect("7", "error"))).toContain("The list ends at 3");
    expect(await chat.type("7")).toBeUndefined();
    await chat.expect("/resume", "text");
    await chat.expect("0", "error");
  });

  it("does not let a number choose while a turn runs", async () => {
    const chat = await threeSessions();
    await chat.expect("/resume", "text");
    chat.agent.isRunning = true;
    expect((await chat.expect("3", "error")).json).toMatchObject({ kind: "busy" });
    expect(chat.agent.sessionId).toBe(chat.ids[2]);
  });

  it.each(["3", "[3]", "<3>"])("takes the number behind it: %s", async (number) => {
    const chat = await threeSessions();
    await chat.expect(`/resume ${number}`, "text");
    expect(chat.agent.sessionId).toBe(chat.ids[0]);
  });

  it("answers for the current session that it is the current one", async () => {
    const chat = await threeSessions();
    for (const target of ["clay", "1", chat.agent.sessionId])
      expect(textOf(await chat.expect(`/resume ${target}`, "text"))).toContain("already on that session");
  });

  it("works without a database as far as saying so", async () => {
    const chat = await openChat();
    chat.agent.store = undefined;
    for (const line of ["/resume", "/resume x", "/sessions", "/search x"])
      expect((await chat.expect(line, "error")).json).toMatchObject({ kind: "no_database" });
  });
});

describe("/sessions", () => {
  it("lists as many as are asked for and chooses nothing", async () => {
    const chat = await threeSessions();
    const reply = await chat.expect("/sessions 2", "text");
    expect((reply.json as { sessions: unknown[] }).sessions).toHaveLength(2);
    expect(await chat.type("2")).toBeUndefined();
    await chat.expect("/sessions many", "error");
  });
});

describe("/branch and /title", () => {
  it("shows, sets and clears the title", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    expect(textOf(await chat.expect("/title", "text"))).toContain("has no title");
    await chat.expect('/title "Kiln [2]"', "text");
    expect(await chat.store.getSessionTitle(chat.agent.sessionId)).toBe("Kiln [2]");
    expect((await chat.expect("/title", "text")).lines).toEqual(["Kiln [2]"]);
    await chat.expect("/title --clear", "text");
    expect(await chat.store.getSessionTitle(chat.agent.sessionId)).toBeNull();
    await chat.store.createSession("other", { source: "cli" });
    await chat.store.setSessionTitle("other", "taken");
    expect(textOf(await chat.expect("/title taken", "error"))).toContain("'taken'");
    expect(textOf(await chat.expect('/title ""', "error"))).toBe("Usage: /title [title | --clear]");
  });
});

describe("/search", () => {
  it("says above its hits when nothing clearly answers, and what was not searched", async () => {
    const chat = await threeSessions();
    const { store } = chat.agent;
    if (store === undefined) throw new Error("no store");
    chat.agent.store = {
      ...store,
      search: async (query, options) => ({
        ...(await store.search(query, options)),
        confidence: { score: 0.125, isWeak: true },
        notSearched: { messages: 1204, reason: "" },
      }),
    };
    const reply = await chat.expect("/search glaze", "text");
    expect(reply.lines[0]).toBe("Nothing that clearly answers this; nearest:");
    expect(textOf(reply)).toContain("1,204 messages are not indexed yet and were not searched.");
    expect(reply.json).toMatchObject({
      confidence: 0.13,
      is_weak: true,
      not_searched: { messages: 1204, message: expect.stringContaining("1,204") },
    });
    const empty = await chat.expect("/search zzz", "text");
    expect(empty.lines).toEqual([expect.stringContaining("No messages"), expect.stringContaining("1,204")]);
  });

  it("reports a database that fails, and the chat goes on", async () => {
    const chat = await openChat();
    await chat.store.close();
    await chat.expect("/search crane", "error");
    await chat.expect("/help", "text");
  });
});
