// Who continues whom: tips, roots, where to resume, and ids typed in part.

import type { ExportedSession } from "../../src/sessions/rows.ts";
import type { Suite } from "../runner.ts";
import { DAY, type Harness, HOUR, handMadeChain, ManualClock, NOW, nth, talk } from "./support.ts";

export function lineageContract({ it, expect }: Suite, { open }: Harness): void {
  it("a conversation that was compacted more than a hundred times still has its tip, and is listed under it", async () => {
    await using store = await open();
    await store.createSession("0", { source: "cli" });
    await store.appendMessage("0", { role: "user", content: "hello" });
    for (let at = 1; at <= 130; at += 1)
      await store.continueSession(String(at - 1), {
        id: String(at),
        messages: [{ role: "user", content: "on" }],
      });
    expect(await store.getCompressionTip("0")).toBe("130");
    expect(await store.resolveResumeSessionId("3")).toBe("3");
    expect(await store.getLineageRoot("130")).toBe("0");
    const [listed, ...others] = await store.listSessionsRich({ orderByLastActive: true });
    expect(listed).toMatchObject({ id: "130", _lineage_root_id: "0" });
    expect(others).toEqual([]);
  });

  it("the tip of a chain is its last continuation, from wherever one asks", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b", "c"]);
    for (const id of ["a", "b", "c"]) expect(await store.getCompressionTip(id)).toBe("c");
  });

  it("a session without a continuation, or unknown, is its own tip", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await store.createSession("child", { source: "cli", parentSessionId: "a" });
    expect(await store.getCompressionTip("a")).toBe("a");
    expect(await store.getCompressionTip("nope")).toBe("nope");
  });

  it("a child that started before its parent was compressed does not continue it", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("a", { source: "cli" });
    await store.createSession("early", { source: "cli", parentSessionId: "a" });
    clock.advance(HOUR);
    await store.endSession("a", "compression");
    expect(await store.getCompressionTip("a")).toBe("a");
  });

  it("the latest started of several continuations counts", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("a", { source: "cli" });
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
    await using store = await open({ clock: new ManualClock() });
    await store.createSession("a", { source: "cli" });
    await store.continueSession("a", { id: "b" });
    await store.reopenSession("a");
    expect(await store.getCompressionTip("a")).toBe("b");
    await store.endSession("a", "cli_close");
    expect(await store.getCompressionTip("a")).toBe("b");
    expect(await store.listSessionsRich()).toMatchObject([{ id: "b", _lineage_root_id: "a" }]);
  });

  it("a continuation stays one when the clock steps back before it starts", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("a", { source: "cli" });
    await store.continueSession("a", { id: "b" });
    clock.advance(-DAY);
    await store.continueSession("b", { id: "c" });
    expect(await store.getCompressionTip("a")).toBe("c");
    expect(await store.listSessionsRich()).toMatchObject([{ id: "c", _lineage_root_id: "a" }]);
  });

  it("a marker that names another session than the parent makes no continuation", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await store.createSession("b", {
      source: "cli",
      parentSessionId: "a",
      modelConfig: { _compressed_from: "someone else" },
    });
    expect(await store.getCompressionTip("a")).toBe("a");
  });

  it("the root is found over every kind of parent", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b"]);
    await store.createSession("fork", {
      source: "cli",
      parentSessionId: "b",
      modelConfig: { _branched_from: "b" },
    });
    await store.createSession("run", { source: "subagent", parentSessionId: "fork" });
    for (const id of ["a", "b", "fork", "run"]) expect(await store.getLineageRoot(id)).toBe("a");
    expect(await store.getLineageRoot("nope")).toBe("nope");
  });

  it("parents in a circle end every walk", async () => {
    await using store = await open();
    const circle = ["a", "b", "c"].map((id, index, all) => exported(id, nth(all, (index + 1) % all.length)));
    await store.importSessions(circle);
    for (const id of ["a", "b", "c"]) {
      expect(["a", "b", "c"]).toContain(await store.getCompressionTip(id));
      expect(["a", "b", "c"]).toContain(await store.getLineageRoot(id));
      expect(["a", "b", "c"]).toContain(await store.resolveResumeSessionId(id));
      await store.getMessagesAsConversation(id, { includeAncestors: true });
      await store.setSessionArchived(id, true);
      await store.setSessionArchived(id, false);
    }
    await store.listSessionsRich({ orderByLastActive: true, idQuery: "a" });
    expect(await store.sessionCount()).toBe(3);
    expect(await store.deleteSessions(["a", "b", "c"])).toBe(3);
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

  it("resuming at a fork takes the newest child", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    for (const [id, startedAt] of [
      ["x", NOW + 2],
      ["y1", NOW + 3],
      ["y2", NOW + 3],
      ["z", NOW + 1],
    ] as const) {
      await store.createSession(id, { source: "cli", parentSessionId: "a", startedAt });
      await talk(store, id, [`in ${id}`]);
    }
    expect(await store.resolveResumeSessionId("a")).toBe("y2");
  });

  it("an id resolves exactly, or by a beginning that only one has", async () => {
    await using store = await open();
    for (const id of ["20260101_aa", "20260101_ab", "20260102_aa", "20260102_aa_more"]) {
      await store.createSession(id, { source: "cli" });
    }
    expect(await store.resolveSessionId("20260101_aa")).toBe("20260101_aa");
    expect(await store.resolveSessionId("20260101_ab")).toBe("20260101_ab");
    expect(await store.resolveSessionId("20260102_aa")).toBe("20260102_aa");
    expect(await store.resolveSessionId("20260102_aa_")).toBe("20260102_aa_more");
    expect(await store.resolveSessionId("20260101")).toBeNull();
    expect(await store.resolveSessionId("nope")).toBeNull();
  });

  it("no text, and wildcards, resolve to nothing even when there is only one session", async () => {
    await using store = await open();
    await store.createSession("only_one", { source: "cli" });
    for (const text of ["", "%", "_nly", "only%", "o_ly"])
      expect(await store.resolveSessionId(text)).toBeNull();
    expect(await store.resolveSessionId("only_")).toBe("only_one");
  });

  it("a configuration that is no JSON breaks no reading and no writing", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["bad", "next"]);
    await store.createSession("child", { source: "cli", parentSessionId: "next" });
    await talk(store, "next", ["hello"]);
    for (const id of ["bad", "next", "child"]) await store.updateSessionMeta(id, '{"broken": ');
    expect(await store.getSession("bad")).toMatchObject({ model_config: '{"broken": ' });
    expect(await store.getCompressionTip("bad")).toBe("next");
    expect(await store.listSessionsRich()).toMatchObject([{ id: "next" }]);
    expect(await store.listSessionsRich({ orderByLastActive: true, idQuery: "bad" })).toHaveLength(1);
    expect(await store.sessionCount({ excludeChildren: true })).toBe(1);
    expect(await store.searchSessionsById("next")).toHaveLength(1);
    expect(await store.hideOrphanedDelegates()).toBe(0);
    expect(await store.setSessionArchived("bad", true)).toBe(true);
    expect(await store.branchSession("next", { id: "fork" })).toMatchObject({ id: "fork" });
    expect(await store.continueSession("next", { id: "third" })).toMatchObject({ id: "third" });
    expect(await store.getCompressionTip("bad")).toBe("third");
    await store.endSession("third", "cli_close");
    expect(await store.exportAll()).toHaveLength(5);
    expect(await store.deleteSession("bad")).toBe(true);
    clock.advance(100 * DAY);
    expect(await store.pruneSessions()).toBe(2);
    expect(await store.deleteSessions(["child", "fork"])).toBe(2);
  });
}

function exported(id: string, parent: string): ExportedSession {
  return {
    id,
    source: "cli",
    user_id: null,
    model: null,
    model_config: null,
    system_prompt: null,
    parent_session_id: parent,
    started_at: NOW,
    ended_at: NOW,
    end_reason: "compression",
    message_count: 0,
    tool_call_count: 0,
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    cwd: null,
    billing_provider: null,
    billing_base_url: null,
    billing_mode: null,
    estimated_cost_usd: null,
    actual_cost_usd: null,
    cost_status: null,
    cost_source: null,
    pricing_version: null,
    title: null,
    api_call_count: 0,
    handoff_state: null,
    handoff_platform: null,
    handoff_error: null,
    rewind_count: 0,
    archived: 0,
    messages: [],
  };
}
