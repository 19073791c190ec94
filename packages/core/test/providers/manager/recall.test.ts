// Recall that comes too late, is too old, or belongs to another session. Uses fake timers.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MemoryManager } from "../../../src/providers/manager/manager.ts";
import type { MemoryManagerOptions } from "../../../src/providers/manager/options.ts";
import { provider, recordingLogger } from "../../fakes/providers.ts";

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

  it.each(["", "  ", 7, null])("that is %j is nothing", async (nothing) => {
    const { asked, turn } = slowMemory();
    await turn(1);
    asked[0]?.answer(nothing as string);
    expect(await turn(2)).toBe("");
  });

  it("of another session is dropped", async () => {
    const { asked, turn } = slowMemory();
    await turn(1, "s1");
    asked[0]?.answer("a secret of s1");
    expect(await turn(2, "s2")).toBe("");
    expect(await turn(3, "s1")).toBe(""); // and gone
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

  it("drops a late answer that came before it", async () => {
    const { manager, asked, turn } = slowMemory();
    await turn(1);
    asked[0]?.answer("a secret of s1");
    await vi.advanceTimersByTimeAsync(0);
    await manager.onSessionSwitch("s1", { rewound: true });
    expect(await turn(2)).toBe("");
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
