import { describe, expect, it } from "vitest";
import { frontOf, type Place, placeOf } from "../../src/adapters/ai-sdk-follow.ts";
import { type Message, newMessage, textOf } from "../../src/message/index.ts";

/** `q1` is said by the user, everything else by the assistant. */
function said(...words: string[]): Message[] {
  return words.map((content) =>
    content.startsWith("q")
      ? newMessage({ role: "user", content })
      : newMessage({ role: "assistant", content, toolCalls: [] }),
  );
}

const texts = (messages: readonly Message[]): string[] => messages.map(({ content }) => textOf(content));
const CHAT = said("q1", "a1", "q2", "a2", "q3", "a3");

function placed(given: readonly Message[], follow?: boolean) {
  const place = placeOf(CHAT, given, follow);
  return place && { before: texts(place.before), turns: place.turns, own: texts(place.own) };
}

describe("where a list leaves the chat", () => {
  it.each([
    ["an answer is made again", ["q1", "a1", "q2", "a2", "q3"], { before: [], turns: 1, own: [] }],
    ["an older answer is made again", ["q1", "a1", "q2"], { before: [], turns: 2, own: [] }],
    ["a question was changed", ["q1", "a1", "q2", "a2", "q3 changed"], { before: [], turns: 1, own: [] }],
  ])("%s", (_case, list, expected) => {
    expect(placed(said(...list))).toEqual(expected);
    expect(placed(said(...list), true)).toEqual(expected);
  });

  it("takes a list with other words in the middle for one of its own, unless it is said to be the chat", () => {
    const list = said("q1", "a1", "q3", "a3", "q4");
    expect(placed(list)).toBeUndefined();
    expect(placed(list, true)).toEqual({ before: [], turns: 2, own: ["q3", "a3"] });
  });

  it("takes a list that begins later for the newest part of the chat", () => {
    expect(placed(said("q2", "a2", "q3"), true)).toEqual({ before: ["q1", "a1"], turns: 1, own: [] });
  });
});

describe("what a model gets in front of the question", () => {
  const place: Place = { before: [], turns: 1, own: [] };

  it("is shortened by whole turns, the oldest first", () => {
    const front = texts(frontOf(CHAT, place, [], 30));
    expect(front.length).toBeLessThan(4);
    expect(["q1", "a1", "q2", "a2"].slice(-front.length || 4)).toEqual(front);
  });

  it("is the caller's own list if the summary also tells what came later", () => {
    const [summary, ...rest] = [
      newMessage({
        role: "assistant",
        content: "[CONTEXT COMPACTION — REFERENCE ONLY] q1 to q3",
        toolCalls: [],
      }),
      ...said("q3", "a3"),
    ];
    const list = said("q1", "a1");
    expect(texts(frontOf([summary, ...rest] as Message[], { ...place, turns: 2 }, list, 1_000))).toEqual([
      "q1",
      "a1",
    ]);
  });
});
