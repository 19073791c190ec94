// The lock that keeps two compressions of one session apart.
import type { Suite } from "../runner.ts";
import { type Harness, ManualClock } from "./support.ts";

export function locksContract({ it, expect }: Suite, { open, reopen }: Harness): void {
  it("is held by one until released, and may be taken again by its holder", async () => {
    await using store = await open();
    expect(await store.tryAcquireCompressionLock("s1", "h1")).toBe(true);
    expect(await store.tryAcquireCompressionLock("s1", "h2")).toBe(false);
    expect(await store.tryAcquireCompressionLock("s1", "h1", 300)).toBe(true);
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
    await using store = await open();
    await store.createSession("s1", { source: "cli" });
    expect(await store.tryAcquireCompressionLock("s1", "h1")).toBe(true);
    expect(await store.tryAcquireCompressionLock("unknown", "h2")).toBe(true);
    expect(await store.getCompressionLockHolder("s1")).toBe("h1");
    expect(await store.getCompressionLockHolder("unknown")).toBe("h2");
    expect(await store.getCompressionLockHolder("other")).toBeNull();
  });

  it("lasts for its time, five minutes unless told, and can then be taken over", async () => {
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

  it("has one winner among eight at the same time", async () => {
    await using store = await open();
    const holders = Array.from({ length: 8 }, (_, index) => `holder ${index}`);
    const won = await Promise.all(holders.map((holder) => store.tryAcquireCompressionLock("s1", holder)));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await store.getCompressionLockHolder("s1")).toBe(holders[won.indexOf(true)]);
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
