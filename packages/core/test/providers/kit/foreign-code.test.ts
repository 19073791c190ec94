// Running code of a plugin: its deadline, and the line about a thrown value.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeForeign, withDeadline } from "../../../src/providers/kit/foreign-code.ts";
import { leastCpuMs } from "../../fakes/cpu-time.ts";

describe("a deadline", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("leaves no timer behind when the answer comes first", async () => {
    expect(await withDeadline({ ms: 60_000 }, async () => "tea")).toEqual({ kind: "done", value: "tea" });
    await expect(withDeadline({ ms: 60_000 }, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("can be ended early, and passes a late answer on", async () => {
    const stop = new AbortController();
    const late: unknown[] = [];
    const { promise, resolve } = Promise.withResolvers<string>();
    const rules = { ms: 60_000, stop: stop.signal, onLate: { value: (value: string) => late.push(value) } };
    const answer = withDeadline(rules, () => promise);
    stop.abort();
    expect(await answer).toEqual({ kind: "stopped" });
    resolve("tea");
    await promise;
    await vi.advanceTimersByTimeAsync(0);
    expect(late).toEqual(["tea"]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the line about a thrown value", () => {
  it("a reason of many megabytes is not read to its end, and no secret shows where it is cut", () => {
    const secret = `${"x".repeat(590)} sk-ant-api03-${"abcdefghijklmnop".repeat(4)} `;
    const cost = (chars: number) => {
      const text = secret + "sk- y ".repeat(chars / 6);
      return leastCpuMs(() => describeForeign(new Error(text)));
    };
    const said = describeForeign(new Error(secret + "y".repeat(1_000_000)));
    expect([said.length < 620, said.includes("abcdef")]).toEqual([true, false]);
    expect(cost(12_000_000)).toBeLessThan(Math.max(cost(12_000), 3) * 4);
  });
});
