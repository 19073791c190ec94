// Which process may work on a session: locks and leases.
import type { Suite } from "../runner.ts";
import { DAY, expectCode, type Harness, ManualClock, row, withSessions } from "./support.ts";

// ---- The lock that keeps two compactions of one session apart ----

export function locksContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("is held by one until released, and may be taken again by its holder", async () => {
    await using store = await open();
    expect(await store.tryAcquireCompressionLock("s1", "h1")).toBe(true);
    expect(await store.tryAcquireCompressionLock("s1", "h2")).toBe(false);
    expect(await store.tryAcquireCompressionLock("s1", "h1", { ttl: 300 })).toBe(true);
    expect(await store.getCompressionLockHolder("s1")).toBe("h1");
    await store.releaseCompressionLock("s1", "h1");
    await store.releaseCompressionLock("s1", "h1");
    expect(await store.getCompressionLockHolder("s1")).toBeNull();
    expect(await store.tryAcquireCompressionLock("s1", "h2")).toBe(true);
  });

  it("is not released by another", async () => {
    await using store = await open();
    await store.tryAcquireCompressionLock("s1", "h1");
    await store.releaseCompressionLock("s1", "h2");
    expect(await store.getCompressionLockHolder("s1")).toBe("h1");
  });

  it("is one per session, known or not", async () => {
    await using store = await withSessions(open(), "s1");
    expect(await store.tryAcquireCompressionLock("s1", "h1")).toBe(true);
    expect(await store.tryAcquireCompressionLock("unknown", "h2")).toBe(true);
    expect(await store.getCompressionLockHolder("s1")).toBe("h1");
    expect(await store.getCompressionLockHolder("unknown")).toBe("h2");
    expect(await store.getCompressionLockHolder("other")).toBeNull();
  });

  it("lasts five minutes by default, and can then be taken over", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.tryAcquireCompressionLock("s1", "h1");
    clock.advance(299);
    expect(await store.tryAcquireCompressionLock("s1", "h2")).toBe(false);
    clock.advance(2);
    expect(await store.getCompressionLockHolder("s1")).toBeNull();
    expect(await store.tryAcquireCompressionLock("s1", "h2", { ttl: 10 })).toBe(true);
    clock.advance(11);
    expect(await store.tryAcquireCompressionLock("s1", "h3")).toBe(true);
  });

  it("can be prolonged while it is held, and not after it was lost", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.tryAcquireCompressionLock("s1", "h1", { ttl: 100 });
    clock.advance(90);
    expect(await store.renewCompressionLock("s1", "h1", { ttl: 100 })).toBe(true);
    clock.advance(90);
    expect(await store.getCompressionLockHolder("s1")).toBe("h1");
    expect(await store.renewCompressionLock("s1", "h2", { ttl: 100 })).toBe(false);
    clock.advance(20);
    expect(await store.renewCompressionLock("s1", "h1", { ttl: 100 })).toBe(false);
    expect(await store.tryAcquireCompressionLock("s1", "h2")).toBe(true);
    expect(await store.renewCompressionLock("s1", "h1")).toBe(false);
    expect(await store.getCompressionLockHolder("s1")).toBe("h2");
    expect(await store.renewCompressionLock("never held", "h1")).toBe(false);
  });

  it("does not exist for the empty id", async () => {
    await using store = await open();
    expect(await store.tryAcquireCompressionLock("", "h1")).toBe(false);
    expect(await store.getCompressionLockHolder("")).toBeNull();
  });

  it.skipIf(!reopen)("has one winner among handles of their own", async () => {
    await using store = await open();
    if (!reopen) return;
    const handles = await Promise.all(Array.from({ length: 4 }, () => reopen(store)));
    const won = await Promise.all(
      handles.map((handle, index) => handle.tryAcquireCompressionLock("s1", `holder ${index}`)),
    );
    for (const handle of handles) await handle.close();
    expect(won.filter(Boolean)).toHaveLength(1);
  });
}

// ---- The lease that keeps two processes from working on one session at the same time ----

const TAKEN = { acquired: true };

export function leasesContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("has one holder until released; another process learns who holds it, and since when", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    const since = clock.seconds;
    expect(await store.acquireSessionLease("s1", "h1")).toEqual(TAKEN);
    clock.advance(5);
    const held = { holder: "h1", acquired_at: since, expires_at: since + 60 };
    expect(await store.acquireSessionLease("s1", "h2")).toEqual({ acquired: false, ...held });
    expect(await store.getSessionLease("s1")).toEqual(held);
    await store.releaseSessionLease("s1", "h1");
    await store.releaseSessionLease("s1", "h1");
    expect(await store.getSessionLease("s1")).toBeNull();
    expect(await store.acquireSessionLease("s1", "h2")).toEqual(TAKEN);
  });

  it("is prolonged when its holder takes it again, and is still held since the first time", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    const since = clock.seconds;
    await store.acquireSessionLease("s1", "h1");
    clock.advance(50);
    expect(await store.acquireSessionLease("s1", "h1", { ttl: 100 })).toEqual(TAKEN);
    expect(await store.getSessionLease("s1")).toEqual({
      holder: "h1",
      acquired_at: since,
      expires_at: since + 150,
    });
  });

  it("lasts one minute by default, and can then be taken over", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.acquireSessionLease("s1", "h1");
    clock.advance(59);
    expect(await store.acquireSessionLease("s1", "h2")).toMatchObject({ acquired: false, holder: "h1" });
    clock.advance(2);
    expect(await store.getSessionLease("s1")).toBeNull();
    expect(await store.acquireSessionLease("s1", "h2", { ttl: 10 })).toEqual(TAKEN);
    expect(await store.getSessionLease("s1")).toMatchObject({ holder: "h2", acquired_at: clock.seconds });
    clock.advance(11);
    expect(await store.acquireSessionLease("s1", "h3", { ttl: Number.NaN })).toEqual(TAKEN);
    expect((await store.getSessionLease("s1"))?.expires_at).toBe(clock.seconds + 60);
  });

  it("can be prolonged late, as after a sleep, but not once another has had it", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.acquireSessionLease("s1", "h1");
    clock.advance(50);
    expect(await store.renewSessionLease("s1", "h1")).toBe(true);
    expect(await store.renewSessionLease("s1", "h2")).toBe(false);
    clock.advance(3600);
    expect(await store.renewSessionLease("s1", "h1", { ttl: 30 })).toBe(true);
    expect(await store.acquireSessionLease("s1", "h2")).toMatchObject({ acquired: false });
    clock.advance(31);
    await store.acquireSessionLease("s1", "h2");
    expect(await store.renewSessionLease("s1", "h1")).toBe(false);
    await store.releaseSessionLease("s1", "h2");
    expect(await store.renewSessionLease("s1", "h1")).toBe(false);
    expect(await store.renewSessionLease("never held", "h1")).toBe(false);
  });

  it("is neither released nor broken in another's name", async () => {
    await using store = await open();
    await store.acquireSessionLease("s1", "h1");
    await store.releaseSessionLease("s1", "h2");
    expect(await store.breakSessionLease("s1", "h2")).toBe(false);
    expect(await store.getSessionLease("s1")).toMatchObject({ holder: "h1" });
    expect(await store.breakSessionLease("s1", "h1")).toBe(true);
    expect(await store.breakSessionLease("s1", "h1")).toBe(false);
    expect(await store.getSessionLease("s1")).toBeNull();
  });

  it("is one per session, whether it exists or not, and refused for an invalid id", async () => {
    await using store = await withSessions(open(), "s1");
    expect(await store.acquireSessionLease("s1", "h1")).toEqual(TAKEN);
    expect(await store.acquireSessionLease("unknown", "h2")).toEqual(TAKEN);
    expect(await store.getSessionLease("s1")).toMatchObject({ holder: "h1" });
    expect(await store.getSession("unknown")).toBeNull();
    for (const id of ["", "a/b", "\ud800"])
      await expectCode(store.acquireSessionLease(id, "h1"), "bad-session-id");
    expect(await store.getSessionLease("")).toBeNull();
  });

  it("goes with its session, and with the day it was forgotten", async () => {
    const clock = new ManualClock();
    await using store = await withSessions(open({ clock }), "s1");
    await store.acquireSessionLease("s1", "h1");
    await store.acquireSessionLease("never stored", "h1");
    await store.deleteSession("s1");
    expect(await store.getSessionLease("s1")).toBeNull();
    expect(await store.renewSessionLease("s1", "h1")).toBe(false);
    clock.advance(DAY + 61);
    await store.acquireSessionLease("s2", "h1");
    expect(await store.renewSessionLease("never stored", "h1")).toBe(false);
  });

  it.skipIf(!reopen)("has one winner among handles of their own", async () => {
    await using store = await open();
    if (!reopen) return;
    const handles = await Promise.all(Array.from({ length: 4 }, () => reopen(store)));
    const outcomes = await Promise.all(
      handles.map((handle, index) => handle.acquireSessionLease("s1", `holder ${index}`)),
    );
    for (const handle of handles) await handle.close();
    expect(outcomes.filter(({ acquired }) => acquired)).toHaveLength(1);
  });

  it("admits only what its holder writes, also late, until another has had it", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("s1");
    const say = (leaseHolder: string) =>
      store.appendMany("s1", [{ role: "user", content: leaseHolder }], { leaseHolder });
    await expectCode(say("h1"), "lease-lost"); // never taken
    await store.acquireSessionLease("s1", "h1");
    await say("h1");
    await expectCode(say("h2"), "lease-lost");
    clock.advance(3600);
    await say("h1"); // it has run out, and nobody wanted it
    await store.acquireSessionLease("s1", "h2");
    await expectCode(say("h1"), "lease-lost");
    await say("h2");
    await store.releaseSessionLease("s1", "h2");
    for (const late of ["h1", "h2"]) await expectCode(say(late), "lease-lost");
    await store.acquireSessionLease("s1", "h1");
    const last = { role: "user", content: "the last" };
    await expectCode(
      store.appendMany("s1", [last], { leaseHolder: "h1", endsLease: true, ifLast: -1 }),
      "session-changed",
    );
    await say("h1"); // what was not stored does not end it either
    await store.appendMany("s1", [last], { leaseHolder: "h1", endsLease: true });
    expect(await store.getSessionLease("s1")).toBeNull();
    await expectCode(say("h1"), "lease-lost");
    await store.acquireSessionLease("s1", "h1");
    await store.deleteSession("s1");
    await expectCode(say("h1"), "unknown-session");
  });

  it("that another has had and given back since refuses every kind of late write", async () => {
    const clock = new ManualClock();
    await using store = await open({ clock });
    await store.createSession("s1");
    const lease = { leaseHolder: "h1" };
    await store.acquireSessionLease("s1", "h1");
    const [id = 0] = await store.appendMany("s1", [{ role: "user", content: "mine" }], lease);
    await store.tryAcquireCompressionLock("s1", "h1");
    clock.advance(61);
    await store.acquireSessionLease("s1", "h2");
    await store.appendMany("s1", [{ role: "user", content: "theirs" }], { leaseHolder: "h2" });
    await store.releaseSessionLease("s1", "h2");
    const late: Record<string, () => Promise<unknown>> = {
      append: () => store.appendMany("s1", [{ role: "user", content: "late" }], lease),
      takeBack: () => store.appendMany("s1", [], { ...lease, takeBackFrom: id }),
      finishReason: () => store.setFinishReason("s1", [id], "stop", lease),
      replace: () => store.replaceMessages("s1", [], lease),
      clear: () => store.clearMessages("s1", lease),
      rewind: () => store.rewindToMessage("s1", id, lease),
      restore: () => store.restoreRewound("s1", id, lease),
      undo: () => store.undoTurns("s1", 1, lease),
      compact: () => store.continueSession("s1", { ...lease, lockHolder: "h1" }),
      continue: () => store.continueSession("s1", lease),
      delete: () => store.deleteSessions(["s1"], lease),
    };
    for (const write of Object.values(late)) await expectCode(write(), "lease-lost");
    expect(await store.getMessages("s1")).toMatchObject([{ content: "mine" }, { content: "theirs" }]);
    expect(await row(store, "s1")).toMatchObject({ ended_at: null, rewind_count: 0 });
    await store.acquireSessionLease("s1", "h1");
    expect(await store.deleteSessions(["s1"], lease)).toBe(1);
  });
}
