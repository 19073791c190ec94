// The lease that keeps two processes from working on one session at the same time.
import type { Suite } from "../runner.ts";
import { DAY, expectCode, type Harness, ManualClock } from "./support.ts";

const TAKEN = { acquired: true };

export function leasesContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("is held by one until released; another is told who has it, and since when", async () => {
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

  it("lasts for its time, a minute unless told, and can then be taken over", async () => {
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

  it("is one per session, known or not, and refused for what cannot be an id", async () => {
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
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
    await using store = await open({ clock });
    await store.createSession("s1", { source: "cli" });
    await store.acquireSessionLease("s1", "h1");
    await store.acquireSessionLease("never stored", "h1");
    await store.deleteSession("s1");
    expect(await store.getSessionLease("s1")).toBeNull();
    expect(await store.renewSessionLease("s1", "h1")).toBe(false);
    clock.advance(DAY + 61);
    await store.acquireSessionLease("s2", "h1");
    expect(await store.renewSessionLease("never stored", "h1")).toBe(false);
  });

  it("has one winner among eight at the same time", async () => {
    await using store = await open();
    const holders = Array.from({ length: 8 }, (_, index) => `holder ${index}`);
    const outcomes = await Promise.all(holders.map((holder) => store.acquireSessionLease("s1", holder)));
    const winner = holders[outcomes.findIndex(({ acquired }) => acquired)];
    expect(outcomes.filter(({ acquired }) => acquired)).toHaveLength(1);
    expect(await store.getSessionLease("s1")).toMatchObject({ holder: winner });
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

  it("keeps the messages of a process that lost it out of the session", async () => {
    await using store = await open();
    await store.createSession("s1");
    await store.acquireSessionLease("s1", "h1");
    const said = [{ role: "user", content: "mine" }];
    expect(await store.appendMany("s1", said, { leaseHolder: "h1" })).toHaveLength(1);
    await expect(store.appendMany("s1", said, { leaseHolder: "h2" })).rejects.toMatchObject({
      code: "lease-lost",
    });
    await store.releaseSessionLease("s1", "h1");
    expect(await store.appendMany("s1", said, { leaseHolder: "h2" })).toHaveLength(1);
    expect(await store.messageCount("s1")).toBe(2);
  });
}
