// Answers for a small window: valid JSON of the same shape, within the budget if possible, and saying what is missing.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitAnswer } from "../../../src/sessions/search-tool/fit-answer.ts";

type Message = {
  readonly id: number;
  readonly content: unknown;
  readonly anchor?: true;
  readonly content_truncated?: true;
};
type Result = {
  readonly session_id: string;
  readonly snippet: string;
  readonly bookend_start: readonly Message[];
  readonly messages: readonly Message[];
  readonly bookend_end: readonly Message[];
};
type Answer = {
  readonly success: true;
  readonly results: readonly Result[];
  readonly count: number;
  readonly shortened?: string;
};

function message(id: number, chars: number, more: object = {}): Message {
  return { id, content: `${id} ${"word ".repeat(Math.ceil(chars / 5))}`.slice(0, chars), ...more };
}

function discovered(results: number, chars: number): Answer {
  return {
    success: true,
    results: Array.from({ length: results }, (_, at) => {
      const hidden = `${"hay ".repeat(chars / 4)}the needle${" hay".repeat(chars / 4)}`;
      return {
        session_id: `s${at}`,
        snippet: "...hay the >>>needle<<< hay...",
        bookend_start: [message(1, chars), message(2, chars)],
        messages: [
          message(3, chars),
          message(4, chars),
          { id: 5, content: hidden, anchor: true as const },
          message(6, chars),
          message(7, chars),
        ],
        bookend_end: [message(8, chars)],
      };
    }),
    count: results,
  };
}

const within = (chars: number) => (text: string) => text.length <= chars;
const sizeOf = (value: object): number => JSON.stringify(value).length;

describe("an answer that has to be short", () => {
  it("is left alone when it is short enough, and so is a failure", () => {
    const answer = discovered(2, 100);
    expect(fitAnswer(answer, within(1_000_000))).toBe(answer);
    const failure = { success: false, error: "x".repeat(500) };
    expect(fitAnswer(failure, within(10))).toBe(failure);
  });

  it("keeps every result and message while shorter texts will do, and shows the match", () => {
    const fitted = fitAnswer(discovered(3, 4_000), within(20_000)) as Answer;
    expect(sizeOf(fitted)).toBeLessThanOrEqual(20_000);
    expect(sizeOf(fitted)).toBeGreaterThan(15_000);
    expect(fitted.results.map(({ messages }) => messages.length)).toEqual([5, 5, 5]);
    for (const { messages } of fitted.results) {
      expect(messages[2]?.content).toContain("needle");
      expect(messages[2]).toMatchObject({ anchor: true, content_truncated: true });
    }
    expect(fitted.shortened).toMatch(/^To fit your context window, \d+ long texts are cut\. /);
  });

  it("then leaves out what is far from the match, then whole results, and counts what is missing", () => {
    const few = fitAnswer(discovered(4, 4_000), within(3_500)) as Answer;
    expect(sizeOf(few)).toBeLessThanOrEqual(3_500);
    expect(few.results).toHaveLength(4);
    expect(few.results.every(({ messages }) => messages.some(({ anchor }) => anchor))).toBe(true);
    expect(few.shortened).toMatch(/\d+ messages are left out/);
    const one = fitAnswer(discovered(4, 4_000), within(1_200)) as Answer;
    expect(sizeOf(one)).toBeLessThanOrEqual(1_200);
    expect(one.results.length).toBeLessThan(4);
    expect(one.count).toBe(one.results.length);
    expect(one.shortened).toContain(`${4 - one.results.length} results are left out`);
  });

  it("keeps the first and the last messages of a session that is read", () => {
    const read = {
      success: true,
      mode: "read",
      messages: Array.from({ length: 30 }, (_, at) => message(at, 900)),
    };
    const fitted = fitAnswer(read, within(1_900)) as { readonly messages: readonly Message[] };
    expect(sizeOf(fitted)).toBeLessThanOrEqual(1_900);
    expect(fitted.messages[0]?.id).toBe(0);
    expect(fitted.messages.at(-1)?.id).toBe(29);
  });

  it("cuts recaps, titles and queries too", () => {
    const recap = {
      success: true,
      query: "q".repeat(900),
      results: [{ summary: "s".repeat(9_000), title: "t" }],
      count: 1,
    };
    expect(sizeOf(fitAnswer(recap, within(2_000)))).toBeLessThanOrEqual(2_000);
  });

  it("fits every budget from a few hundred characters on, whatever is in it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10 }),
        fc.integer({ min: 0, max: 3_000 }),
        fc.integer({ min: 900, max: 60_000 }),
        (results, chars, budget) => {
          const fitted = fitAnswer(discovered(results, chars), within(budget));
          expect(sizeOf(fitted)).toBeLessThanOrEqual(budget);
          expect(fitted).toMatchObject({ success: true });
        },
      ),
      { numRuns: 200 },
    );
  });
});
