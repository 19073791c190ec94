// The terms of a query, without an index.
import { describe, expect, it } from "vitest";
import {
  atEndOfRun,
  exactTerm,
  nameFound,
  pairsOf,
  parseQuery,
  termsOf,
  withoutStopWords,
} from "../../../src/sessions/search/query.ts";

function plain(query: string) {
  const parsed = parseQuery(query);
  return parsed.kind === "plain" ? withoutStopWords(parsed.terms).map(({ words }) => words.join(" ")) : [];
}

describe("the terms of a plain query", () => {
  it("leave out stop words and what an apostrophe cuts off", () => {
    expect(plain("what is Maria's new kiln")).toEqual(["maria", "new", "kiln"]);
  });

  it("are all words when there is nothing else", () => {
    expect(plain("who is it")).toEqual(["who", "is", "it"]);
  });
});

it("the terms of an expression do not include excluded words", () => {
  const parsed = parseQuery('"kiln glaze" OR ash* NOT copper');
  const terms = parsed.kind === "explicit" ? termsOf(parsed.expression) : [];
  expect(terms.map(({ words, isPrefix }) => [words.join(" "), isPrefix])).toEqual([
    ["kiln glaze", false],
    ["ash", true],
  ]);
});

it("a guessed term is named by the forms that a message contains", () => {
  const guess = { ...exactTerm(["kilm"]), forms: ["kiln", "kilt"], isGuess: true };
  expect(nameFound(guess, "the Kiln is hot")).toBe("kiln");
  expect(nameFound(guess, "nothing here")).toBe("kilm");
  expect(nameFound({ ...guess, isGuess: false }, "the kiln")).toBe("kilm");
});

describe("a run of a script without blanks", () => {
  it("is split into its pairs of characters", () => {
    expect(pairsOf(exactTerm(["部署方案"])).map(({ words }) => words[0])).toEqual(["部署", "署方", "方案"]);
    expect(pairsOf(exactTerm(["kiln"]))).toEqual([]);
  });

  it("is found at the end of a longer run by its last character", () => {
    expect(atEndOfRun(exactTerm(["서울"]))).toBe('"서울" + "울"');
  });
});
