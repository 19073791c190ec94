// Deleting and pruning: delegates go with whoever sent them, everything else stays and loses only its link.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { contents, DAY, type Harness, handMadeChain, idsOf, ManualClock, NOW, row, talk } from "./support.ts";

export function deletionContract({ it, expect }: Suite, { open }: Harness): void {
  it("deleting removes the row and its messages, and tells whether there was one", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await store.createSession("b", { source: "cli" });
    await talk(store, "a", ["one"]);
    await talk(store, "b", ["two"]);
    expect(await store.deleteSession("a")).toBe(true);
    expect(await store.deleteSession("a")).toBe(false);
    expect(await store.deleteSession("")).toBe(false);
    expect(await store.getSession("a")).toBeNull();
    expect(await store.messageCount()).toBe(1);
    expect(await contents(store, "b")).toEqual(["two"]);
  });

  it("the goal and the lock of a deleted session go with it", async () => {
    await using store = await open();
    for (const id of ["a", "b"]) {
      await store.createSession(id, { source: "cli" });
      await store.setMeta(`goal:${id}`, "{}");
      await store.tryAcquireCompressionLock(id, "h1");
    }
    await store.deleteSession("a");
    expect(await store.getMeta("goal:a")).toBeNull();
    expect(await store.getCompressionLockHolder("a")).toBeNull();
    expect(await store.getMeta("goal:b")).toBe("{}");
    expect(await store.getCompressionLockHolder("b")).toBe("h1");
  });

  it("delegates go along, however deep, by mark or by parent", async () => {
    await using store = await open();
    await family(store);
    expect(await store.deleteSession("p")).toBe(true);
    expect(idsOf(await store.searchSessions()).sort()).toEqual([
      "below",
      "fork",
      "next",
      "other",
      "untagged",
    ]);
    expect(await store.messageCount()).toBe(5);
  });

  it("branches, continuations and untagged children stay, without their link", async () => {
    await using store = await open();
    await family(store);
    await store.deleteSession("p");
    for (const id of ["fork", "next", "untagged", "below"]) {
      expect(await row(store, id)).toMatchObject({ parent_session_id: null, message_count: 1 });
      expect(await contents(store, id)).toEqual([`in ${id}`]);
    }
  });

  it("a delegate that was compacted goes with its continuations and their delegates", async () => {
    await using store = await open();
    await store.createSession("p", { source: "cli" });
    await store.createSession("run", {
      source: "subagent",
      parentSessionId: "p",
      modelConfig: { _delegate_from: "p" },
    });
    await store.continueSession("run", { id: "run 2" });
    await store.createSession("deep", { parentSessionId: "run 2", modelConfig: { _delegate_from: "run 2" } });
    await store.continueSession("p", { id: "p 2" });
    await store.deleteSession("p");
    expect(await store.listSessionIds()).toEqual(["p 2"]);
  });

  it("deleting many passes over what is unknown, repeated or no id, and does not count delegates", async () => {
    await using store = await open();
    await family(store);
    expect(await store.deleteSessions(["p", "p", "nope", null, 7, "", "other", undefined])).toBe(2);
    expect(idsOf(await store.searchSessions()).sort()).toEqual(["below", "fork", "next", "untagged"]);
    expect(await store.deleteSessions([])).toBe(0);
  });

  it("deleting hundreds counts a delegate that was asked for, wherever in the list it stands", async () => {
    await using store = await open();
    const ids = Array.from({ length: 120 }, (_, at) => `s${at}`);
    for (const id of ids) await store.createSession(id, { source: "cli" });
    await store.createSession("run", { source: "cli", modelConfig: { _delegate_from: "s0" } });
    await store.createSession("unasked", { source: "cli", modelConfig: { _delegate_from: "run" } });
    await store.createSession("other", { source: "cli" });
    expect(await store.deleteSessions([...ids, "run", "nope"])).toBe(121);
    expect(idsOf(await store.searchSessions())).toEqual(["other"]);
  });

  it("the files of hundreds go with them", async (test) => {
    await using store = await open();
    const dir = test.directory();
    const ids = Array.from({ length: 60 }, (_, at) => `20260101_000000_${at}`);
    for (const id of ids) {
      await store.createSession(id, { source: "cli" });
      writeFileSync(join(dir, `${id}.json`), "x");
      writeFileSync(join(dir, `request_dump_${id}_2026_a.json`), "x");
    }
    writeFileSync(join(dir, "request_dump_20260101_000000_.json"), "x");
    await store.deleteSessions(ids, { sessionsDir: dir });
    expect(readdirSync(dir)).toEqual(["request_dump_20260101_000000_.json"]);
  });

  it("a session is deleted as empty only without title, messages and children", async () => {
    await using store = await open();
    for (const id of ["empty", "titled", "talked", "rewound", "parent"]) {
      await store.createSession(id, { source: "cli" });
    }
    await store.createSession("child", { source: "cli", parentSessionId: "parent" });
    await store.setSessionTitle("titled", "Kept");
    await talk(store, "talked", ["hello"]);
    const [id] = await talk(store, "rewound", ["hello"]);
    await store.rewindToMessage("rewound", id ?? -1);
    for (const kept of ["titled", "talked", "rewound", "parent", "nope"]) {
      expect(await store.deleteSessionIfEmpty(kept)).toBe(false);
    }
    expect(await store.deleteSessionIfEmpty("empty")).toBe(true);
    expect(await store.sessionCount()).toBe(5);
  });

  it("empty sessions that ended are counted and deleted; live, archived and used ones stay", async () => {
    await using store = await open();
    for (const id of ["gone", "gone too", "live", "archived", "used"]) {
      await store.createSession(id, { source: "cli" });
      if (id !== "live") await store.endSession(id, "cli_close");
    }
    await store.createSession("child", { source: "cli", parentSessionId: "gone" });
    await store.setSessionArchived("archived", true);
    await talk(store, "used", ["hello"]);
    expect(await store.countEmptySessions()).toBe(2);
    expect(await store.deleteEmptySessions()).toBe(2);
    expect(await store.countEmptySessions()).toBe(0);
    expect(idsOf(await store.searchSessions()).sort()).toEqual(["archived", "child", "live", "used"]);
    expect(await row(store, "child")).toMatchObject({ parent_session_id: null });
  });

  it("a session with messages is not empty, whatever its counter says", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    await talk(store, "a", ["hello"]);
    await store.endSession("a", "cli_close");
    const exported = await store.exportSession("a");
    await using other = await open();
    await other.importSessions(exported === null ? [] : [{ ...exported, message_count: 0 }]);
    expect(await row(other, "a")).toMatchObject({ message_count: 0 });
    expect(await other.countEmptySessions()).toBe(0);
    expect(await other.deleteEmptySessions()).toBe(0);
    expect(await contents(other, "a")).toEqual(["hello"]);
  });

  it("pruning removes what ended and started long ago, archived or not, and nothing live", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await aged(store, { old: 100, archived: 100, recent: 10, edge: 89 });
    await store.createSession("live", { source: "cli", startedAt: NOW - 100 * DAY });
    await store.setSessionArchived("archived", true);
    await talk(store, "old", ["hello"]);
    expect(idsOf(await store.listPrunable()).sort()).toEqual(["archived", "old"]);
    expect(await store.pruneSessions()).toBe(2);
    expect(idsOf(await store.searchSessions()).sort()).toEqual(["edge", "live", "recent"]);
    expect(await store.messageCount()).toBe(0);
  });

  it("pruning keeps to a source", async () => {
    await using store = await open({ clock: new ManualClock() });
    await aged(store, { a: 100, b: 100 });
    await store.createSession("job", { source: "cron", startedAt: NOW - 100 * DAY });
    await store.endSession("job", "cron_complete");
    expect(idsOf(await store.listPrunable({ source: "cron" }))).toEqual(["job"]);
    expect(await store.pruneSessions({ source: "cron" })).toBe(1);
    expect(await store.sessionCount()).toBe(2);
  });

  it("pruning takes the days it is told", async () => {
    await using store = await open({ clock: new ManualClock() });
    await aged(store, { a: 10, b: 4 });
    expect(await store.pruneSessions({ olderThanDays: 20 })).toBe(0);
    expect(await store.pruneSessions({ olderThanDays: 5 })).toBe(1);
    expect(await store.getSession("b")).not.toBeNull();
  });

  it("pruning a whole old chain leaves nothing of it; newer children of what is pruned stay without link", async () => {
    const clock = new ManualClock(NOW - 100 * DAY);
    await using store = await open({ clock });
    await handMadeChain(store, clock, ["a", "b", "c"]);
    await store.endSession("c", "cli_close");
    clock.set(NOW);
    await store.createSession("fork", {
      source: "cli",
      parentSessionId: "b",
      modelConfig: { _branched_from: "b" },
    });
    expect(await store.pruneSessions()).toBe(3);
    expect(await store.searchSessions()).toMatchObject([{ id: "fork", parent_session_id: null }]);
  });

  it("pruning takes the delegates along, though they never ended", async () => {
    await using store = await open({ clock: new ManualClock() });
    await aged(store, { p: 100 });
    await store.createSession("run", {
      source: "subagent",
      parentSessionId: "p",
      modelConfig: { _delegate_from: "p" },
      startedAt: NOW - 99 * DAY,
    });
    await talk(store, "run", ["work"]);
    expect(await store.pruneSessions()).toBe(1);
    expect(await store.searchSessions()).toEqual([]);
    expect(await store.messageCount()).toBe(0);
  });

  it("the files of a deleted session go with it, and no others", async (test) => {
    await using store = await open();
    const dir = test.directory();
    for (const id of ["a", "a*", "ab", ".."]) await store.createSession(id, { source: "cli" });
    const mine = ["a*.json", "a*.jsonl", "request_dump_a*_1.json", "request_dump_a*_20260101.json"];
    const others = ["ab.json", "a.jsonl", "request_dump_ab_1.json", "request_dump_a_1.json", "a*.txt"];
    for (const name of [...mine, ...others]) writeFileSync(join(dir, name), "x");
    await store.deleteSession("a*", { sessionsDir: dir });
    expect(readdirSync(dir).sort()).toEqual([...others].sort());
    await store.deleteSession("nope", { sessionsDir: dir });
    await store.deleteSession("..", { sessionsDir: dir });
    expect(readdirSync(dir).sort()).toEqual([...others].sort());
    await store.deleteSessions(["ab"]);
    expect(existsSync(join(dir, "ab.json"))).toBe(true);
  });

  it("pruning removes the files of pruned sessions only", async (test) => {
    await using store = await open({ clock: new ManualClock() });
    const dir = test.directory();
    await aged(store, { old: 100, recent: 1 });
    for (const name of ["old.json", "old.jsonl", "request_dump_old_1.json", "recent.json"]) {
      writeFileSync(join(dir, name), "x");
    }
    await store.pruneSessions({ sessionsDir: dir });
    expect(readdirSync(dir)).toEqual(["recent.json"]);
  });

  it("a folder of files that does not exist stops no deletion", async (test) => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    expect(await store.deleteSession("a", { sessionsDir: join(test.directory(), "absent") })).toBe(true);
  });
}

/** `p` with every kind of child, one message in each. */
async function family(store: SessionStore): Promise<void> {
  const children: [string, string | null, Record<string, unknown>][] = [
    ["p", null, {}],
    ["run", "p", { _delegate_from: "p" }],
    ["run of run", "run", { _delegate_from: "run" }],
    ["marked only", null, { _delegate_from: "p" }],
    ["tagged child", "run", { _delegate_from: "__orphaned__" }],
    ["below", "run", {}],
    ["fork", "p", { _branched_from: "p" }],
    ["next", "p", { _compressed_from: "p" }],
    ["untagged", "p", {}],
    ["other", null, {}],
  ];
  for (const [id, parentSessionId, modelConfig] of children) {
    await store.createSession(id, { source: "cli", parentSessionId, modelConfig });
    await talk(store, id, [`in ${id}`]);
  }
}

/** Ended sessions that started so many days ago. */
async function aged(store: SessionStore, days: Record<string, number>): Promise<void> {
  for (const [id, age] of Object.entries(days)) {
    await store.createSession(id, { source: "cli", startedAt: NOW - age * DAY });
    await store.endSession(id, "cli_close");
  }
}
