import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import {
  configOf,
  contents,
  DAY,
  expectCode,
  type Harness,
  HOUR,
  handMadeChain,
  idsOf,
  ManualClock,
  messageIds,
  NOW,
  nth,
  row,
  talk,
  UNREADABLE,
  withSessions,
} from "./support.ts";

// ---- Which session continues which: tips, roots, where to resume, and ids typed in part ----

export function lineageContract({ it, expect }: Suite, { open }: Harness): void {
  it("a conversation that was compacted more than a hundred times still has its tip, and is listed under it", async () => {
    await using store = await withSessions(open(), "0");
    await store.appendMessage("0", { role: "user", content: "hello" });
    for (let at = 1; at <= 130; at += 1)
      await store.continueSession(String(at - 1), {
        id: String(at),
        messages: [{ role: "user", content: "on" }],
      });
    expect(await store.getCompressionTip("0")).toBe("130");
    expect(await store.resolveResumeSessionId("3")).toBe("3");
    expect(await store.listLineage("130")).toHaveLength(131);
    const [listed, ...others] = await store.listSessionsRich({ orderByLastActive: true });
    expect(listed).toMatchObject({ id: "130", _lineage_root_id: "0" });
    expect(others).toEqual([]);
  });

  it("the tip of a chain is its last continuation, from wherever one asks", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b", "c"]);
    for (const id of ["a", "b", "c"]) {
      expect(await store.getCompressionTip(id)).toBe("c");
      expect(await store.getNewestSession(id)).toEqual(await store.getSession("c"));
    }
  });

  it("a child that started before its parent was compressed does not continue it", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "a");
    await store.createSession("early", { source: "cli", parentSessionId: "a" });
    clock.advance(HOUR);
    await store.endSession("a", "compression");
    expect(await store.getCompressionTip("a")).toBe("a");
  });

  it("the latest started of several continuations counts", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "a");
    await store.endSession("a", "compression");
    await store.createSession("late", { source: "cli", parentSessionId: "a", startedAt: NOW + 20 });
    await store.createSession("early", { source: "cli", parentSessionId: "a", startedAt: NOW + 10 });
    expect(await store.getCompressionTip("a")).toBe("late");
  });

  it.each(["_branched_from", "_delegate_from"])("a tip is never a child marked %s", async (marker) => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b"]);
    clock.advance(HOUR);
    await store.createSession("marked", {
      source: "cli",
      parentSessionId: "a",
      modelConfig: { [marker]: "a" },
    });
    expect(await store.getCompressionTip("a")).toBe("b");
  });

  it("a continuation stays one when its parent is reopened, and when it ends otherwise", async () => {
    await using store = await withSessions(open({ clock: new ManualClock() }), "a");
    await store.continueSession("a", { id: "b" });
    await store.reopenSession("a");
    expect(await store.getCompressionTip("a")).toBe("b");
    await store.endSession("a", "cli_close");
    expect(await store.getCompressionTip("a")).toBe("b");
    expect(await store.listSessionsRich()).toMatchObject([{ id: "b", _lineage_root_id: "a" }]);
  });

  it("a continuation stays one when the clock steps back before it starts", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "a");
    await store.continueSession("a", { id: "b" });
    clock.advance(-DAY);
    await store.continueSession("b", { id: "c" });
    expect(await store.getCompressionTip("a")).toBe("c");
    expect(await store.listSessionsRich()).toMatchObject([{ id: "c", _lineage_root_id: "a" }]);
  });

  it("a marker that names another session than the parent makes no continuation", async () => {
    await using store = await withSessions(open(), "a");
    await store.createSession("b", {
      source: "cli",
      parentSessionId: "a",
      modelConfig: { _compressed_from: "someone else" },
    });
    expect(await store.getCompressionTip("a")).toBe("a");
  });

  it("a lineage goes over every kind of parent, in both directions", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b"]);
    await store.createSession("fork", {
      source: "cli",
      parentSessionId: "b",
      modelConfig: { _branched_from: "b" },
    });
    await store.createSession("run", { source: "subagent", parentSessionId: "fork" });
    await store.createSession("other", { source: "cli" });
    for (const id of ["a", "b", "fork", "run"])
      expect((await store.listLineage(id)).sort()).toEqual(["a", "b", "fork", "run"]);
    expect(await store.listLineage("nope")).toEqual(["nope"]);
  });

  it("resuming an empty head leads to the first descendant with messages", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b", "c", "d"]);
    await talk(store, "c", ["hello"]);
    await talk(store, "d", ["later"]);
    expect(await store.resolveResumeSessionId("a")).toBe("c");
    expect(await store.resolveResumeSessionId("b")).toBe("c");
    expect(await store.resolveResumeSessionId("c")).toBe("c");
  });

  it("resuming a session with messages, without descendants, or unknown stays there", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b"]);
    await talk(store, "a", ["hello"]);
    await talk(store, "b", ["hello"]);
    expect(await store.resolveResumeSessionId("a")).toBe("a");
    await store.createSession("lonely", { source: "cli" });
    expect(await store.resolveResumeSessionId("lonely")).toBe("lonely");
    expect(await store.resolveResumeSessionId("nope")).toBe("nope");
    expect(await store.resolveResumeSessionId("")).toBe("");
    expect(await store.resolveResumeSessionId(null)).toBeNull();
    expect(await store.resolveResumeSessionId(undefined)).toBeUndefined();
  });

  it("an id resolves exactly, or by a beginning that only one has", async () => {
    await using store = await withSessions(
      open(),
      "20260101_aa",
      "20260101_ab",
      "20260102_aa",
      "20260102_aa_more",
    );
    expect(await store.resolveSessionId("20260101_aa")).toBe("20260101_aa");
    expect(await store.resolveSessionId("20260101_ab")).toBe("20260101_ab");
    expect(await store.resolveSessionId("20260102_aa")).toBe("20260102_aa");
    expect(await store.resolveSessionId("20260102_aa_")).toBe("20260102_aa_more");
    expect(await store.resolveSessionId("20260101")).toBeNull();
    expect(await store.resolveSessionId("nope")).toBeNull();
  });

  it("no text, and wildcards, resolve to nothing even when there is only one session", async () => {
    await using store = await withSessions(open(), "only_one");
    for (const text of ["", "%", "_nly", "only%", "o_ly"])
      expect(await store.resolveSessionId(text)).toBeNull();
    expect(await store.resolveSessionId("only_")).toBe("only_one");
  });
}

// ---- Continuing after a compaction, and branching: each in one transaction ----

const MADE_ID = /^\d{8}_\d{6}_[0-9a-f]{6}$/;

export function splittingContract({ it, expect }: Suite, { open }: Harness): void {
  it("what is carried over is replayed in the order it was given, and shown once with its ancestors", async () => {
    await using store = await withSessions(open(), "before");
    const talk = ["t1", "re t1", "t2", "re t2"].map((content, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content,
      timestamp: 1000 + at,
    }));
    await store.appendMany("before", talk);
    const tail = (await store.getMessages("before")).slice(-2);
    const { id } = await store.continueSession("before", {
      messages: [{ role: "user", content: "[summary]" }, ...tail],
    });
    const said = async (includeAncestors: boolean) =>
      (await store.getMessagesAsConversation(id, { includeAncestors })).map(({ content }) => content);
    expect(await said(false)).toEqual(["[summary]", "t2", "re t2"]);
    expect(await said(true)).toEqual(["t1", "re t1", "t2", "re t2", "[summary]"]);
  });

  it("a branch with its ancestors leaves out what its parent said later", async () => {
    await using store = await withSessions(open(), "trunk");
    const ids = await store.appendMany("trunk", [
      { content: "one" },
      { content: "two" },
      { content: "three" },
    ]);
    const { id } = await store.branchSession("trunk", { untilMessageId: ids[1] as number });
    await store.appendMessage("trunk", { content: "four" });
    await store.appendMessage(id, { content: "instead" });
    const whole = await store.getMessagesAsConversation(id, { includeAncestors: true });
    expect(whole.map(({ content }) => content)).toEqual(["one", "two", "instead"]);
  });

  it("continuing ends the parent and starts a child with its settings", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await parent(store);
    clock.advance(60);
    const next = await store.continueSession("p", { systemPrompt: "Shorter." });
    expect(next.id).toMatch(MADE_ID);
    expect(next).toEqual({ id: next.id, title: "Kiln #2", messageIds: [] });
    expect(await row(store, "p")).toMatchObject({
      ended_at: NOW + 60,
      end_reason: "compression",
      title: "Kiln",
      message_count: 4,
    });
    expect(await row(store, next.id)).toMatchObject({
      parent_session_id: "p",
      source: "telegram",
      model: "m1",
      user_id: "u1",
      cwd: "/a",
      title: "Kiln #2",
      system_prompt: "Shorter.",
      ended_at: null,
      message_count: 0,
      input_tokens: 0,
    });
    expect(await configOf(store, next.id)).toEqual({ temperature: 0.2, _compressed_from: "p" });
    expect(await store.getCompressionTip("p")).toBe(next.id);
  });

  it("messages copied by continuing say where they came from", async () => {
    await using store = await open();
    const ids = await parent(store);
    const messages = (await store.getMessages("p"))
      .slice(-2)
      .map((message) => ({ ...message, originId: message.id }));
    const next = await store.continueSession("p", { messages });
    const copies = await store.getMessages(next.id);
    expect(copies.map(({ origin_id }) => origin_id)).toEqual(ids.slice(-2));
    expect(copies.map(({ content }) => content)).toEqual(["three", "four"]);
    const further = await store.continueSession(next.id, {
      messages: copies.map((message) => ({ ...message, originId: message.id })),
    });
    expect((await store.getMessages(further.id)).map(({ origin_id }) => origin_id)).toEqual(ids.slice(-2));
  });

  it("the continuation of a branch continues it, and is no branch or delegate itself", async () => {
    await using store = await open();
    await parent(store);
    await store.branchSession("p", { id: "fork" });
    const next = await store.continueSession("fork");
    expect(Object.keys(await configOf(store, next.id))).not.toContain("_branched_from");
    expect(await configOf(store, next.id)).toMatchObject({ _compressed_from: "fork" });
    expect(await store.getCompressionTip("fork")).toBe(next.id);
    expect(idsOf(await store.listSessionsRich()).sort()).toEqual(["p", next.id].sort());
    const third = await store.continueSession(next.id);
    expect(await configOf(store, third.id)).toMatchObject({ _compressed_from: next.id });
    expect(await store.getCompressionTip("fork")).toBe(third.id);
  });

  it("a session is continued once; a second attempt is refused and changes nothing", async () => {
    await using store = await open();
    await parent(store);
    await store.continueSession("p", { id: "first" });
    await expectCode(store.continueSession("p", { id: "second" }), "already-continued");
    expect(await store.getSession("second")).toBeNull();
  });

  it("of two compressions at the same time, one continues", async () => {
    await using store = await open();
    await parent(store);
    const outcomes = await Promise.allSettled(
      ["x", "y", "z"].map((id) => store.continueSession("p", { id })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await store.sessionCount()).toBe(2);
  });

  it("continuing with a lock that was lost is refused and changes nothing", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await parent(store);
    await expectCode(store.continueSession("p", { id: "x", lockHolder: "h1" }), "lock-lost");
    await store.tryAcquireCompressionLock("p", "h1", { ttl: 300 });
    clock.advance(301);
    await store.tryAcquireCompressionLock("p", "h2", { ttl: 300 });
    await expectCode(store.continueSession("p", { id: "x", lockHolder: "h1" }), "lock-lost");
    expect(await store.getSession("x")).toBeNull();
    expect(await row(store, "p")).toMatchObject({ ended_at: null });
    expect(await store.continueSession("p", { id: "x", lockHolder: "h2" })).toMatchObject({ id: "x" });
  });

  it("continuing that fails leaves the parent live and no child behind", async () => {
    await using store = await open();
    await parent(store);
    const good = { role: "user", content: "[summary]" };
    await expect(store.continueSession("p", { id: "x", messages: [good, UNREADABLE] })).rejects.toThrow();
    await expect(store.continueSession("p", { id: "a/b" })).rejects.toMatchObject({ code: "bad-session-id" });
    await store.createSession("taken", { source: "cli" });
    await expect(store.continueSession("p", { id: "taken" })).rejects.toThrow();
    expect(await row(store, "p")).toMatchObject({ ended_at: null, end_reason: null });
    expect(idsOf(await store.searchSessions()).sort()).toEqual(["p", "taken"]);
    expect(await row(store, "taken")).toMatchObject({ parent_session_id: null, message_count: 0 });
    expect(await store.messageCount()).toBe(4);
  });

  it("an unknown session can be neither continued nor branched", async () => {
    await using store = await open();
    await expectCode(store.continueSession("nope"), "unknown-session");
    await expectCode(store.branchSession("nope"), "unknown-session");
    expect(await store.sessionCount()).toBe(0);
  });

  it("a branch copies the active messages, with their origins, and leaves the parent as it is", async () => {
    await using store = await open();
    const ids = await parent(store);
    await store.rewindToMessage("p", nth(ids, 2));
    const before = await store.exportSession("p", { includeInactive: true });
    const fork = await store.branchSession("p");
    expect(fork.id).toMatch(MADE_ID);
    expect(fork.title).toBe("Kiln #2");
    const copies = await store.getMessages(fork.id, { includeInactive: true });
    expect(messageIds(copies)).toEqual(fork.messageIds);
    expect(copies).toMatchObject([
      { content: "one", origin_id: nth(ids, 0), active: 1 },
      { content: [{ type: "text", text: "two" }], tool_calls: [{ id: "c1" }], origin_id: nth(ids, 1) },
    ]);
    expect(copies.map(({ timestamp }) => timestamp)).toEqual(
      before?.messages.slice(0, 2).map(({ timestamp }) => timestamp),
    );
    expect(await row(store, fork.id)).toMatchObject({
      parent_session_id: "p",
      source: "telegram",
      model: "m1",
      user_id: "u1",
      cwd: "/a",
      message_count: 2,
      tool_call_count: 1,
    });
    expect(await configOf(store, fork.id)).toEqual({ temperature: 0.2, _branched_from: "p" });
    expect(await store.exportSession("p", { includeInactive: true })).toEqual(before);
  });

  it("a branch takes the title it is given, or 'branch' when its parent has none", async () => {
    await using store = await withSessions(open(), "p");
    expect(await store.branchSession("p", { title: " My  fork " })).toMatchObject({ title: "My fork" });
    expect(await store.branchSession("p")).toMatchObject({ title: "branch" });
    expect(await store.branchSession("p")).toMatchObject({ title: "branch #2" });
  });

  it("branching ends the parent only on request, with the given reason", async () => {
    await using store = await open();
    await parent(store);
    await store.branchSession("p", { id: "one" });
    expect(await row(store, "p")).toMatchObject({ ended_at: null });
    await store.branchSession("p", { id: "two", endParent: "branched" });
    expect(await row(store, "p")).toMatchObject({ end_reason: "branched" });
    expect(idsOf(await store.listSessionsRich()).sort()).toEqual(["one", "p", "two"]);
  });

  it("branching that fails leaves the parent live and nothing behind", async () => {
    await using store = await open();
    await parent(store);
    await expectCode(
      store.branchSession("p", { id: "x", title: "Kiln", endParent: "branched" }),
      "title-taken",
    );
    await expectCode(
      store.branchSession("p", { id: "x", title: "t".repeat(101), endParent: "branched" }),
      "title-too-long",
    );
    await store.createSession("taken", { source: "cli" });
    await expect(store.branchSession("p", { id: "taken", endParent: "branched" })).rejects.toThrow();
    expect(await store.getSession("x")).toBeNull();
    expect(await row(store, "p")).toMatchObject({ ended_at: null, end_reason: null });
    expect(await contents(store, "taken")).toEqual([]);
    expect(await store.messageCount()).toBe(4);
  });

  it("a session that goes on elsewhere takes no more messages, and the error says where it goes on", async () => {
    await using store = await open();
    await parent(store);
    const before = await contents(store, "p");
    await store.continueSession("p", { id: "next" });
    const late = { role: "user", content: "late" };
    for (const append of [() => store.appendMessage("p", late), () => store.appendMany("p", [late])]) {
      const refused: unknown = await append().catch((cause: unknown) => cause);
      expect(refused).toMatchObject({ code: "session-closed" });
      expect((refused as Error).message).toContain("'next'");
    }
    expect(await contents(store, "p")).toEqual(before);
    await store.appendMessage("next", late);
    await store.reopenSession("p"); // on purpose, as before
    await store.appendMessage("p", late);
  });

  it("the continuation of a marked delegate stays hidden", async () => {
    await using store = await withSessions(open(), "p");
    await store.createSession("run", {
      source: "subagent",
      parentSessionId: "p",
      modelConfig: { _delegate_from: "p" },
    });
    await talk(store, "run", ["work"]);
    await store.continueSession("run", { id: "run2" });
    expect(idsOf(await store.listSessionsRich())).toEqual(["p"]);
    expect(await store.getCompressionTip("run")).toBe("run2");
  });
}

async function parent(store: SessionStore): Promise<number[]> {
  await store.createSession("p", {
    source: "telegram",
    model: "m1",
    modelConfig: { temperature: 0.2 },
    systemPrompt: "Long.",
    userId: "u1",
    cwd: "/a",
  });
  await store.setSessionTitle("p", "Kiln");
  await store.updateTokenCounts("p", { inputTokens: 100 });
  return store.appendMany("p", [
    { role: "user", content: "one" },
    { role: "assistant", content: [{ type: "text", text: "two" }], toolCalls: [{ id: "c1" }] },
    { role: "user", content: "three" },
    { role: "assistant", content: "four" },
  ]);
}
