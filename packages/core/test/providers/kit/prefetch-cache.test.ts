import { afterEach, describe, expect, it, vi } from "vitest";
import { createPrefetchCache } from "../../../src/providers/kit/prefetch-cache.ts";

const found = (text: string) => async () => text;

describe("prefetch slot", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("has nothing on the first turn", async () => {
    expect(await createPrefetchCache().take("s", 1)).toBe("");
  });

  it("hands out a result once", async () => {
    const slot = createPrefetchCache();
    expect(await slot.fetch("s", 1, found("tea"))).toEqual({ kind: "kept" });
    expect(await slot.take("s", 2)).toBe("tea");
    expect(await slot.take("s", 2)).toBe("");
  });

  it("uses a result for as many turns as it may be old, and no longer", async () => {
    const slot = createPrefetchCache({ maxAgeTurns: 2 });
    const ages = [];
    for (const turn of [4, 5, 6, 7]) {
      await slot.fetch("s", 4, found("tea"));
      ages.push(await slot.take("s", turn));
    }
    expect(ages).toEqual(["tea", "tea", "tea", ""]);
  });

  it("drops a result of turns that were undone", async () => {
    const slot = createPrefetchCache();
    await slot.fetch("s", 4, found("tea"));
    expect(await slot.take("s", 3)).toBe("");
    expect(await slot.take("s", 4)).toBe("");
  });

  it("drops the result of another session, also for its own", async () => {
    const slot = createPrefetchCache();
    await slot.fetch("old", 1, found("tea"));
    expect(await slot.take("new", 2)).toBe("");
    expect(await slot.take("old", 2)).toBe("");
  });

  it("waits for a fetch that is running", async () => {
    const slot = createPrefetchCache();
    const text = Promise.withResolvers<string>();
    void slot.fetch("s", 1, () => text.promise);
    const taken = slot.take("s", 2);
    text.resolve("tea");
    expect(await taken).toBe("tea");
  });

  it("waits at most three seconds, also with a longer option, and keeps a later result", async () => {
    vi.useFakeTimers();
    const slot = createPrefetchCache({ waitMs: 60_000 });
    const text = Promise.withResolvers<string>();
    const fetched = slot.fetch("s", 1, () => text.promise);
    const taken = vi.fn();
    void slot.take("s", 2).then(taken);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(taken).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(taken).toHaveBeenCalledWith("");
    text.resolve("tea");
    expect(await fetched).toEqual({ kind: "kept" });
    expect(await slot.take("s", 3)).toBe("tea");
  });

  it("does not wait with waitMs 0, for another session, or for an aborted caller", async () => {
    const gone = AbortSignal.abort();
    const never = () => new Promise<string>(() => {});
    const impatient = createPrefetchCache({ waitMs: 0 });
    void impatient.fetch("s", 1, never);
    expect(await impatient.take("s", 2)).toBe("");
    const patient = createPrefetchCache();
    void patient.fetch("s", 1, never);
    expect(await patient.take("other", 2)).toBe("");
    expect(await patient.take("s", 2, gone)).toBe("");
    const leaving = new AbortController();
    const taken = patient.take("s", 2, leaving.signal);
    leaving.abort();
    expect(await taken).toBe("");
  });

  it("keeps the result before when a newer fetch is empty or fails", async () => {
    const slot = createPrefetchCache();
    const cause = new Error("down");
    await slot.fetch("s", 1, found("tea"));
    expect(await slot.fetch("s", 2, found(" \n"))).toEqual({ kind: "empty" });
    expect(await slot.fetch("s", 2, () => Promise.reject(cause))).toEqual({ kind: "failed", cause });
    expect(
      await slot.fetch("s", 2, () => {
        throw cause;
      }),
    ).toEqual({ kind: "failed", cause });
    expect(await slot.take("s", 3)).toBe("tea");
  });

  it("aborts a fetch that a newer one replaces, and ignores its result", async () => {
    const slot = createPrefetchCache();
    const text = Promise.withResolvers<string>();
    const signals: AbortSignal[] = [];
    const first = slot.fetch("s", 1, (signal) => {
      signals.push(signal);
      return text.promise;
    });
    await Promise.resolve();
    const second = slot.fetch("s", 2, found("coffee"));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(await second).toEqual({ kind: "kept" });
    text.resolve("tea");
    expect(await first).toEqual({ kind: "superseded" });
    expect(await slot.take("s", 3)).toBe("coffee");
  });

  it("forgets everything when the session changes, also a running fetch", async () => {
    const slot = createPrefetchCache();
    await slot.fetch("s", 1, found("tea"));
    slot.clear();
    expect(await slot.take("s", 2)).toBe("");
    const text = Promise.withResolvers<string>();
    const fetched = slot.fetch("s", 2, () => text.promise);
    slot.clear();
    text.resolve("tea");
    expect(await fetched).toEqual({ kind: "superseded" });
    expect(await slot.take("s", 3)).toBe("");
  });
});
