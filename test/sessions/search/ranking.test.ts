// What makes one message a better answer than another.
import { describe, expect, it } from "vitest";
import { type Candidate, groupScore, rank, rarity } from "../../../src/sessions/search/ranking.ts";

function message(id: number, more: Partial<Candidate> = {}): Candidate {
  const plain = { session: `s${id}`, timestamp: 0, length: 10, counts: [1], before: [], after: [] };
  return { id, ...plain, ...more };
}

function order(
  candidates: readonly Candidate[],
  weights: readonly number[] = [1],
  spans: { from: number; to: number }[] = [],
) {
  return rank({ candidates, weights, spans }).map(({ candidate }) => candidate.id);
}

describe("ranking", () => {
  it("has nothing to say about no messages", () => {
    expect(order([])).toEqual([]);
  });

  it("equal messages stand in the order of their ids, however they come", () => {
    expect(order([message(3), message(1), message(2)])).toEqual([1, 2, 3]);
  });

  it("a rare word counts for more than a common one", () => {
    expect(order([message(1, { counts: [1, 0] }), message(2, { counts: [0, 1] })], [1, 5])).toEqual([2, 1]);
  });

  it("two words count for more than one of them said often", () => {
    expect(order([message(1, { counts: [9, 0] }), message(2, { counts: [1, 1] })], [1, 1])).toEqual([2, 1]);
  });

  it("a short message says it more clearly than a long one", () => {
    expect(order([message(1, { length: 500 }), message(2, { length: 5 })])).toEqual([2, 1]);
  });

  it("a match right beside speaks for a message, the nearer the more, and one before it more than one after it", () => {
    const others = [message(10, { session: "x" }), message(20, { session: "x" })];
    const near = (id: number, more: Partial<Candidate>) => message(id, { session: "x", ...more });
    const before = near(3, { before: [10] });
    const after = near(2, { after: [20] });
    const farther = near(1, { before: [undefined, 10] });
    const alone = near(4, {});
    expect(order([alone, farther, after, before, ...others]).slice(0, 3)).toEqual([3, 2, 1]);
  });

  it("a neighbour that does not match, or is none, changes nothing", () => {
    const scores = rank({
      candidates: [message(1, { before: [99, undefined] }), message(2)],
      weights: [1],
      spans: [],
    });
    expect(scores[0]?.score).toBe(scores[1]?.score);
  });

  it("the rest of the session speaks for its messages", () => {
    const together = [
      message(5, { session: "x", counts: [1, 0] }),
      message(6, { session: "x", counts: [0, 1] }),
    ];
    expect(order([message(1, { counts: [1, 0] }), ...together], [1, 1])[2]).toBe(1);
  });

  it("a message of a named time comes first, one of the days after it next", () => {
    const day = 86_400;
    const span = { from: 100 * day, to: 101 * day };
    const at = (id: number, days: number) => message(id, { timestamp: days * day });
    expect(order([at(1, 50), at(2, 105), at(3, 100.5), at(4, 99.9), at(5, 200)], [1], [span])).toEqual([
      3, 2, 1, 4, 5,
    ]);
  });

  it("the end of a span is not part of it", () => {
    const span = { from: 0, to: 100 };
    const [first] = rank({
      candidates: [message(1, { timestamp: 100 }), message(2, { timestamp: 99 })],
      weights: [1],
      spans: [span],
    });
    expect(first?.candidate.id).toBe(2);
  });

  it("scores are numbers, whatever the messages", () => {
    for (const { score } of rank({
      candidates: [message(1, { length: 0, counts: [] }), message(2, { counts: [0] })],
      weights: [0],
      spans: [],
    }))
      expect(score).toBe(0);
  });
});

describe("the weight of a word", () => {
  it("falls with the number of messages that hold it, and is never negative", () => {
    const weights = [0, 1, 10, 500, 999, 1000, 2000].map((holders) => rarity(holders, 1000));
    expect(weights).toEqual([...weights].sort((a, b) => b - a));
    for (const weight of weights) expect(weight).toBeGreaterThanOrEqual(0);
    expect(rarity(1, 1000)).toBeGreaterThan(rarity(500, 1000));
  });
});

describe("the score of a lineage", () => {
  it("is that of its best message, and a little of the next two", () => {
    expect(groupScore([])).toBe(0);
    expect(groupScore([4])).toBe(4);
    expect(groupScore([1, 4, 2])).toBe(groupScore([4, 2, 1]));
    expect(groupScore([4, 2])).toBeGreaterThan(4);
  });

  it("does not grow with the number of messages beyond that", () => {
    expect(groupScore(Array<number>(1000).fill(1))).toBe(groupScore([1, 1, 1]));
  });
});
