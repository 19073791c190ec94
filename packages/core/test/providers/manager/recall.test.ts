// Recall that comes too late, is too old, or belongs to another session. Uses fake timers.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import type { MemoryManagerOptions } from "../../../src/providers/manager/options.ts";
import { Recall } from "../../../src/providers/manager/recall.ts";
import { guardedProvider, provider, recordingLogger } from "../../fakes/providers.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const DEADLINE_MS = 3_000;

/** A provider whose calls the test answers, in any order. */
function slowMemory(options: MemoryManagerOptions = {}) {
  const asked: {
    query: string;
    signal: AbortSignal | undefined;
    answer(text: string): void;
    fail(): void;
  }[] = [];
  const manager = new MemoryManager(options);
  manager.addProvider(
    provider({
      prefetch: (query, { signal }) => {
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        asked.push({ query, signal, answer: resolve, fail: () => reject(new Error("too late anyway")) });
        return promise;
      },
    }),
  );
  const turn = async (number: number, session_id = "s1"): Promise<string> => {
    await manager.onTurnStart(number, `question ${number}`);
    const recall = manager.prefetchAll(`question ${number}`, { session_id });
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);
    return recall;
  };
  return { manager, asked, turn };
}

describe("an answer after the deadline", () => {
  it("is used by the next turn of the session, once", async () => {
    const { asked, turn } = slowMemory();
    expect(await turn(1)).toBe("");
    asked[0]?.answer("likes tea");
    expect(await turn(2)).toBe("likes tea");
    expect(asked).toHaveLength(2); // and the second question was asked
    asked[1]?.answer("");
    expect(await turn(3)).toBe("");
  });

  it("gives way to a fresh one", async () => {
    const { manager, asked, turn } = slowMemory();
    await turn(1);
    asked[0]?.answer("likes tea");
    await manager.onTurnStart(2, "question 2");
    const recall = manager.prefetchAll("question 2", { session_id: "s1" });
    await vi.advanceTimersByTimeAsync(0);
    asked[1]?.answer("likes coffee now");
    expect(await recall).toBe("likes coffee now");
    expect(await turn(3)).toBe("");
  });

  it("fills in for a fresh one that is blank", async () => {
    const { manager, asked, turn } = slowMemory();
    await turn(1);
    asked[0]?.answer("likes tea");
    await vi.advanceTimersByTimeAsync(0);
    const recall = manager.prefetchAll("question 2", { session_id: "s1" });
    await vi.advanceTimersByTimeAsync(0);
    asked[1]?.answer(" \u0085\n");
    expect(await recall).toBe("likes tea");
  });

  it.each([
    [2, "likes tea"],
    [3, ""],
  ])("is used up to two turns later: after %d turns it is %j", async (turnsLater, expected) => {
    const { manager, asked, turn } = slowMemory();
    await turn(1);
    asked[0]?.answer("likes tea");
    await manager.onTurnStart(1 + turnsLater, "a question without recall before it");
    expect(await turn(1 + turnsLater)).toBe(expected);
  });

  it.each([
    [0, ""],
    [5, "likes tea"],
  ])(
    "has the age that memory.prefetch_max_age_turns allows: with %d it is %j",
    async (prefetchMaxAgeTurns, expected) => {
      const { asked, turn } = slowMemory({ prefetchMaxAgeTurns });
      await turn(1);
      asked[0]?.answer("likes tea");
      expect(await turn(prefetchMaxAgeTurns === 0 ? 2 : 6)).toBe(expected);
    },
  );

  it("of another session is dropped", async () => {
    const { asked, turn } = slowMemory();
    await turn(1, "s1");
    asked[0]?.answer("a secret of s1");
    expect(await turn(2, "s2")).toBe("");
    expect(await turn(3, "s1")).toBe(""); // and gone
  });

  it("is made safe for a prompt like any other", async () => {
    const { asked, turn } = slowMemory({ recallMaxChars: 5 });
    await turn(1);
    asked[0]?.answer("0123456789");
    expect(await turn(2)).toBe("01234");
  });

  it.each(["", "  ", 7, null])("that is %j is nothing", async (nothing) => {
    const { asked, turn } = slowMemory();
    await turn(1);
    asked[0]?.answer(nothing as string);
    expect(await turn(2)).toBe("");
  });

  it("that is a failure is logged as debug, and the next turn asks again", async () => {
    const log = recordingLogger();
    const { asked, turn } = slowMemory({ log });
    await turn(1);
    asked[0]?.fail();
    await vi.advanceTimersByTimeAsync(0);
    expect(log.at("warn")).toHaveLength(1); // the deadline
    expect(log.at("debug")).toEqual(["A late provider call failed."]);
    await turn(2);
    expect(asked.map(({ query }) => query)).toEqual(["question 1", "question 2"]);
  });
});

describe("a provider that does not come back", () => {
  it("costs one turn its deadline, not every turn", async () => {
    const log = recordingLogger();
    const { manager, asked, turn } = slowMemory({ log });
    await turn(1);
    await manager.onTurnStart(2, "question 2");
    expect(await manager.prefetchAll("question 2", { session_id: "s1" })).toBe(""); // no time passed
    expect(asked).toHaveLength(1);
    asked[0]?.answer("likes tea");
    expect(await turn(3)).toBe("likes tea");
    expect(asked).toHaveLength(2);
    expect(log.at("warn")).toHaveLength(1);
  });

  it("is asked again after a minute, and told that the first answer is not wanted any more", async () => {
    const { asked, turn } = slowMemory();
    await turn(1);
    expect(asked[0]?.signal?.aborted).toBe(false); // late is still good
    await vi.advanceTimersByTimeAsync(60_000 - DEADLINE_MS);
    expect(asked[0]?.signal?.aborted).toBe(true);
    await turn(2);
    expect(asked).toHaveLength(2);
  });
});

describe("a switch of the session", () => {
  it("while the recall runs drops it, and aborts its signal", async () => {
    const { manager, asked } = slowMemory();
    const recall = manager.prefetchAll("question", { session_id: "s1" });
    await manager.onSessionSwitch("s2", { parent_session_id: "s1" });
    expect(asked[0]?.signal?.aborted).toBe(true);
    asked[0]?.answer("a secret of s1");
    expect(await recall).toBe("");
  });

  it("after the deadline drops a later answer, also for a session with the same id", async () => {
    const { manager, asked, turn } = slowMemory();
    await turn(1);
    await manager.onSessionSwitch("s1", { rewound: true });
    asked[0]?.answer("what was undone");
    expect(await turn(2)).toBe("");
  });

  it("drops a late answer that came before it", async () => {
    const { manager, asked, turn } = slowMemory();
    await turn(1);
    asked[0]?.answer("a secret of s1");
    await vi.advanceTimersByTimeAsync(0);
    await manager.onSessionSwitch("s1", { rewound: true });
    expect(await turn(2)).toBe("");
  });

  it("does not touch the recall of the session after it", async () => {
    const { manager, asked } = slowMemory();
    const before = manager.prefetchAll("old", { session_id: "s1" });
    await manager.onSessionSwitch("s2");
    asked[0]?.answer("old");
    await before;
    const recall = manager.prefetchAll("new", { session_id: "s2" });
    await vi.advanceTimersByTimeAsync(0);
    expect(asked[1]?.signal?.aborted).toBe(false);
    asked[1]?.answer("new");
    expect(await recall).toBe("new");
  });
});

describe("recall without a manager", () => {
  const LIMITS = { maxAgeTurns: 2, maxChars: 100 };
  const asking = (turn: number) => ({
    query: "tea?",
    sessionId: "s1",
    turn,
    deadlineMs: DEADLINE_MS,
    budget: { leftMs: 1_000 },
  });

  it("skips the provider while it still works on the question before, and passes its late answer on once", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    let calls = 0;
    const prefetch = (): Promise<string> => {
      calls += 1;
      return calls === 1 ? promise : Promise.resolve("");
    };
    const recall = new Recall(guardedProvider(provider({ prefetch })), LIMITS);
    const first = recall.ask(asking(1));
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);
    const nothing = { text: "", isFresh: false };
    expect([await first, await recall.ask(asking(2)), calls]).toEqual([nothing, nothing, 1]);
    resolve("likes tea");
    await vi.advanceTimersByTimeAsync(0);
    expect([await recall.ask(asking(3)), await recall.ask(asking(3))]).toEqual([
      { text: "likes tea", isFresh: false },
      nothing,
    ]);
  });
});

describe("of two late answers", () => {
  it("the one for the later turn is used, although the other one came last", async () => {
    const { asked, turn } = slowMemory();
    await turn(1);
    await vi.advanceTimersByTimeAsync(60_000); // the first call is taken for lost, so the second turn asks again
    await turn(2);
    asked[1]?.answer("newer");
    await vi.advanceTimersByTimeAsync(0);
    asked[0]?.answer("older");
    await vi.advanceTimersByTimeAsync(0);
    expect(await turn(3)).toBe("newer");
    asked[2]?.answer("");
    expect(await turn(4)).toBe("");
  });
});
