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

  it.each(["/new now", "/reset --yes", "/new -y", "/clear now"])("%s does not ask", async (line) => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    const before = chat.agent.sessionId;
    await chat.expect(line, "text");
    expect(chat.questions).toEqual([]);
    expect(chat.agent.sessionId).not.toBe(before);
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

  it("takes a title, also one in quotes that ends with such a word", async () => {
    const chat = await openChat();
    expect((await chat.expect("/reset Kiln notes", "text")).json).toMatchObject({ title: "Kiln notes" });
    expect((await chat.expect('/new "do it now"', "text")).json).toMatchObject({ title: "do it now" });
    expect(textOf(await chat.expect("/new taken", "text"))).toContain("The title could not be used");
  });

  it("clears the screen only as /clear, and only when it was done", async () => {
    const chat = await openChat();
    expect(await chat.expect("/new", "text")).toHaveProperty("clearScreen", false);
    expect(await chat.expect("/clear", "text")).toHaveProperty("clearScreen", true);
    await chat.agent.talk("one", "two");
    chat.answer = false;
    expect(await chat.expect("/clear", "text")).not.toHaveProperty("clearScreen");
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

  it("forgets the list when anything else is typed first", async () => {
    const chat = await threeSessions();
    for (const line of ["hello", "/status", "/sessions"]) {
      await chat.expect("/resume", "text");
      await chat.type(line);
      expect(await chat.type("2")).toBeUndefined();
    }
    expect(chat.agent.sessionId).toBe(chat.ids[2]);
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

  it("counts in the list that was shown, not in the one it has become", async () => {
    const chat = await threeSessions();
    await chat.expect("/sessions", "text");
    await chat.store.appendMessage(chat.ids[0] ?? "", { role: "user", content: "later" });
    await chat.expect("/resume 2", "text");
    expect(chat.agent.sessionId).toBe(chat.ids[1]);
  });

  it.each(["kiln", '"kiln"', "[kiln]", "<'kiln'>"])("takes a title: %s", async (title) => {
    const chat = await threeSessions();
    await chat.expect(`/resume ${title}`, "text");
    expect(chat.agent.sessionId).toBe(chat.ids[0]);
  });

  it("takes a title that has brackets of its own", async () => {
    const chat = await threeSessions();
    await chat.store.setSessionTitle(chat.ids[0] ?? "", "[draft]");
    await chat.expect("/resume [draft]", "text");
    expect(chat.agent.sessionId).toBe(chat.ids[0]);
  });

  it("takes an id", async () => {
    const chat = await threeSessions();
    await chat.expect(`/resume ${chat.ids[1]}`, "text");
    expect(chat.agent.sessionId).toBe(chat.ids[1]);
  });

  it("answers for the current session that it is the current one", async () => {
    const chat = await threeSessions();
    for (const target of ["clay", "1", chat.agent.sessionId])
      expect(textOf(await chat.expect(`/resume ${target}`, "text"))).toContain("already on that session");
  });

  it("says how to find a session that is not there", async () => {
    const chat = await threeSessions();
    const reply = await chat.expect("/resume nothing like it", "error");
    expect(textOf(reply)).toMatch(/No session is called 'nothing like it'.*\/sessions/s);
  });

  it("shows a user nobody else's sessions", async () => {
    const chat = await threeSessions();
    await chat.agent.newSession();
    chat.agent.userId = "ada";
    await chat.agent.talk("mine", "yes");
    const reply = await chat.expect("/resume", "text");
    expect(reply.json).toMatchObject({ sessions: [{ id: chat.agent.sessionId, is_current: true }] });
    expect((reply.json as { sessions: unknown[] }).sessions).toHaveLength(1);
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

  it("has nothing to list at first", async () => {
    expect((await (await openChat()).expect("/sessions", "text")).lines).toEqual(["No sessions yet."]);
  });
});

describe("/branch and /title", () => {
  it("branches with a name, and says where the original is", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    const from = chat.agent.sessionId;
    const reply = await chat.expect("/fork other way", "text");
    expect(reply.json).toMatchObject({ from, to: chat.agent.sessionId, title: "other way", messages: 2 });
    expect(textOf(reply)).toContain(`/resume ${from}`);
  });

  it("passes on why it cannot branch", async () => {
    expect(textOf(await (await openChat()).expect("/branch", "error"))).toBe(
      "There is nothing to branch from.",
    );
  });

  it("shows, sets and clears the title", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    expect(textOf(await chat.expect("/title", "text"))).toContain("has no title");
    await chat.expect('/title "Kiln [2]"', "text");
    expect(await chat.store.getSessionTitle(chat.agent.sessionId)).toBe("Kiln [2]");
    expect((await chat.expect("/title", "text")).lines).toEqual(["Kiln [2]"]);
    await chat.expect("/title --clear", "text");
    expect(await chat.store.getSessionTitle(chat.agent.sessionId)).toBeNull();
    expect(textOf(await chat.expect("/title taken", "error"))).toBe("That title is taken.");
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

  it("folds the output of an earlier search into one line", async () => {
    const chat = await threeSessions();
    await chat.agent.store?.appendMessage(chat.agent.sessionId, {
      role: "tool",
      toolName: "session_search",
      content: JSON.stringify({ query: "oven", results: [{ snippet: "a zanzibar oven" }] }),
    });
    const reply = await chat.expect("/search zanzibar", "text");
    expect(textOf(reply)).toContain('an earlier session_search for "oven"');
    expect(JSON.stringify(reply.json)).not.toContain("a zanzibar oven");
  });

  it("finds messages with their session, the place, and how to open it", async () => {
    const chat = await openChat();
    await chat.agent.talk("the harbour crane is blue", "noted");
    await chat.agent.setTitle("harbour");
    const old = chat.agent.sessionId;
    await chat.agent.newSession();
    await chat.agent.talk("and the crane of the yard?", "unknown");
    const text = textOf(await chat.expect("/search crane", "text"));
    expect(text).toMatch(
      new RegExp(`harbour  ${old}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  user\\n {2}.*>>>crane<<<`),
    );
    expect(text).toMatch(new RegExp(`${chat.agent.sessionId} .* user  \\(this one\\)`));
    expect(text).toContain("'/resume <id>'");
  });

  it("says so when there are more, and when there is nothing", async () => {
    const chat = await openChat();
    await chat.agent.talk(...Array.from({ length: 9 }, (_, index) => `crane number ${index}`));
    const many = await chat.expect("/search crane", "text");
    expect((many.json as { hits: unknown[] }).hits).toHaveLength(6);
    expect(textOf(many)).toContain("There are more");
    expect(textOf(await chat.expect("/search zeppelin", "text"))).toContain("No messages found.");
    await chat.expect("/search", "error");
  });

  it("finds nothing of another user", async () => {
    const chat = await openChat();
    await chat.agent.talk("the harbour crane is blue", "noted");
    chat.agent.userId = "ada";
    expect((await chat.expect("/search crane", "text")).json).toMatchObject({ hits: [] });
  });

  it("reports a database that fails, and the chat goes on", async () => {
    const chat = await openChat();
    await chat.store.close();
    await chat.expect("/search crane", "error");
    await chat.expect("/help", "text");
  });
});
