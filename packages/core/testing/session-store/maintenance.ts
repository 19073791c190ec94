// Maintenance: what may be cleaned up automatically, when, and that it never affects what is kept.

import type { NewSession, SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { DAY, type Harness, HOUR, idsOf, ManualClock, NOW, row, talk, withSessions } from "./support.ts";

export function maintenanceContract({ it, expect }: Suite, { open }: Harness): void {
  it("ghosts of the terminal are pruned once: untitled, ended, a day old, without messages", async () => {
    await using store = await open({ clock: new ManualClock() });
    const ghost: NewSession = { source: "tui", startedAt: NOW - 2 * DAY };
    const others: Record<string, NewSession> = { live: ghost, titled: ghost, talked: ghost };
    others["not terminal"] = { ...ghost, source: "cli" };
    others.young = { ...ghost, startedAt: NOW - 23 * HOUR };
    for (const [id, options] of Object.entries({ ...others, ghost })) {
      await store.createSession(id, options);
      if (id !== "live") await store.endSession(id, "tui_close");
    }
    await store.setSessionTitle("titled", "Kept");
    await talk(store, "talked", ["hello"]);
    expect(await store.file!.pruneEmptyGhostSessions()).toBe(1);
    expect(await store.getSession("ghost")).toBeNull();
    expect(await store.sessionCount()).toBe(Object.keys(others).length);
    expect(await store.getMeta("ghost_session_prune_v1")).toBe("1");
    await store.createSession("ghost", ghost);
    await store.endSession("ghost", "tui_close");
    expect(await store.file!.pruneEmptyGhostSessions()).toBe(0);
  });

  it("continuations that were never used are ended", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await orphan(store, clock);
    expect(await store.file!.finalizeOrphanedCompressionSessions()).toBe(1);
    expect(await row(store, "child")).toMatchObject({
      end_reason: "orphaned_compression",
      ended_at: clock.seconds,
    });
    expect(await store.getMeta("orphaned_compression_finalize_v1")).toBe("1");
  });

  it.each<[string, (store: SessionStore, clock: ManualClock) => Promise<void>]>([
    ["that was used", (store) => store.updateTokenCounts("child", { apiCallCount: 1 })],
    ["that ended", (store) => store.endSession("child", "cli_close")],
    ["younger than a week", async (_store, clock) => clock.advance(-5 * DAY)],
    ["without messages", (store) => store.clearMessages("child")],
    [
      "whose parent ended otherwise",
      async (store) => {
        await store.reopenSession("parent");
        await store.endSession("parent", "cli_close");
      },
    ],
    ["whose parent is live", (store) => store.reopenSession("parent")],
    ["whose parent is gone", async (store) => void (await store.deleteSession("parent"))],
  ])("a continuation %s is left alone", async (_name, change) => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await orphan(store, clock);
    await change(store, clock);
    const before = await row(store, "child");
    expect(await store.file!.finalizeOrphanedCompressionSessions()).toBe(0);
    expect(await row(store, "child")).toEqual(before);
  });

  it("automatic pruning runs first, rests for its interval, then runs again", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await ended(store, "old", 100);
    expect(await store.file!.maybeAutoPruneAndVacuum()).toEqual({
      skipped: false,
      pruned: 1,
      vacuumed: true,
    });
    expect(Number(await store.getMeta("last_auto_prune"))).toBe(NOW);
    await ended(store, "old", 100);
    clock.advance(23 * HOUR);
    expect(await store.file!.maybeAutoPruneAndVacuum()).toEqual({
      skipped: true,
      pruned: 0,
      vacuumed: false,
    });
    expect(await store.getSession("old")).not.toBeNull();
    clock.advance(2 * HOUR);
    expect(await store.file!.maybeAutoPruneAndVacuum()).toMatchObject({ skipped: false, pruned: 1 });
    expect(Number(await store.getMeta("last_auto_prune"))).toBe(clock.seconds);
  });

  it("automatic pruning without anything to prune gives back no space, and rests all the same", async () => {
    await using store = await open({ clock: new ManualClock() });
    await ended(store, "recent", 10);
    expect(await store.file!.maybeAutoPruneAndVacuum()).toEqual({
      skipped: false,
      pruned: 0,
      vacuumed: false,
    });
    expect(await store.file!.maybeAutoPruneAndVacuum()).toMatchObject({ skipped: true });
  });

  it("automatic pruning follows its settings", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await ended(store, "a", 20);
    const options = { retentionDays: 5, minIntervalHours: 1, vacuum: false };
    expect(await store.file!.maybeAutoPruneAndVacuum(options)).toEqual({
      skipped: false,
      pruned: 1,
      vacuumed: false,
    });
    clock.advance(2 * HOUR);
    expect(await store.file!.maybeAutoPruneAndVacuum(options)).toMatchObject({ skipped: false });
  });

  it("a note of the last pruning that makes no sense counts as never", async () => {
    await using store = await open({ clock: new ManualClock() });
    await store.setMeta("last_auto_prune", "last tuesday");
    await ended(store, "old", 100);
    expect(await store.file!.maybeAutoPruneAndVacuum()).toMatchObject({ skipped: false, pruned: 1 });
    expect(Number(await store.getMeta("last_auto_prune"))).toBe(NOW);
  });

  it("automatic pruning reports a failure instead of failing", async () => {
    const store = await open();
    await store.close();
    const { pruned, error } = await store.file!.maybeAutoPruneAndVacuum();
    expect(pruned).toBe(0);
    expect(typeof error).toBe("string");
  });

  it("a store is healthy after work of every kind", async () => {
    await using store = await withSessions(open(), "a");
    const [id] = await talk(store, "a", ["one\u0000", "two"]);
    await store.rewindToMessage("a", id ?? -1);
    await store.restoreRewound("a", 0);
    await store.branchSession("a", { id: "fork" });
    await store.continueSession("a", { messages: [{ role: "user", content: [{ text: "三" }] }] });
    await store.replaceMessages("fork", [{ role: "user", content: "new" }]);
    await store.deleteSession("a");
    expect(await store.file!.checkHealth()).toMatchObject({ ok: true, problems: [] });
  });

  it("statistics count sessions, archived ones apart, messages and every source", async () => {
    await using store = await open();
    for (const [id, source] of Object.entries({ a: "cli", b: "cli", c: "matrix", d: "cli" })) {
      await store.createSession(id, { source });
    }
    await talk(store, "a", ["one", "two"]);
    await store.setSessionArchived("d", true);
    const stats = await store.stats();
    expect(stats).toMatchObject({ sessions: 3, archived: 1, messages: 2 });
    expect(stats.bytes).toBeGreaterThan(0);
    const sources = Object.fromEntries(stats.sources.map(({ source, sessions }) => [source, sessions]));
    expect(sources.matrix).toBe(1);
    expect(Object.keys(sources).sort()).toEqual(["cli", "matrix"]);
  });

  it("short untitled sessions with tools are hidden on request, titled, long, talking and parental ones not", async () => {
    await using store = await open();
    for (const id of ["run", "titled", "long", "talk", "parent", "fork", "continued"]) {
      const marks = { fork: { _branched_from: "gone" }, continued: { _compressed_from: "gone" } };
      const modelConfig = Object.entries(marks).find(([name]) => name === id)?.[1] ?? { temperature: 1 };
      await store.createSession(id, { source: "cli", modelConfig });
      await talk(store, id, id === "long" ? Array.from({ length: 26 }, (_, index) => `${index}`) : ["do it"]);
      if (id !== "talk")
        await store.appendMessage(id, { role: "tool", content: "done", toolName: "terminal" });
    }
    await store.createSession("child", { source: "cli", parentSessionId: "parent" });
    await store.setSessionTitle("titled", "Kept");
    expect(await store.file!.hideOrphanedDelegates()).toBe(1);
    expect(idsOf(await store.listSessionsRich()).sort()).toEqual([
      "continued",
      "fork",
      "long",
      "parent",
      "talk",
      "titled",
    ]);
    const config = JSON.parse((await row(store, "run")).model_config ?? "{}") as unknown;
    expect(config).toEqual({ temperature: 1, _delegate_from: "__orphaned__" });
    expect(await store.file!.hideOrphanedDelegates()).toBe(0);
  });
}

/** `child` continued `parent` eight days ago, got messages, and was never used. */
async function orphan(store: SessionStore, clock: ManualClock): Promise<void> {
  clock.set(NOW - 8 * DAY);
  await store.createSession("parent", { source: "cli" });
  await store.endSession("parent", "compression");
  await store.createSession("child", { source: "cli", parentSessionId: "parent" });
  await talk(store, "child", ["[summary]"]);
  clock.set(NOW);
}

async function ended(store: SessionStore, id: string, days: number): Promise<void> {
  await store.createSession(id, { source: "cli", startedAt: NOW - days * DAY });
  await store.endSession(id, "cli_close");
}
