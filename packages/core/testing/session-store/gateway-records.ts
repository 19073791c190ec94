// What a gateway keeps about sessions: live conversations, marks, recall traces, hidden tool rounds.

import type { GatewayRecords, LiveSession } from "../../src/sessions/gateway-records.ts";
import { personKey, WITHOUT_USER } from "../../src/sessions/identity.ts";
import type { SessionStore } from "../../src/sessions/store.ts";
import type { NewRecallTrace, TurnRecords } from "../../src/sessions/turn-records.ts";
import type { Suite } from "../runner.ts";
import { DAY, expectCode, type Harness, ManualClock, NOW } from "./support.ts";

export function liveOf(session_id: string, more: Partial<LiveSession> = {}): LiveSession {
  return {
    key: "agent:main",
    session_id,
    source: "api",
    started_at: NOW,
    last_active_at: NOW,
    last_prompt_tokens: 0,
    finalized_at: null,
    reset_reason: null,
    ...more,
  };
}

export function traceOf(session_id: string, more: Partial<NewRecallTrace> = {}): NewRecallTrace {
  return {
    session_id,
    mark: "prefix:1",
    query: "Where is the key?",
    injected: "",
    found: "[]",
    duration_ms: 1.5,
    mode: "proxy",
    ...more,
  };
}

/** Sessions of the person the store is for. */
async function sessions(store: SessionStore, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) await store.createSession(id, { source: "cli" });
}

export function liveSessionsContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("gives back what was saved, and the newest record of a key replaces the one before", async () => {
    await using store = await open();
    await sessions(store, "a", "b");
    const first = liveOf("a", { last_prompt_tokens: 12 });
    await store.gateway.saveLiveSession(first);
    expect(await store.gateway.getLiveSession("agent:main")).toEqual(first);
    const next = liveOf("b", { last_active_at: NOW + 1, finalized_at: NOW + 2, reset_reason: "idle" });
    await store.gateway.saveLiveSession(next);
    expect(await store.gateway.getLiveSession("agent:main")).toEqual(next);
    expect(await store.gateway.listLiveSessions()).toEqual([next]);
    expect(await store.gateway.getLiveSession("other")).toBeNull();
    if (reopen === undefined) return;
    await using again = await reopen(store);
    expect(await again.gateway.getLiveSession("agent:main")).toEqual(next);
  });

  it("lists the longest inactive first, by time and by whether it is finalized", async () => {
    await using store = await open();
    await sessions(store, "a", "b", "c");
    await store.gateway.saveLiveSession(liveOf("a", { key: "1", last_active_at: NOW + 3 }));
    await store.gateway.saveLiveSession(
      liveOf("b", { key: "2", last_active_at: NOW + 1, finalized_at: NOW }),
    );
    await store.gateway.saveLiveSession(liveOf("c", { key: "3", last_active_at: NOW + 2 }));
    const keys = async (options?: Parameters<GatewayRecords["listLiveSessions"]>[0]) =>
      (await store.gateway.listLiveSessions(options)).map(({ key }) => key);
    expect(await keys()).toEqual(["2", "3", "1"]);
    expect(await keys({ isFinalized: false })).toEqual(["3", "1"]);
    expect(await keys({ isFinalized: true })).toEqual(["2"]);
    expect(await keys({ activeBefore: NOW + 3 })).toEqual(["2", "3"]);
    expect(await keys({ activeBefore: NOW + 3, isFinalized: false, limit: 5 })).toEqual(["3"]);
    expect(await keys({ limit: 1 })).toEqual(["2"]);
  });

  it("is removed by its key, and with its session", async () => {
    await using store = await open();
    await sessions(store, "a", "b");
    await store.gateway.saveLiveSession(liveOf("a", { key: "1" }));
    await store.gateway.saveLiveSession(liveOf("b", { key: "2" }));
    expect(await store.gateway.deleteLiveSession("1")).toBe(true);
    expect(await store.gateway.deleteLiveSession("1")).toBe(false);
    expect(await store.getSession("a")).not.toBeNull();
    await store.deleteSession("b");
    expect(await store.gateway.listLiveSessions()).toEqual([]);
  });

  it("needs a session", async () => {
    await using store = await open();
    await expectCode(store.gateway.saveLiveSession(liveOf("nowhere")), "unknown-session");
  });

  it("two persons may use the same key, and each has their own record", async () => {
    await using store = await open();
    for (const userId of ["ann", "ben"]) await store.createSession(userId, { source: "web", userId });
    await store.createSession("telegram", { source: "telegram", userId: "ann" });
    await store.createSession("owner", { source: "cli" });
    for (const id of ["ann", "ben", "telegram", "owner"]) await store.gateway.saveLiveSession(liveOf(id));
    expect(await store.gateway.listLiveSessions()).toHaveLength(4);
    const ann = store.forUser({ userId: "ann", platform: "web" });
    const ben = store.forUser({ userId: "ben", platform: "web" });
    expect(await ann.gateway.getLiveSession("agent:main")).toMatchObject({ session_id: "ann" });
    expect(await ben.gateway.getLiveSession("agent:main")).toMatchObject({
      session_id: "ben",
    });
    expect(await store.forUser(WITHOUT_USER).gateway.getLiveSession("agent:main")).toMatchObject({
      session_id: "owner",
    });
    expect(await ann.gateway.deleteLiveSession("agent:main")).toBe(true);
    expect((await store.gateway.listLiveSessions()).map(({ session_id }) => session_id).sort()).toEqual([
      "ben",
      "owner",
      "telegram",
    ]);
  });
}

export function asksContract({ it, expect }: Suite, { open }: Harness): void {
  it("keeps the newest ask of a session, with the message that was stored with it", async () => {
    await using store = await open();
    await sessions(store, "a");
    expect(await store.gateway.getAsk("a")).toBeNull();
    const said = [{ role: "user", content: "one" }];
    const [first] = await store.appendMany("a", said, { ask: { token: "1", request: "r" } });
    expect(await store.gateway.getAsk("a")).toEqual({
      token: "1",
      request: "r",
      row_id: first,
      delivered: false,
    });
    await store.gateway.saveDelivered("a", "1");
    expect(await store.gateway.getAsk("a")).toMatchObject({ token: "1", delivered: true });
    await store.appendMany("a", [], { ask: { token: "2", request: "r", rowId: first } });
    await store.gateway.saveDelivered("a", "1");
    expect(await store.gateway.getAsk("a")).toEqual({
      token: "2",
      request: "r",
      row_id: first,
      delivered: false,
    });
    await store.gateway.saveAsk("a", { token: "3", request: "s" });
    expect(await store.gateway.getAsk("a")).toEqual({
      token: "3",
      request: "s",
      row_id: null,
      delivered: false,
    });
  });

  it("is not changed by a write that fails, and goes with its session", async () => {
    await using store = await open();
    await sessions(store, "a");
    await store.gateway.saveAsk("a", { token: "1", request: "r" });
    const ask = { token: "2", request: "s" };
    await expectCode(store.appendMany("a", [], { ask, ifLast: 99 }), "session-changed");
    expect(await store.gateway.getAsk("a")).toMatchObject({ token: "1" });
    await store.deleteSession("a");
    expect(await store.gateway.getAsk("a")).toBeNull();
    await expectCode(store.gateway.saveAsk("a", ask), "unknown-session");
  });
}

export function marksContract({ it, expect }: Suite, { open }: Harness): void {
  it("a session is found by its marks, the first known one of the list", async () => {
    await using store = await open();
    await sessions(store, "a");
    await store.gateway.saveMarks("a", ["prefix:1", "response:1"]);
    await store.gateway.saveMarks("a", ["prefix:2"]);
    expect(await store.gateway.findMark(["prefix:3", "prefix:2", "prefix:1"])).toEqual({
      mark: "prefix:2",
      session_id: "a",
      is_newest: true,
    });
    for (const mark of ["prefix:1", "response:1"])
      expect(await store.gateway.findMark([mark])).toEqual({ mark, session_id: "a", is_newest: false });
    expect(await store.gateway.findMark(["prefix:3"])).toBeNull();
    expect(await store.gateway.findMark([])).toBeNull();
  });

  it("of two sessions with a mark, the one that has not gone on wins, then the most recent", async () => {
    await using store = await open();
    await sessions(store, "first", "second", "third");
    await store.gateway.saveMarks("first", ["prefix:1"]);
    await store.gateway.saveMarks("second", ["prefix:1"]);
    expect(await store.gateway.findMark(["prefix:1"])).toMatchObject({
      session_id: "second",
      is_newest: true,
    });
    await store.gateway.saveMarks("second", ["prefix:2"]);
    expect(await store.gateway.findMark(["prefix:1"])).toMatchObject({
      session_id: "first",
      is_newest: true,
    });
    await store.gateway.saveMarks("first", ["prefix:3"]);
    expect(await store.gateway.findMark(["prefix:1"])).toMatchObject({
      session_id: "second",
      is_newest: false,
    });
    await store.gateway.saveMarks("third", ["prefix:1"]);
    await store.deleteSession("third");
    expect(await store.gateway.findMark(["prefix:1"])).toMatchObject({ session_id: "second" });
  });

  it("a mark that is saved again is the newest again", async () => {
    await using store = await open();
    await sessions(store, "a");
    await store.gateway.saveMarks("a", ["prefix:1"]);
    await store.gateway.saveMarks("a", ["prefix:2"]);
    await store.gateway.saveMarks("a", ["prefix:1", "prefix:1"]);
    expect(await store.gateway.findMark(["prefix:1"])).toMatchObject({ is_newest: true });
    expect(await store.gateway.findMark(["prefix:2"])).toMatchObject({ is_newest: false });
    await store.gateway.saveMarks("a", []);
    expect(await store.gateway.findMark(["prefix:1"])).toMatchObject({ is_newest: true });
  });

  it("marks need a session, and a session that is made again has none", async () => {
    await using store = await open();
    await expectCode(store.gateway.saveMarks("nowhere", ["prefix:1"]), "unknown-session");
    await sessions(store, "a");
    await store.gateway.saveMarks("a", ["prefix:1"]);
    await store.deleteSessions(["a"]);
    await sessions(store, "a");
    expect(await store.gateway.findMark(["prefix:1"])).toBeNull();
  });
}

export function turnsContract({ it, expect }: Suite, { open }: Harness): void {
  it("gives back what a turn used with what it recalled, the newest first, by session, time and page", async () => {
    await using store = await open({ clock: new ManualClock() });
    await sessions(store, "a", "b");
    const recall = await store.turns.addRecall(traceOf("a", { injected: "<memory>", mode: "agent" }));
    const used = {
      ...{ input_tokens: 90, output_tokens: 7, cache_read_tokens: 60, cache_write_tokens: 20 },
      ...{ reasoning_tokens: 3, calls: 2, cost: 0.01, model: "m" },
    };
    const turn = { session_id: "a", at: NOW, duration_ms: 1500.5, mode: "agent" } as const;
    await store.turns.addTurn({ ...turn, ...used, recall });
    await store.turns.addTurn({ ...turn, session_id: "b", at: NOW + 60, mode: "proxy" });
    const [second, first] = await store.turns.listTurns();
    const found = { id: recall, at: NOW, injected: "<memory>" };
    expect(first).toMatchObject({ ...turn, ...used, recall: found });
    expect(second).toMatchObject({ session_id: "b", calls: 0, input_tokens: 0, cost: null, recall: null });
    const list = async (options: Parameters<TurnRecords["listTurns"]>[0]) =>
      (await store.turns.listTurns(options)).map(({ session_id }) => session_id);
    expect(await list({ sessionId: "a" })).toEqual(["a"]);
    expect(await list({ since: NOW + 60 })).toEqual(["b"]);
    expect(await list({ limit: 1, offset: 1 })).toEqual(["a"]);
    await expectCode(store.turns.addTurn({ ...turn, session_id: "nowhere" }), "unknown-session");
  });

  it("keeps a turn when its recall is forgotten, goes with its session, and is pruned by age", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await sessions(store, "a", "b");
    const recall = await store.turns.addRecall(traceOf("a", { injected: "the brass key" }));
    for (const session_id of ["a", "b"])
      await store.turns.addTurn({ session_id, at: NOW, duration_ms: 1, mode: "agent", recall });
    await store.turns.forgetRecalls("the brass key");
    expect((await store.turns.listTurns()).map((turn) => turn.recall)).toEqual([null, null]);
    await store.deleteSession("b");
    expect(await store.turns.listTurns()).toHaveLength(1);
    clock.advance(31 * DAY);
    expect(await store.pruneTurns(30)).toBe(1);
  });
}

export function recallsContract({ it, expect }: Suite, { open }: Harness): void {
  it("gives back what was added, the newest first, by session, time and page", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await sessions(store, "a", "b");
    const found = JSON.stringify([{ source: "chats", chars: 9, outcome: "injected" }]);
    const first = await store.turns.addRecall(traceOf("a", { injected: "<memory>", found }));
    clock.advance(60);
    const second = await store.turns.addRecall(traceOf("b", { mark: null, mode: "agent" }));
    const third = await store.turns.addRecall(traceOf("a", { at: NOW + 90, mode: "library" }));
    const all = await store.turns.listRecalls();
    expect(all.map(({ id }) => id)).toEqual([third, second, first]);
    expect(all.at(-1)).toEqual({ ...traceOf("a", { injected: "<memory>", found }), id: first, at: NOW });
    expect(all[1]).toMatchObject({ session_id: "b", mark: null, mode: "agent", at: NOW + 60 });
    const ids = async (options: Parameters<TurnRecords["listRecalls"]>[0]) =>
      (await store.turns.listRecalls(options)).map(({ id }) => id);
    expect(await ids({ sessionId: "a" })).toEqual([third, first]);
    expect(await ids({ since: NOW + 60 })).toEqual([third, second]);
    expect(await ids({ limit: 1, offset: 1 })).toEqual([second]);
    await expectCode(store.turns.addRecall(traceOf("nowhere")), "unknown-session");
  });

  it("the newest text of each mark is found, also when it is empty", async () => {
    await using store = await open();
    await sessions(store, "a", "b");
    await store.turns.addRecall(traceOf("a", { mark: "prefix:1", injected: "old" }));
    await store.turns.addRecall(traceOf("a", { mark: "prefix:1", injected: "new" }));
    await store.turns.addRecall(traceOf("a", { mark: "prefix:2" }));
    await store.turns.addRecall(traceOf("b", { mark: "prefix:3", injected: "of b" }));
    expect(await store.turns.findRecalls("a", ["prefix:2", "prefix:3", "prefix:1"])).toEqual([
      { mark: "prefix:2", injected: "" },
      { mark: "prefix:1", injected: "new" },
    ]);
  });

  it("go with their session", async () => {
    await using store = await open();
    await sessions(store, "a");
    await store.turns.addRecall(traceOf("a"));
    await store.deleteSession("a");
    expect(await store.turns.listRecalls()).toEqual([]);
  });

  it("old ones are pruned", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await sessions(store, "a");
    await store.turns.addRecall(traceOf("a"));
    clock.advance(20 * DAY);
    await store.turns.addRecall(traceOf("a"));
    expect(await store.pruneTurns(30)).toBe(0);
    clock.advance(11 * DAY);
    expect(await store.pruneTurns(30)).toBe(1);
    expect(await store.pruneTurns(Number.NaN)).toBe(0);
    expect(await store.turns.listRecalls()).toHaveLength(1);
    expect(await store.pruneTurns(-1)).toBe(1);
  });

  it("those that hold a text are forgotten, however it is cut and spaced", async () => {
    await using store = await open();
    await sessions(store, "a");
    const long = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
    const kept = await store.turns.addRecall(
      traceOf("a", { injected: "- 2026-01-01, user: the lamp is blue" }),
    );
    for (const more of [
      { query: 'Who has the "brass key"?' },
      { injected: 'The "brass\n  key" is with Bo' },
      { found: JSON.stringify([{ ref: 'the "brass key"' }]) },
      { injected: `...${long.slice(130, 330)}...` },
    ])
      await store.turns.addRecall(traceOf("a", more));
    expect(await store.turns.forgetRecalls('"brass key"', { dryRun: true })).toEqual({
      traces: 3,
      remaining: [],
    });
    expect(await store.turns.listRecalls()).toHaveLength(5);
    expect(await store.turns.forgetRecalls('"brass   key"')).toMatchObject({ traces: 3 });
    expect(await store.turns.forgetRecalls(long)).toMatchObject({ traces: 1 });
    expect((await store.turns.listRecalls()).map(({ id }) => id)).toEqual([kept]);
    for (const nothing of ["", "  ", "unknown", "THE LAMP"])
      expect(await store.turns.forgetRecalls(nothing)).toEqual({ traces: 0, remaining: [] });
  });
}

export function roundsContract({ it, expect }: Suite, { open }: Harness): void {
  it("are found by mark and wire, the newest of each", async () => {
    await using store = await open();
    await sessions(store, "a", "b");
    const round = { session_id: "a", mark: "prefix:1", wire: "chat", items: "[1]" };
    await store.gateway.saveRound(round);
    await store.gateway.saveRound({ ...round, items: "[2]" });
    await store.gateway.saveRound({ ...round, wire: "messages", items: "[3]" });
    await store.gateway.saveRound({ ...round, mark: "prefix:2", items: "[4]" });
    await store.gateway.saveRound({ ...round, session_id: "b", mark: "prefix:3", items: "[5]" });
    expect(await store.gateway.findRounds("a", () => ["prefix:3", "prefix:2", "prefix:1"], "chat")).toEqual([
      { mark: "prefix:2", items: "[4]" },
      { mark: "prefix:1", items: "[2]" },
    ]);
    expect(await store.gateway.findRounds("a", () => ["prefix:1"], "messages")).toEqual([
      { mark: "prefix:1", items: "[3]" },
    ]);
    const uncalled = () => {
      throw new Error("Without rounds no marks are needed.");
    };
    expect(await store.gateway.findRounds("a", uncalled, "responses")).toEqual([]);
    await store.deleteSession("a");
    expect(await store.gateway.findRounds("a", () => ["prefix:1"], "chat")).toEqual([]);
    await expectCode(store.gateway.saveRound(round), "unknown-session");
  });
}

export function spendContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  const row = (key: string, day = "2026-01-31") => ({ day, kind: "token", key });

  it("adds up over a day until an amount is reached, for each key by itself", async () => {
    await using store = await open();
    const most = { requests: 3, tokens: 100, cost: 1 };
    for (const _ of [1, 2]) expect(await store.addSpend(row("a"), { requests: 1 }, most)).toBeUndefined();
    await store.addSpend(row("a"), { tokens: 99, cost: 0.5 });
    expect(await store.addSpend(row("a"), { requests: 1 }, most)).toBeUndefined();
    expect(await store.addSpend(row("a"), { requests: 1 }, most)).toBe("requests");
    await store.addSpend(row("a"), { tokens: 1 });
    expect(await store.addSpend(row("a"), {}, { tokens: 100 })).toBe("tokens");
    await store.addSpend(row("a"), { cost: 0.5 });
    expect(await store.addSpend(row("a"), {}, { cost: 1 })).toBe("cost");
    expect(await store.addSpend(row("b"), { requests: 1 }, most)).toBeUndefined();
    if (reopen !== undefined) {
      await using again = await reopen(store);
      expect(await again.addSpend(row("a"), { requests: 1 }, most)).toBe("requests");
    }
    expect(await store.addSpend(row("a", "2026-02-01"), { requests: 1 }, most)).toBeUndefined();
  });

  it("counts the members of a group, who stay over the days and may come again", async () => {
    await using store = await open();
    const join = (key: string) => store.addSpend({ kind: "users:1", key }, {}, { members: 2 });
    expect([await join("a"), await join("b"), await join("c")]).toEqual([undefined, undefined, "members"]);
    await store.addSpend(row("a"), { requests: 1 });
    expect([await join("a"), await join("c")]).toEqual([undefined, "members"]);
    expect(await store.addSpend({ kind: "users:2", key: "c" }, {}, { members: 2 })).toBeUndefined();
  });

  it("what a user used is erased with the user, and not with a namesake", async () => {
    await using store = await open();
    const most = { requests: 1 };
    const add = (platform: string) => store.addSpend(row(personKey(platform, "ana")), { requests: 1 }, most);
    for (const platform of ["web", "telegram"]) expect(await add(platform)).toBeUndefined();
    await store.forUser({ userId: "ana", platform: "web" }).eraseSessions();
    expect([await add("web"), await add("telegram")]).toEqual([undefined, "requests"]);
  });
}
