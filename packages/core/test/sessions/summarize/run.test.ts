import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TextModel } from "../../../src/lib/index.ts";
import { type SummaryRun, summarizeAll } from "../../../src/sessions/summarize/summarize.ts";

type Request = Parameters<TextModel["complete"]>[0];

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function run(
  complete: (request: Request, call: number) => Promise<string>,
  more: Partial<SummaryRun> = {},
): SummaryRun {
  let calls = 0;
  const model: TextModel = {
    complete: (request) => {
      calls += 1;
      return complete(request, calls);
    },
  };
  return { model, maxConcurrency: 3, modelTimeoutMs: 30_000, totalTimeoutMs: 90_000, ...more };
}

describe("asking for summaries", () => {
  it("gives them in order, with a bound on their length", async () => {
    const requests: Request[] = [];
    const summaries = await summarizeAll(
      ["a", "b"],
      run(async (request) => {
        requests.push(request);
        return ` about ${request.prompt}\n`;
      }),
    );
    expect(summaries).toEqual(["about a", "about b"]);
    expect(requests[0]).toMatchObject({ maxOutputTokens: 10_000, system: expect.stringContaining("[#123]") });
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    [3, 3],
    [1, 1],
    [50, 5],
    [0, 1],
    [Number.NaN, 1],
  ])("asks for as many at once as allowed: %d means %d", async (maxConcurrency, expected) => {
    let open = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const done = summarizeAll(
      Array.from({ length: 8 }, String),
      run(
        async () => {
          open += 1;
          most = Math.max(most, open);
          await new Promise<void>((resolve) => gates.push(resolve));
          open -= 1;
          return "ok";
        },
        { maxConcurrency },
      ),
    );
    for (let round = 0; round < 20; round += 1) {
      await vi.advanceTimersByTimeAsync(1);
      for (const gate of gates.splice(0)) gate();
    }
    expect(await done).toEqual(Array(8).fill("ok"));
    expect(most).toBe(expected);
  });

  it("tries three times, one and two seconds apart, and takes an empty answer for a failure", async () => {
    const pauses: number[] = [];
    const sleep = async (ms: number) => void pauses.push(ms);
    const answers = (texts: readonly (string | Error)[]) =>
      run(
        async (_request, call) => {
          const text = texts[call - 1] ?? "too many";
          if (text instanceof Error) throw text;
          return text;
        },
        { sleep },
      );
    expect(await summarizeAll(["a"], answers([new Error("busy"), "  ", "third"]))).toEqual(["third"]);
    expect(pauses).toEqual([1000, 2000]);
    expect(await summarizeAll(["a"], answers([new Error("1"), new Error("2"), new Error("3")]))).toEqual([
      undefined,
    ]);
  });

  it("really waits between two attempts", async () => {
    let calls = 0;
    const done = summarizeAll(
      ["a"],
      run(async () => {
        calls += 1;
        throw new Error("busy");
      }),
    );
    await vi.advanceTimersByTimeAsync(999);
    expect(calls).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls).toBe(2);
    await vi.advanceTimersByTimeAsync(1999);
    expect(calls).toBe(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(await done).toEqual([undefined]);
    expect(calls).toBe(3);
  });

  it("gives up at once without a model", async () => {
    expect(await summarizeAll(["a", "b"], { ...run(async () => "x"), model: undefined })).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("keeps what is finished when the time is up, and stops the rest", async () => {
    const stopped: string[] = [];
    const done = summarizeAll(
      ["quick", "slow", "deaf", "waiting"],
      run(
        (request) => {
          if (request.prompt === "quick") return Promise.resolve("quick summary");
          if (request.prompt === "slow")
            request.signal?.addEventListener("abort", () => stopped.push("slow"));
          return new Promise(() => {}); // neither ever answers
        },
        { maxConcurrency: 2, modelTimeoutMs: 500_000 },
      ),
    );
    await vi.advanceTimersByTimeAsync(89_999);
    expect(stopped).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await done).toEqual(["quick summary", undefined, undefined, undefined]);
    expect(stopped).toEqual(["slow"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("takes a call that is too slow for a failed attempt", async () => {
    const done = summarizeAll(
      ["a"],
      run((_request, call) => (call === 1 ? new Promise(() => {}) : Promise.resolve("second"))),
    );
    await vi.advanceTimersByTimeAsync(31_000);
    expect(await done).toEqual(["second"]);
  });

  it("asks nothing more once it was stopped, even during a pause", async () => {
    const stop = new AbortController();
    let calls = 0;
    const failing = run(
      async () => {
        calls += 1;
        throw new Error("busy");
      },
      { signal: stop.signal, sleep: async () => stop.abort() },
    );
    expect(await summarizeAll(["a", "b", "c", "d"], failing)).toEqual(Array(4).fill(undefined));
    expect(calls).toBe(3); // the first attempts of three workers
  });

  it("stops when the user does", async () => {
    const stop = new AbortController();
    const done = summarizeAll(
      ["a"],
      run(() => new Promise(() => {}), { signal: stop.signal }),
    );
    await vi.advanceTimersByTimeAsync(10);
    stop.abort();
    expect(await done).toEqual([undefined]);
  });
});
