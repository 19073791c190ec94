import { afterEach, describe, expect, it, vi } from "vitest";
import { SerialQueue } from "../../../src/providers/kit/serial-queue.ts";
import { startScript } from "../../fakes/child.ts";

const WIDE = { maxLength: 100, deadlineMs: 60_000 };

describe("serial queue", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("runs jobs one after the other in the order they came", async () => {
    const queue = new SerialQueue(WIDE);
    const events: string[] = [];
    const first = gate();
    const jobs = [
      queue.push(async () => {
        events.push("1 starts");
        await first.opened;
        events.push("1 ends");
      }),
      queue.push(async () => void events.push("2")),
      queue.push(async () => void events.push("3")),
    ];
    await tick();
    expect(events).toEqual(["1 starts"]);
    expect(queue.length).toBe(3);
    first.open();
    expect(await Promise.all(jobs)).toEqual([{ kind: "done" }, { kind: "done" }, { kind: "done" }]);
    expect(events).toEqual(["1 starts", "1 ends", "2", "3"]);
    expect(queue.length).toBe(0);
  });

  it("goes on after a job that fails, whichever way it fails", async () => {
    const queue = new SerialQueue(WIDE);
    const cause = new Error("no");
    const outcomes = [
      queue.push(() => Promise.reject(cause)),
      queue.push(() => {
        throw cause;
      }),
      queue.push(async () => {}),
    ];
    expect(await Promise.all(outcomes)).toEqual([
      { kind: "failed", cause },
      { kind: "failed", cause },
      { kind: "done" },
    ]);
  });

  it("goes on at the deadline, aborting a job that heeds its signal and leaving one that does not", async () => {
    vi.useFakeTimers();
    const queue = new SerialQueue({ maxLength: 10, deadlineMs: 1_000 });
    const reasons: unknown[] = [];
    const deaf = queue.push((signal) => {
      signal.addEventListener("abort", () => reasons.push((signal.reason as Error).name));
      return new Promise(() => {});
    });
    const next = queue.push(async () => {});
    await vi.advanceTimersByTimeAsync(999);
    expect(queue.length).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(await deaf).toEqual({ kind: "timed-out", afterMs: 1_000 });
    expect(await next).toEqual({ kind: "done" });
    expect(reasons).toEqual(["TimeoutError"]);
  });

  it("counts the deadline of a job from its own start", async () => {
    vi.useFakeTimers();
    const queue = new SerialQueue({ maxLength: 10, deadlineMs: 1_000 });
    const slow = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms));
    const outcomes = [queue.push(slow(900)), queue.push(slow(900))];
    await vi.advanceTimersByTimeAsync(1_800);
    expect(await Promise.all(outcomes)).toEqual([{ kind: "done" }, { kind: "done" }]);
  });

  it("refuses what does not fit and counts it", async () => {
    const queue = new SerialQueue({ maxLength: 2, deadlineMs: 60_000 });
    const first = gate();
    const accepted = [queue.push(() => first.opened), queue.push(async () => {})];
    expect(await queue.push(async () => {})).toEqual({ kind: "dropped", reason: "full" });
    expect(queue.dropped).toBe(1);
    first.open();
    expect(await Promise.all(accepted)).toEqual([{ kind: "done" }, { kind: "done" }]);
    expect(await queue.push(async () => {})).toEqual({ kind: "done" });
  });

  it("drains until nothing is left", async () => {
    const queue = new SerialQueue(WIDE);
    const first = gate();
    const done: number[] = [];
    void queue.push(() => first.opened);
    void queue.push(async () => void done.push(2));
    const drained = queue.drain(60_000);
    first.open();
    expect(await drained).toBe(0);
    expect(done).toEqual([2]);
    expect(await queue.drain(60_000)).toBe(0);
  });

  it("stops draining when the time is over or the signal is aborted, and says how much is left", async () => {
    const queue = new SerialQueue(WIDE);
    const first = gate();
    void queue.push(() => first.opened);
    void queue.push(async () => {});
    expect(await queue.drain(5)).toBe(2);
    const controller = new AbortController();
    const drained = queue.drain(60_000, controller.signal);
    controller.abort();
    expect(await drained).toBe(2);
    expect(await queue.drain(60_000, controller.signal)).toBe(2);
    first.open();
  });

  it("drops what waits, stops what runs and refuses what comes once it is closed", async () => {
    const queue = new SerialQueue(WIDE);
    const seen: boolean[] = [];
    const running = queue.push(
      (signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            seen.push(signal.aborted);
            reject(signal.reason);
          }),
        ),
    );
    const waiting = queue.push(async () => void seen.push(false));
    queue.close();
    const closed = { kind: "dropped", reason: "closed" };
    expect(await running).toEqual(closed);
    expect(await waiting).toEqual(closed);
    expect(await queue.push(async () => {})).toEqual(closed);
    expect(seen).toEqual([true]);
    expect([queue.length, queue.dropped]).toEqual([0, 3]);
  });

  it("does not keep a process alive", async () => {
    const child = startScript("brv/idle-queue.ts");
    expect(await child.rest()).toEqual(["1 job runs"]);
  });
});

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
