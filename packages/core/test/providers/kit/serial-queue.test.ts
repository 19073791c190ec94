import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SerialQueue } from "../../../src/providers/kit/serial-queue.ts";
import { startScript } from "../../fakes/child.ts";
import { pause } from "../../fakes/providers.ts";

const WIDE = { maxWaiting: 100 };

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

  it("goes on after a job that throws or rejects", async () => {
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

  it("stops draining when the time is over or the signal is aborted, and says how much is left", async () => {
    const queue = new SerialQueue(WIDE);
    const first = gate();
    void queue.push(() => first.opened);
    void queue.push(async () => {});
    expect(await queue.drain(5)).toBe(2);
    const controller = new AbortController();
    const drained = queue.drain(60_000, { signal: controller.signal });
    controller.abort();
    expect(await drained).toBe(2);
    expect(await queue.drain(60_000, { signal: controller.signal })).toBe(2);
    first.open();
  });

  it("when closed, drops waiting jobs, aborts the running one and refuses new ones", async () => {
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
    await tick(); // the first one runs now
    expect([queue.close(), queue.close()]).toEqual([2, 0]);
    const closed = { kind: "dropped", reason: "closed" };
    expect(await running).toEqual(closed);
    expect(await waiting).toEqual(closed);
    expect(await queue.push(async () => {})).toEqual(closed);
    expect(seen).toEqual([true]);
    expect(queue.length).toBe(0);
  });

  it("drains the jobs pushed before, and does not wait for later ones", async () => {
    const queue = new SerialQueue({ maxWaiting: 5 });
    const first = pause();
    void queue.push(() => first.over);
    const drained = queue.drain(60_000);
    void queue.push(() => new Promise(() => {}));
    first.end();
    expect(await drained).toBe(0);
    queue.close();
  });

  it("ends waiting drains when it is closed", async () => {
    const queue = new SerialQueue({ maxWaiting: 5 });
    void queue.push(() => new Promise(() => {}));
    const drained = queue.drain(60_000);
    expect(queue.close()).toBe(1);
    expect(await drained).toBe(0);
  });

  it("accepts as many waiting jobs as its limit, then is full", async () => {
    const queue = new SerialQueue({ maxWaiting: 2 });
    const hang = pause();
    void queue.push(() => hang.over);
    await Promise.resolve(); // the first one runs now
    const pushed = [1, 2].map(() => queue.push(async () => {}));
    expect(queue.isFull).toBe(true);
    expect(await queue.push(async () => {})).toEqual({ kind: "dropped", reason: "full" });
    hang.end();
    await queue.drain(60_000);
    expect(await Promise.all(pushed)).toEqual([{ kind: "done" }, { kind: "done" }]);
    expect(queue.isFull).toBe(false);
  });

  it("keeps order and counts under random pushes, pauses and drains", async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("push" as const), ticks: fc.nat(4) }) },
      { weight: 2, arbitrary: fc.constant({ kind: "drain" as const }) },
      { weight: 2, arbitrary: fc.constant({ kind: "wait" as const }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 6 }),
        async (steps, limit) => {
          const queue = new SerialQueue({ maxWaiting: limit });
          const taken: number[] = [];
          const begun: number[] = [];
          const ended: number[] = [];
          let running = 0;
          for (const [index, each] of steps.entries()) {
            if (each.kind === "wait") await Promise.resolve();
            else if (each.kind === "drain") {
              expect(await queue.drain(60_000)).toBe(0);
              expect(ended).toEqual(taken);
            } else {
              const isFull = queue.isFull;
              void queue.push(async () => {
                running += 1;
                expect(running).toBe(1);
                begun.push(index);
                for (let tick = 0; tick < each.ticks; tick += 1) await Promise.resolve();
                ended.push(index);
                running -= 1;
              });
              if (!isFull) taken.push(index);
              else expect(taken.length - begun.length).toBe(limit);
            }
          }
          const left = taken.length - ended.length;
          const lost = queue.close();
          // The queue may not have noticed yet that the last job has ended.
          expect(lost).toBeGreaterThanOrEqual(left);
          expect(lost).toBeLessThanOrEqual(Math.min(taken.length, left + 1));
          await new Promise((resolve) => setImmediate(resolve));
          expect(begun).toEqual(taken.slice(0, begun.length));
          expect(ended).toEqual(begun);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("does not keep a process alive", async () => {
    const child = startScript("idle-queue.ts");
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
