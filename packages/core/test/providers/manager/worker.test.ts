// The background worker: order, barriers and counts, whatever the weather.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BackgroundWorker } from "../../../src/providers/manager/worker.ts";
import { pause } from "../../fakes/providers.ts";

const LONG_MS = 3_600_000;

describe("the background worker", () => {
  it("starts nothing before the one who hands in goes on", async () => {
    const worker = new BackgroundWorker(5);
    const seen: string[] = [];
    worker.push(async () => void seen.push("task"));
    seen.push("caller");
    await worker.drain(LONG_MS);
    expect(seen).toEqual(["caller", "task"]);
  });

  it("is drained at once when nothing was handed in, and when it is closed", async () => {
    const worker = new BackgroundWorker(5);
    expect(await worker.drain(0)).toBe(true);
    worker.push(() => new Promise(() => {}));
    worker.close();
    expect(await worker.drain(0)).toBe(true);
  });

  it("is not drained while a task hangs; a later drain finds it done", async () => {
    const worker = new BackgroundWorker(5);
    const hang = pause();
    worker.push(() => hang.over);
    expect(await worker.drain(1)).toBe(false);
    hang.end();
    expect(await worker.drain(LONG_MS)).toBe(true);
  });

  it("drains what was handed in before, and does not wait for what comes after", async () => {
    const worker = new BackgroundWorker(5);
    const first = pause();
    worker.push(() => first.over);
    const drained = worker.drain(LONG_MS);
    worker.push(() => new Promise(() => {}));
    first.end();
    expect(await drained).toBe(true);
    worker.close();
  });

  it("lets waiting drains go when it is closed", async () => {
    const worker = new BackgroundWorker(5);
    worker.push(() => new Promise(() => {}));
    const drained = worker.drain(LONG_MS);
    expect(worker.close()).toBe(1);
    expect(await drained).toBe(true);
  });

  it("takes up to its limit besides the running one, then says that it is full", async () => {
    const worker = new BackgroundWorker(2);
    const hang = pause();
    worker.push(() => hang.over);
    await Promise.resolve(); // the first one runs now
    expect([1, 2, 3].map(() => worker.push(async () => {}))).toEqual(["queued", "queued", "full"]);
    hang.end();
    await worker.drain(LONG_MS);
    expect(worker.push(async () => {})).toBe("queued");
  });

  it("takes nothing once it is closed, runs nothing that waited, and counts what was lost once", async () => {
    const worker = new BackgroundWorker(5);
    const hang = pause();
    const ran: string[] = [];
    worker.push(() => hang.over);
    worker.push(async () => void ran.push("second"));
    await Promise.resolve();
    expect([worker.close(), worker.close()]).toEqual([2, 0]);
    expect(worker.push(async () => void ran.push("third"))).toBe("closed");
    hang.end();
    await hang.over;
    expect(ran).toEqual([]);
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
          const worker = new BackgroundWorker(limit);
          const taken: number[] = [];
          const begun: number[] = [];
          const ended: number[] = [];
          let running = 0;
          for (const [index, each] of steps.entries()) {
            if (each.kind === "wait") await Promise.resolve();
            else if (each.kind === "drain") {
              expect(await worker.drain(LONG_MS)).toBe(true);
              expect(ended).toEqual(taken);
            } else {
              const outcome = worker.push(async () => {
                running += 1;
                expect(running).toBe(1);
                begun.push(index);
                for (let tick = 0; tick < each.ticks; tick += 1) await Promise.resolve();
                ended.push(index);
                running -= 1;
              });
              if (outcome === "queued") taken.push(index);
              else expect(taken.length - begun.length).toBe(limit);
            }
          }
          const left = taken.length - ended.length;
          const lost = worker.close();
          // One that has just ended may not have been noticed yet.
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
});
