import { describe, expect, it } from "vitest";
import { HonchoRecall, levelOfPass, type RecallSettings } from "../../src/honcho/recall.ts";
import type { Level } from "../../src/honcho/settings.ts";

const SETTINGS: RecallSettings = {
  contextTokens: undefined,
  contextCadence: 1,
  dialecticCadence: 1,
  injectsFirstTurnOnly: false,
  level: "low",
  hasDynamicLevel: true,
  maxAnswerChars: 600,
  maxInputChars: 10_000,
  depth: 1,
  depthLevels: undefined,
  hasHeuristic: true,
  levelCap: "high",
  includesQuery: true,
  timeoutMs: 30_000,
};
const QUESTION = "What about the kiln in the yard?";
const signal = new AbortController().signal;

/** A recall with a scripted server. `answer` may hang by returning a promise that never settles. */
function scripted(
  settings: Partial<RecallSettings> = {},
  answer: (question: string, number: number) => string | Promise<string> = (_, number) => `answer ${number}`,
) {
  const asked: { question: string; level: Level }[] = [];
  const bases: (string | undefined)[] = [];
  let base = "the base";
  let now = 0;
  const recall = new HonchoRecall(
    { ...SETTINGS, ...settings },
    {
      fetchBase: async (query) => {
        bases.push(query);
        return {
          summary: base,
          user: { representation: "", card: [] },
          ai: { representation: "", card: [] },
        };
      },
      ask: async (question, level) => {
        asked.push({ question, level });
        return await answer(question, asked.length);
      },
    },
    { waitMs: 50, now: () => now },
  );
  return {
    recall,
    asked,
    bases,
    setBase: (text: string): void => {
      base = text;
    },
    pass: (ms: number): void => {
      now += ms;
    },
    turn: async (number: number, query = QUESTION) => {
      const { text } = await recall.take(query, number, signal);
      await recall.prepare(query, number, signal);
      return text;
    },
  };
}

/** Lets what has settled run on. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("the first turn", () => {
  it("waits for the base and for one answer, which is used once", async () => {
    const { recall, asked } = scripted();
    expect((await recall.take(QUESTION, 1, signal)).text).toBe("## Session Summary\nthe base\n\nanswer 1");
    expect(asked).toHaveLength(1);
    expect(asked[0]?.question).toContain(QUESTION);
    expect((await recall.take(QUESTION, 1, signal)).text).toBe("## Session Summary\nthe base");
  });

  it("uses what was prepared before it, without a second question", async () => {
    const { recall, asked, bases } = scripted();
    recall.prewarm(signal);
    await settle();
    expect((await recall.take(QUESTION, 1, signal)).text).toContain("answer 1");
    expect(asked).toHaveLength(1);
    expect(bases).toEqual([undefined]);
  });

  it("asks again when the answer before it was empty", async () => {
    const { recall, asked } = scripted({}, (_, number) => (number === 1 ? "" : "late"));
    recall.prewarm(signal);
    await settle();
    expect((await recall.take(QUESTION, 1, signal)).text).toContain("late");
    expect(asked).toHaveLength(2);
  });

  it("gets the base when the model does not answer in time, and the next turn gets the answer", async () => {
    const { promise, resolve: answer } = Promise.withResolvers<string>();
    const { recall } = scripted({}, () => promise);
    expect((await recall.take(QUESTION, 1, signal)).text).toBe("## Session Summary\nthe base");
    answer("at last");
    await settle();
    expect((await recall.take(QUESTION, 2, signal)).text).toContain("at last");
  });

  it("rejects when the server fails", async () => {
    const failing = new HonchoRecall(
      SETTINGS,
      { fetchBase: () => Promise.reject(new Error("down")), ask: () => Promise.reject(new Error("down")) },
      { waitMs: 50, now: () => 0 },
    );
    await expect(failing.take(QUESTION, 1, signal)).rejects.toThrow("down");
  });
});

describe("the cadence", () => {
  it("asks every N turns after an answer", async () => {
    const { turn, asked } = scripted({ dialecticCadence: 3 });
    const counts: number[] = [];
    for (let number = 1; number <= 7; number += 1) {
      await turn(number);
      counts.push(asked.length);
    }
    expect(counts).toEqual([1, 1, 1, 2, 2, 2, 3]);
  });

  it("widens while answers are empty, up to eight times, and an empty answer does not count as one", async () => {
    const { turn, recall } = scripted({ dialecticCadence: 2 }, () => "");
    for (let number = 1; number <= 200; number += 1) await turn(number);
    expect(recall.state()).toMatchObject({
      effective_cadence: 16,
      last_dialectic_turn: Number.NEGATIVE_INFINITY,
    });
    expect(recall.state().empty_streak).toBeGreaterThan(8);
    recall.noteReasoning();
    expect(recall.state()).toMatchObject({ empty_streak: 0, effective_cadence: 2, last_dialectic_turn: 200 });
  });

  it("of the base refreshes it every N turns", async () => {
    const { turn, bases } = scripted({ contextCadence: 3 });
    for (let number = 1; number <= 7; number += 1) await turn(number);
    expect(bases).toHaveLength(3);
  });

  it("does not stack questions, and gives up on one that is older than two timeouts", async () => {
    const { recall, asked, pass } = scripted({ timeoutMs: 1_000 }, () => new Promise<string>(() => {}));
    void recall.prepare(QUESTION, 1, signal);
    void recall.prepare(QUESTION, 2, signal);
    expect(asked).toHaveLength(1);
    pass(1_500);
    expect(recall.state()).toMatchObject({ thread_alive: true, thread_age_seconds: 1.5, turn_count: 2 });
    pass(1_000);
    expect(recall.state().thread_alive).toBe(false);
    void recall.prepare(QUESTION, 3, signal);
    expect(asked).toHaveLength(2);
  });

  it("drops an answer that is more than two cadences old, and keeps a fresh one", async () => {
    const fresh = scripted({ dialecticCadence: 2 });
    await fresh.recall.prepare(QUESTION, 1, signal);
    expect(fresh.recall.state().pending_result_fired_at).toBe(1);
    expect((await fresh.recall.take(QUESTION, 5, signal)).text).toContain("answer 1");
    const stale = scripted({ dialecticCadence: 2 });
    await stale.recall.prepare(QUESTION, 1, signal);
    expect((await stale.recall.take(QUESTION, 6, signal)).text).not.toContain("answer 1");
  });

  it("injects only in the first turn where that is asked for", async () => {
    const { turn } = scripted({ injectsFirstTurnOnly: true });
    expect(await turn(1)).toContain("the base");
    expect(await turn(2)).toBe("");
  });
});

describe("passes", () => {
  const raised = (chars: number, more: Partial<RecallSettings> = {}): Level =>
    levelOfPass({ ...SETTINGS, ...more }, 0, "x".repeat(chars));

  it("have levels by depth, by list, or one fixed level", () => {
    const levels = (settings: Partial<RecallSettings>) =>
      [0, 1, 2]
        .slice(0, settings.depth)
        .map((pass) => levelOfPass({ ...SETTINGS, ...settings }, pass, "short"));
    expect(levels({ depth: 1, level: "medium" })).toEqual(["medium"]);
    expect(levels({ depth: 2, level: "medium" })).toEqual(["minimal", "medium"]);
    expect(levels({ depth: 3, level: "medium" })).toEqual(["minimal", "medium", "low"]);
    expect(levels({ depth: 2, depthLevels: ["high", "max"] })).toEqual(["high", "max"]);
    expect(levels({ depth: 3, hasDynamicLevel: false })).toEqual(["low", "low", "low"]);
  });

  it("think harder about longer messages, up to a cap", () => {
    expect([119, 120, 399, 400].map((chars) => raised(chars))).toEqual(["low", "medium", "medium", "high"]);
    expect(raised(400, { level: "medium" })).toBe("high");
    expect(raised(400, { level: "medium", levelCap: "max" })).toBe("max");
    expect(raised(400, { hasHeuristic: false })).toBe("low");
  });

  it("stop when an answer suffices, and the last answer that is not empty counts", async () => {
    const deep = scripted({ depth: 3 }, (_, number) => ["first", "second", ""][number - 1] ?? "");
    expect((await deep.recall.take(QUESTION, 1, signal)).text).toContain("second");
    expect(deep.asked).toHaveLength(3);
    const early = scripted({ depth: 3 }, () => "long ".repeat(80));
    await early.recall.take(QUESTION, 1, signal);
    expect(early.asked).toHaveLength(1);
  });

  it("cut questions and answers to their limits", async () => {
    const { recall, asked } = scripted({ maxInputChars: 100, maxAnswerChars: 40 }, () => "word ".repeat(50));
    const { text } = await recall.take("x ".repeat(500), 1, signal);
    expect(asked[0]?.question.length).toBeLessThanOrEqual(100);
    expect(text.split("\n\n")[1]?.length).toBeLessThanOrEqual(40);
    expect(text).toMatch(/ …$/);
  });
});

describe("what was fetched", () => {
  it("is dropped with the base, and fetched again before the next turn", async () => {
    const { recall, setBase, bases } = scripted();
    await recall.take(QUESTION, 1, signal);
    setBase("changed");
    expect((await recall.take(QUESTION, 2, signal)).text).toContain("the base");
    recall.dropBase();
    expect((await recall.take(QUESTION, 3, signal)).text).toContain("changed");
    expect(bases).toHaveLength(2);
  });

  it("before it was dropped does not come back when a slow fetch ends", async () => {
    const { recall, setBase } = scripted();
    recall.prewarm(signal);
    recall.drop();
    setBase("new");
    const { text } = await recall.take(QUESTION, 1, signal);
    expect(text).toContain("new");
    expect(text).not.toContain("answer 1\n");
  });

  it("is cut to the budget of tokens", async () => {
    const { recall, setBase } = scripted({ contextTokens: 20 });
    setBase("word ".repeat(100));
    const { text } = await recall.take(QUESTION, 1, signal);
    expect([...text].length).toBeLessThanOrEqual(80);
    expect(text).toMatch(/ …$/);
  });
});

describe("a fetch that hangs", () => {
  /** A server whose answers are given by hand. */
  function hanging() {
    const fetches: { readonly signal: AbortSignal; readonly answer: (text: string) => void }[] = [];
    let now = 0;
    const recall = new HonchoRecall(
      SETTINGS,
      {
        fetchBase: (_query, fetching) =>
          new Promise((resolve, reject) => {
            const nothing = { representation: "", card: [] };
            fetching.addEventListener("abort", () => reject(fetching.reason));
            const answer = (summary: string): void => resolve({ summary, user: nothing, ai: nothing });
            fetches.push({ signal: fetching, answer });
          }),
        ask: async () => "",
      },
      { waitMs: 5, hangingMs: 10_000, now: () => now },
    );
    const turn = async (number: number) => {
      const { text } = await recall.take(QUESTION, number, signal, false);
      void recall.prepare(QUESTION, number, signal);
      await settle();
      return text;
    };
    const pass = (ms: number): void => {
      now += ms;
    };
    return { fetches, turn, pass };
  }

  it("is begun again by the next turn after 10 s, and not before", async () => {
    const { fetches, turn, pass } = hanging();
    await turn(1);
    pass(9_999);
    await turn(2);
    expect(fetches).toHaveLength(1);
    pass(1);
    await turn(3);
    expect(fetches).toHaveLength(2);
    expect(fetches[0]?.signal.aborted).toBe(true);
    fetches[1]?.answer("the base");
    await settle();
    expect(await turn(4)).toContain("the base");
  });

  it("does not count any more when its answer comes late", async () => {
    const { fetches, turn, pass } = hanging();
    await turn(1);
    pass(10_000);
    await turn(2);
    fetches[0]?.answer("the old base");
    await settle();
    expect(await turn(3)).toBe("");
  });
});
