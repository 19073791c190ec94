import { afterEach, describe, expect, it, vi } from "vitest";
import { createPrefetchCache, type PrefetchCacheOptions } from "../../src/kit/prefetch-cache.ts";

const found = (text: string) => async () => text;
const never = () => new Promise<string>(() => {});
const createCache = (options: PrefetchCacheOptions<string> = {}) =>
  createPrefetchCache<string>({ isEmpty: (text) => text.trim() === "", ...options });

describe("prefetch cache", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("has nothing on the first turn", async () => {
    const cache = createCache();
    expect(cache.has("s")).toBe(false);
    expect(await cache.take("s", 1)).toBeUndefined();
  });

  it("hands out a result once", async () => {
    const cache = createCache();
    expect(await cache.fetch("s", 1, found("tea"))).toEqual({ kind: "kept" });
    expect(cache.has("s")).toBe(true);
    expect(await cache.take("s", 2)).toBe("tea");
    expect(cache.has("s")).toBe(false);
    expect(await cache.take("s", 2)).toBeUndefined();
  });

  it("holds values of any type", async () => {
    const cache = createPrefetchCache<{ readonly count: number }>({ isEmpty: ({ count }) => count === 0 });
    expect(await cache.fetch("s", 1, async () => ({ count: 0 }))).toEqual({ kind: "empty" });
    expect(cache.has("s")).toBe(false);
    await cache.fetch("s", 1, async () => ({ count: 2 }));
    expect(await cache.take("s", 2)).toEqual({ count: 2 });
  });

  it("uses a result for as many turns as it may be old, and no longer", async () => {
    const cache = createCache({ maxAgeTurns: 2 });
    const ages = [];
    for (const turn of [4, 5, 6, 7]) {
      await cache.fetch("s", 4, found("tea"));
      ages.push(await cache.take("s", turn));
    }
    expect(ages).toEqual(["tea", "tea", "tea", undefined]);
  });

  it("drops a result of turns that were undone", async () => {
    const cache = createCache();
    await cache.fetch("s", 4, found("tea"));
    expect(await cache.take("s", 3)).toBeUndefined();
    expect(await cache.take("s", 4)).toBeUndefined();
  });

  it("gives a result to its own session only, whoever asks first", async () => {
    const cache = createCache();
    const text = Promise.withResolvers<string>();
    await cache.fetch("tea drinker", 1, found("tea"));
    void cache.fetch("coffee drinker", 1, () => text.promise);
    expect(await cache.take("somebody else", 2)).toBeUndefined();
    const coffee = cache.take("coffee drinker", 2);
    expect(await cache.take("tea drinker", 2)).toBe("tea");
    text.resolve("coffee");
    expect(await coffee).toBe("coffee");
  });

  it("keeps 64 sessions and drops the one that fetched longest ago", async () => {
    const cache = createCache();
    const signals: AbortSignal[] = [];
    const dropped = cache.fetch("first", 1, (signal) => {
      signals.push(signal);
      return never();
    });
    const outcome = Promise.race([dropped, Promise.resolve("running")]);
    await cache.fetch("again", 1, found("old"));
    for (let each = 0; each < 62; each += 1) await cache.fetch(`s${each}`, 1, found(`text ${each}`));
    expect(await outcome).toBe("running");
    await cache.fetch("again", 1, found("new")); // not the oldest any more, and no 65th
    expect(cache.has("first")).toBe(true);
    await cache.fetch("65th", 1, found("one more"));
    expect([cache.has("first"), signals[0]?.aborted]).toEqual([false, true]);
    await cache.fetch("66th", 1, found("one more"));
    expect([cache.has("s0"), await cache.take("s1", 2), await cache.take("again", 2)]).toEqual([
      false,
      "text 1",
      "new",
    ]);
  });

  it("waits for a fetch that is running", async () => {
    const cache = createCache();
    const text = Promise.withResolvers<string>();
    void cache.fetch("s", 1, () => text.promise);
    expect(cache.has("s")).toBe(true);
    const taken = cache.take("s", 2);
    text.resolve("tea");
    expect(await taken).toBe("tea");
  });

  it("waits at most three seconds, also with a longer option, and keeps a later result", async () => {
    vi.useFakeTimers();
    const cache = createCache({ waitMs: 60_000 });
    const text = Promise.withResolvers<string>();
    const fetched = cache.fetch("s", 1, () => text.promise);
    const taken = vi.fn();
    void cache.take("s", 2).then(taken);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(taken).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(taken).toHaveBeenCalledWith(undefined);
    text.resolve("tea");
    expect(await fetched).toEqual({ kind: "kept" });
    expect(await cache.take("s", 3)).toBe("tea");
  });

  it("does not wait with waitMs 0, for another session, or for an aborted caller", async () => {
    const impatient = createCache({ waitMs: 0 });
    void impatient.fetch("s", 1, never);
    expect(await impatient.take("s", 2)).toBeUndefined();
    const patient = createCache();
    void patient.fetch("s", 1, never);
    expect(await patient.take("other", 2)).toBeUndefined();
    expect(await patient.take("s", 2, AbortSignal.abort())).toBeUndefined();
    const leaving = new AbortController();
    const taken = patient.take("s", 2, leaving.signal);
    leaving.abort();
    expect(await taken).toBeUndefined();
    expect(patient.has("s")).toBe(true);
  });

  it("keeps the result before when a newer fetch is empty or fails", async () => {
    const cache = createCache();
    const cause = new Error("down");
    await cache.fetch("s", 1, found("tea"));
    expect(await cache.fetch("s", 2, found(" \n"))).toEqual({ kind: "empty" });
    expect(await cache.fetch("s", 2, () => Promise.reject(cause))).toEqual({ kind: "failed", cause });
    expect(
      await cache.fetch("s", 2, () => {
        throw cause;
      }),
    ).toEqual({ kind: "failed", cause });
    expect(await cache.take("s", 3)).toBe("tea");
  });

  it("has nothing after a fetch that failed", async () => {
    const cache = createCache();
    await cache.fetch("s", 1, () => Promise.reject(new Error("down")));
    expect(cache.has("s")).toBe(false);
  });

  it("aborts a fetch that a newer one of the session replaces, and ignores its result", async () => {
    const cache = createCache();
    const text = Promise.withResolvers<string>();
    const signals: AbortSignal[] = [];
    const keepSignal = (signal: AbortSignal) => {
      signals.push(signal);
      return text.promise;
    };
    const first = cache.fetch("s", 1, keepSignal);
    const other = cache.fetch("other", 1, keepSignal);
    await Promise.resolve();
    const second = cache.fetch("s", 2, found("coffee"));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(await second).toEqual({ kind: "kept" });
    text.resolve("tea");
    expect([await first, await other]).toEqual([{ kind: "superseded" }, { kind: "kept" }]);
    expect([await cache.take("s", 3), await cache.take("other", 3)]).toEqual(["coffee", "tea"]);
  });

  it("forgets a session, or all of them, also running fetches", async () => {
    const cache = createCache();
    await cache.fetch("s", 1, found("tea"));
    await cache.fetch("other", 1, found("coffee"));
    cache.clear("s");
    expect([await cache.take("s", 2), await cache.take("other", 2)]).toEqual([undefined, "coffee"]);
    const text = Promise.withResolvers<string>();
    const fetched = cache.fetch("s", 2, () => text.promise);
    await cache.fetch("other", 2, found("coffee"));
    cache.clear();
    text.resolve("tea");
    expect(await fetched).toEqual({ kind: "superseded" });
    expect([cache.has("s"), cache.has("other"), await cache.take("s", 3)]).toEqual([false, false, undefined]);
  });
});
