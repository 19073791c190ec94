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

  it("gets the base when the model does not answer in time, and the next turn gets the answer", async () => {
    const { promise, resolve: answer } = Promise.withResolvers<string>();
    const { recall } = scripted({}, () => promise);
    expect((await recall.take(QUESTION, 1, signal)).text).toBe("## Session Summary\nthe base");
    answer("at last");
    await settle();
    expect((await recall.take(QUESTION, 2, signal)).text).toContain("at last");
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
    let answer = "";
    const { turn, asked } = scripted({ dialecticCadence: 2 }, () => answer);
    const turnsOfQuestions: number[] = [];
    for (let number = 1; number <= 60; number += 1) {
      const before = asked.length;
      if (number === 20) answer = "known";
      if (number === 21) answer = "";
      await turn(number);
      if (asked.length > before) turnsOfQuestions.push(number);
    }
    // Every turn until something was answered, then further and further apart.
    expect(turnsOfQuestions.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    expect(turnsOfQuestions.slice(20, 23)).toEqual([22, 23, 24]);
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
    void recall.prepare(QUESTION, 2, signal);
    expect(asked).toHaveLength(1);
    pass(1_000);
    void recall.prepare(QUESTION, 3, signal);
    expect(asked).toHaveLength(2);
  });

  it("drops an answer that is more than two cadences old, and keeps a fresh one", async () => {
    const fresh = scripted({ dialecticCadence: 2 });
    await fresh.recall.prepare(QUESTION, 1, signal);
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
