// An exported session can be imported elsewhere and is the same there.

import type { ExportedSession } from "../../src/sessions/rows.ts";
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import {
  exportAll,
  type Harness,
  HOUR,
  idsOf,
  ManualClock,
  messageIds,
  NOW,
  nth,
  row,
  talk,
  withSessions,
} from "./support.ts";

export function exportImportContract({ it, expect }: Suite, { open }: Harness): void {
  it("with extend, a session that grew elsewhere gets its new messages, once", async () => {
    const clock = new ManualClock();
    await using source = await open({ clock });
    await using target = await open({ clock });
    const all = { includeInactive: true };
    const sync = async () => target.importSessions(written(await exportAll(source, all)), { extend: true });
    await source.createSession("talk", { source: "cli", userId: "u1" });
    const [, second] = await source.appendMany("talk", [
      { role: "user", content: "one" },
      { role: "user", content: "two" },
    ]);
    expect(await sync()).toMatchObject({ imported: 1, messages: 2, skipped: [] });
    expect(await sync()).toMatchObject({
      imported: 0,
      skipped: [],
      extended: { sessions: 0, messages: 0, unchanged: 1 },
    });
    await source.rewindToMessage("talk", second ?? 0);
    await source.appendMany("talk", [
      { role: "user", content: "three" },
      { role: "assistant", content: "four" },
    ]);
    await source.setSessionTitle("talk", "Kiln");
    await source.endSession("talk", "cli_close");
    expect(await sync()).toMatchObject({
      imported: 0,
      skipped: [],
      extended: { sessions: 1, messages: 2, unchanged: 0 },
    });
    expect(await exportAll(target, all)).toEqual(await exportAll(source, all));
    expect(await sync()).toMatchObject({ extended: { sessions: 0, unchanged: 1 } });
    expect(await target.searchMessages("four")).toHaveLength(1);
  });

  it("with extend, a session that was continued here is left alone and reported when it grew elsewhere", async () => {
    await using source = await open();
    await using target = await open();
    const sync = async () =>
      target.importSessions(written(await exportAll(source, { includeInactive: true })), { extend: true });
    await source.createSession("talk", { source: "cli" });
    await source.appendMessage("talk", { role: "user", content: "one" });
    await sync();
    await target.appendMessage("talk", { role: "user", content: "here" });
    expect(await sync()).toMatchObject({ skipped: [], extended: { sessions: 0, unchanged: 1 } });
    await source.appendMessage("talk", { role: "user", content: "there" });
    const { skipped } = await sync();
    expect(skipped).toMatchObject([{ id: "talk" }]);
    const contents = (await target.getMessages("talk")).map(({ content }) => content);
    expect(contents).toEqual(["one", "here"]);
  });

  it("an export holds the session's columns and its active messages, all of them on request", async () => {
    await using store = await withSessions(open(), "s1");
    const ids = await talk(store, "s1", ["one", "two", "three"]);
    await store.rewindToMessage("s1", nth(ids, 2));
    expect(await store.exportSession("s1")).toEqual({
      ...(await row(store, "s1")),
      messages: await store.getMessages("s1"),
    });
    const whole = await store.exportSession("s1", { includeInactive: true });
    expect(whole?.messages).toEqual(await store.getMessages("s1", { includeInactive: true }));
    expect(await store.exportSession("nope")).toBeNull();
  });

  it("all sessions are exported in the order of their last activity, or those of one source", async () => {
    await using store = await open();
    for (const [index, id] of ["a", "b", "c"].entries()) {
      await store.createSession(id, { source: id === "b" ? "cron" : "cli", startedAt: NOW + index });
    }
    await store.appendMessage("a", { role: "user", content: "latest", timestamp: NOW + HOUR });
    const all = await exportAll(store);
    expect(all.map(({ id, last_active, messages }) => [id, last_active, messages.length])).toEqual([
      ["a", NOW + HOUR, 1],
      ["c", NOW + 2, 0],
      ["b", NOW + 1, 0],
    ]);
    expect(idsOf(await exportAll(store, { source: "cron" }))).toEqual(["b"]);
    const [first] = await exportAll(store, { includeInactive: true });
    expect(first?.messages[0]?.content).toBe("latest");
  });

  it("an import into an empty store gives equal exports", async () => {
    await using store = await open();
    await rich(store);
    const all = await exportAll(store, { includeInactive: true });
    await using other = await open();
    expect(await other.importSessions(written(all))).toEqual({
      imported: all.length,
      messages: all.flatMap(({ messages }) => messages).length,
      skipped: [],
      renamed: [],
    });
    expect(await exportAll(other, { includeInactive: true })).toEqual(all);
    expect(await exportAll(other)).toEqual(await exportAll(store));
    expect(await other.listSessionsRich({ orderByLastActive: true })).toEqual(
      await store.listSessionsRich({ orderByLastActive: true }),
    );
  });

  it("lineage holds in whatever order the sessions come, and from an asynchronous source", async () => {
    await using store = await open();
    await rich(store);
    const all = await exportAll(store, { includeInactive: true });
    for (const order of [all, [...all].reverse()]) {
      await using other = await open();
      await other.importSessions(later(order));
      for (const { id } of all) {
        expect(await other.getCompressionTip(id)).toBe(await store.getCompressionTip(id));
        expect((await other.listLineage(id)).sort()).toEqual((await store.listLineage(id)).sort());
      }
    }
  });

  it("a session that exists is left alone, and the rest still comes", async () => {
    await using store = await withSessions(open(), "a");
    await talk(store, "a", ["imported"]);
    await store.createSession("b", { source: "cli" });
    const all = await exportAll(store);
    await using other = await open();
    await other.createSession("a", { source: "tui" });
    const outcome = await other.importSessions(all);
    expect(outcome).toMatchObject({ imported: 1, messages: 0, skipped: [{ id: "a" }] });
    expect(nth(outcome.skipped, 0).reason).not.toBe("");
    expect(await row(other, "a")).toMatchObject({ source: "tui", message_count: 0 });
    expect(await other.getSession("b")).not.toBeNull();
  });

  it("messages whose ids are taken get new ones, and copies still name their origins", async () => {
    await using store = await withSessions(open(), "root");
    await talk(store, "root", ["one", "two"]);
    await store.branchSession("root", { id: "fork" });
    const all = await exportAll(store);
    await using other = await withSessions(open(), "busy");
    await talk(other, "busy", ["x", "y", "z"]);
    expect(await other.importSessions(all)).toMatchObject({ imported: 2, messages: 4 });
    const originals = messageIds(await other.getMessages("root"));
    expect((await other.getMessages("fork")).map(({ origin_id }) => origin_id)).toEqual(originals);
    expect((await other.getMessages("busy")).map(({ content }) => content)).toEqual(["x", "y", "z"]);
    const conversation = await other.getMessagesAsConversation("fork", { includeAncestors: true });
    expect(conversation.map(({ content }) => content)).toEqual(["one", "two"]);
  });

  it("a title that is taken gets a number, and the outcome says so", async () => {
    await using store = await withSessions(open(), "a");
    await store.setSessionTitle("a", "Kiln");
    const all = await exportAll(store);
    await using other = await withSessions(open(), "z");
    await other.setSessionTitle("z", "Kiln");
    expect(await other.importSessions(all)).toMatchObject({
      imported: 1,
      renamed: [{ id: "a", title: "Kiln #2" }],
    });
    expect(await other.getSessionTitle("a")).toBe("Kiln #2");
    expect(await other.getSessionTitle("z")).toBe("Kiln");
  });

  it("a session whose parent is not there comes without the link", async () => {
    await using store = await open();
    await rich(store);
    const child = await store.exportSession("next");
    await using other = await open();
    await other.importSessions(child === null ? [] : [child]);
    expect(await row(other, "next")).toMatchObject({ parent_session_id: null, message_count: 1 });
  });

  it("invalid sessions are skipped, and the others are imported", async () => {
    await using store = await withSessions(open(), "a");
    const good = nth(await exportAll(store), 0);
    const odd = [
      null,
      "text",
      7,
      {},
      { ...good, id: "b", messages: [null] },
      { ...good, id: "c", messages: [[]] },
    ] as unknown as ExportedSession[];
    await using other = await open();
    const outcome = await other.importSessions([...odd, good]);
    expect(outcome.imported).toBe(1);
    expect(outcome.skipped).toHaveLength(odd.length);
    const reasons = outcome.skipped.map(({ id, reason }) => [id, reason]);
    expect(reasons).toContainEqual(["(without id)", "it has no list of messages"]);
    expect(idsOf(await other.searchSessions())).toEqual(["a"]);
  });

  it("a copy that comes before its original still names it", async () => {
    await using store = await withSessions(open(), "root");
    await talk(store, "root", ["one", "two"]);
    await store.branchSession("root", { id: "fork" });
    const all = await exportAll(store);
    for (const ids of [
      ["root", "fork"],
      ["fork", "root"],
    ]) {
      await using other = await withSessions(open(), "busy");
      await talk(other, "busy", ["x", "y", "z"]);
      await other.importSessions(ids.flatMap((id) => all.filter((each) => each.id === id)));
      const originals = messageIds(await other.getMessages("root"));
      expect((await other.getMessages("fork")).map(({ origin_id }) => origin_id)).toEqual(originals);
    }
  });

  it.each([2 ** 48, Number.MAX_SAFE_INTEGER])(
    "a message id of %d is not kept, so that later messages stay readable",
    async (id) => {
      await using store = await open();
      const message = { id, role: "user", content: "far out", timestamp: NOW };
      const sent = { id: "a", source: "cli", started_at: NOW, messages: [message] } as unknown;
      expect(await store.importSessions([sent as ExportedSession])).toMatchObject({ imported: 1 });
      const next = await store.appendMessage("a", { role: "user", content: "next" });
      const rows = await store.getMessages("a");
      expect(rows.map(({ content }) => content)).toEqual(["far out", "next"]);
      expect(nth(rows, 1).id).toBe(next);
      expect(next).toBeLessThan(2 ** 48);
    },
  );

  it("counters beyond what can be read are the highest that can", async () => {
    await using store = await withSessions(open(), "a");
    const good = nth(await exportAll(store), 0);
    await using other = await open();
    await other.importSessions([{ ...good, input_tokens: 1e18, output_tokens: -1e300, api_call_count: 3 }]);
    expect(await row(other, "a")).toMatchObject({
      input_tokens: Number.MAX_SAFE_INTEGER,
      output_tokens: -Number.MAX_SAFE_INTEGER,
      api_call_count: 3,
    });
  });

  it("counters that the file does not have are counted, and what it has is kept", async () => {
    await using store = await withSessions(open(), "a");
    await talk(store, "a", ["one", "two"]);
    await store.appendMessage("a", { role: "assistant", content: "", toolCalls: [{ id: "1" }, { id: "2" }] });
    await store.endSession("a", "cli_close");
    const { message_count: _m, tool_call_count: _t, ...bare } = nth(await exportAll(store), 0);
    await using other = await open();
    await other.importSessions([
      bare as unknown as ExportedSession,
      { ...bare, id: "b", message_count: 9, tool_call_count: 8 },
    ]);
    expect(await row(other, "a")).toMatchObject({ message_count: 3, tool_call_count: 2 });
    expect(await row(other, "b")).toMatchObject({ message_count: 9, tool_call_count: 8 });
    expect(await other.deleteEmptySessions()).toBe(0);
  });

  it.each([0, 1, 2, 3, 4])(
    "an import that ends after %d sessions loses no link once the rest has come",
    async (early) => {
      await using store = await open();
      await rich(store);
      const all = await exportAll(store, { includeInactive: true });
      for (const order of [all, [...all].reverse()]) {
        await using other = await open();
        // Their ids are taken here, so every imported message gets a new id.
        await other.createSession("busy", { source: "cli" });
        await talk(other, "busy", Array(30).fill("x"));
        await expect(other.importSessions(failing(order.slice(0, early)))).rejects.toThrow("torn off");
        await other.importSessions(order);
        for (const { id, parent_session_id } of all)
          expect(await row(other, id)).toMatchObject({ parent_session_id });
        const originals = messageIds(await other.getMessages("root"));
        expect((await other.getMessages("fork")).map(({ origin_id }) => origin_id)).toEqual(originals);
      }
    },
  );

  it("a title that is too long is cut, and the outcome says so", async () => {
    await using store = await withSessions(open(), "a");
    const good = nth(await exportAll(store), 0);
    await using other = await open();
    const title = `${"kiln ".repeat(40)}end`;
    const cut = title.slice(0, 99);
    expect(await other.importSessions([{ ...good, title }])).toMatchObject({
      imported: 1,
      skipped: [],
      renamed: [{ id: "a", title: cut }],
    });
    expect(await other.getSessionTitle("a")).toBe(cut);
    expect(await other.importSessions([{ ...good, id: "b", title }])).toMatchObject({ imported: 1 });
    expect(await other.getSessionTitle("b")).toMatch(/^kiln .* #2$/);
  });

  /** A lineage of four with copies, rewound rows, structured content and titles, and one separate session. */
  async function rich(store: SessionStore): Promise<void> {
    const clock = new ManualClock();
    await store.createSession("root", {
      source: "telegram",
      userId: "u1",
      cwd: "/a",
      model: "m",
      modelConfig: { temperature: 0.5 },
      startedAt: clock.seconds,
    });
    await store.setSessionTitle("root", "Kiln");
    await store.updateTokenCounts("root", { inputTokens: 5, estimatedCostUsd: 0.25, billingProvider: "p" });
    const ids = await store.appendMany("root", [
      { role: "user", content: [{ type: "text", text: "看" }], platformMessageId: "pm", observed: true },
      {
        role: "assistant",
        content: "a\u0000b",
        toolCalls: [{ id: "c" }],
        reasoningDetails: [{ x: 1 }],
        tokenCount: 3,
      },
      { role: "tool", content: "", toolCallId: "c", toolName: "terminal", timestamp: NOW - 5.125 },
      { role: "user", content: "wrong way" },
    ]);
    await store.rewindToMessage("root", nth(ids, 3));
    await store.branchSession("root", { id: "fork" });
    await store.continueSession("root", { id: "next", messages: [{ role: "user", content: "[summary]" }] });
    await store.createSession("run", {
      source: "subagent",
      parentSessionId: "next",
      modelConfig: { _delegate_from: "next" },
    });
    await store.createSession("apart", { source: "cli" });
    await store.endSession("apart", "cli_close");
    await store.setSessionArchived("apart", true);
  }
}

/** As read from a file. */
function written<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

async function* failing(sessions: readonly ExportedSession[]): AsyncGenerator<ExportedSession> {
  yield* sessions;
  throw new Error("torn off");
}

async function* later(sessions: readonly ExportedSession[]): AsyncGenerator<ExportedSession> {
  for (const session of sessions) yield await Promise.resolve(session);
}
