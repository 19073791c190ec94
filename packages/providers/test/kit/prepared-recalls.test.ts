import { expect, it } from "vitest";
import { PreparedRecalls } from "../../src/kit/networked/recall.ts";

const recalled = (text: string) => ({ text, count: 1 });

it("a recall is used once, by its session alone, and only for two turns", async () => {
  const prepared = new PreparedRecalls();
  for (const session of ["a", "b", "c"]) await prepared.fetch(session, 1, async () => recalled(session));
  expect(await prepared.take("a", 3, 0)).toEqual(recalled("a"));
  expect(await prepared.take("a", 3, 0)).toBeUndefined();
  expect(await prepared.take("b", 4, 0)).toBeUndefined(); // too old
  expect(await prepared.take("c", 0, 0)).toBeUndefined(); // its turn was undone
});

it("an empty or failed fetch keeps what is there; a newer fetch and a change of session end an older one", async () => {
  const prepared = new PreparedRecalls();
  await prepared.fetch("a", 1, async () => recalled("kept"));
  expect(await prepared.fetch("a", 1, async () => recalled(" "))).toEqual({ kind: "empty" });
  const cause = new Error("down");
  expect(await prepared.fetch("a", 1, () => Promise.reject(cause))).toEqual({ kind: "failed", cause });
  let aborted: AbortSignal | undefined;
  const slow = (signal: AbortSignal) => {
    aborted = signal;
    return new Promise<ReturnType<typeof recalled>>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  };
  const older = prepared.fetch("a", 1, slow);
  await Promise.resolve();
  prepared.clear("a");
  expect(await older).toEqual({ kind: "superseded" });
  expect([aborted?.aborted, prepared.has("a")]).toEqual([true, false]);
  expect(await prepared.take("a", 1, 0)).toBeUndefined();
});

it("64 sessions have a recall at most; the one whose fetch began first loses it", async () => {
  const prepared = new PreparedRecalls();
  for (let each = 0; each <= 64; each += 1) await prepared.fetch(`s${each}`, 1, async () => recalled("x"));
  expect([prepared.has("s0"), prepared.has("s1"), prepared.has("s64")]).toEqual([false, true, true]);
});
