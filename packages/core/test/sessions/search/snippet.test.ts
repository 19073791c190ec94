import { describe, expect, it } from "vitest";
import { makeSnippet, makeSubstringSnippet } from "../../../src/sessions/search/snippet.ts";
import { pick, randomNumbers } from "../../fakes/random.ts";
import { growthOf } from "./growth.ts";
import { realFts5 } from "./real-fts5.ts";

const isNeedle = (term: string) => term === "needle";

/** `w0 w1 ...`, some of them replaced. */
function words(count: number, replaced: Readonly<Record<number, string>>): string {
  return Array.from({ length: count }, (_each, index) => replaced[index] ?? `w${index}`).join(" ");
}

describe("a snippet of words", () => {
  it("has the match in its middle, with dots where it is cut", () => {
    const snippet = makeSnippet(words(200, { 100: "needle" }), isNeedle);
    expect(snippet).toMatch(/^\.\.\.w81 .* w99 >>>needle<<< w101 .* w120\.\.\.$/);
    expect(snippet.split(" ")).toHaveLength(40);
  });

  it("keeps the blanks around a short text", () => {
    expect(makeSnippet("gizmo elsewhere  ", (term) => term === "gizmo")).toBe(">>>gizmo<<< elsewhere  ");
    expect(makeSnippet("  Re\u0301sume\u0301, sent\n", (term) => term === "resume")).toBe(
      "  >>>Re\u0301sume\u0301<<<, sent\n",
    );
  });

  it("marks a phrase as a whole, and its words alone not at all", () => {
    const text = "We chose the cobalt celadon finish, not the plain celadon.";
    expect(makeSnippet(text, () => false, [["cobalt", "celadon"]])).toBe(
      "We chose the >>>cobalt celadon<<< finish, not the plain celadon.",
    );
  });

  it("shows the beginning of a text in which nothing matches", () => {
    expect(makeSnippet(words(60, {}), isNeedle)).toBe(`${words(40, {})}...`);
    expect(makeSnippet("", isNeedle)).toBe("");
    expect(makeSnippet("?!", isNeedle)).toBe("?!");
  });

  it("is the one FTS5 makes, for texts of chance", () => {
    const random = randomNumbers(23);
    const ends = ["", "", "", "", "", "", ",", ".", ":", "!", ". ", ".\n", "é", " —", "。"];
    const texts = Array.from({ length: 1200 }, () => {
      const rarity = 2 + random() * 60;
      const length = Math.floor(random() * 160);
      return Array.from({ length }, (_each, index) => {
        const word = random() * rarity < 1 ? pick(["cat", "Dog", "bird"], random) : `w${index}`;
        return word + pick(ends, random);
      }).join(random() < 0.9 ? " " : "\n ");
    });
    const fts5 = realFts5(texts);
    const queries = [
      { match: "cat", single: ["cat"], phrases: [] },
      { match: "cat OR dog", single: ["cat", "dog"], phrases: [] },
      { match: '"cat dog"', single: [], phrases: [["cat", "dog"]] },
      {
        match: '"cat dog" OR "dog bird" OR bird',
        single: ["bird"],
        phrases: [
          ["cat", "dog"],
          ["dog", "bird"],
        ],
      },
      { match: '"cat dog" OR cat', single: ["cat"], phrases: [["cat", "dog"]] },
      {
        match: '"dog dog dog" OR "dog dog"',
        single: [],
        phrases: [
          ["dog", "dog", "dog"],
          ["dog", "dog"],
        ],
      },
    ];
    for (const { match, single, phrases } of queries) {
      const expected = fts5.snippets(match);
      expect(expected.length, match).toBeGreaterThan(10);
      const ours = expected.map(({ index }) => ({
        index,
        snippet: makeSnippet(texts[index] ?? "", (term) => single.includes(term), phrases),
      }));
      expect(ours, match).toEqual(expected);
    }
  });

  it("is the one FTS5 makes for a phrase longer than the snippet", () => {
    const phrase = words(50, {}).split(" ");
    const text = `${words(90, {})} end`;
    const [expected] = realFts5([`start ${text}`]).snippets(phrase.map((word) => `"${word}"`).join(" + "));
    expect(makeSnippet(`start ${text}`, () => false, [phrase])).toBe(expected?.snippet);
  });

  it.each(["needle ", "a. ", "needle. ", ". ", "   ", "needle needle w"])(
    "takes time in proportion to a run of %j",
    (unit) => {
      const run = (text: string) => makeSnippet(text, isNeedle, [["needle", "needle", "x"]]);
      expect(growthOf((size) => `w ${unit.repeat(size)}needle`, run, 5000)).toBeLessThan(4);
    },
  );
});

describe("a snippet of characters", () => {
  const long = "前".repeat(100);

  it("marks every needle, whatever its case", () => {
    expect(makeSubstringSnippet("我们用Docker部署，docker很快", ["docker", "部署"])).toBe(
      "我们用>>>Docker<<<>>>部署<<<，>>>docker<<<很快",
    );
  });

  it("shows about 120 characters around the match, with dots where it is cut", () => {
    const snippet = makeSubstringSnippet(`${long}釉料${long}`, ["釉料"]);
    expect(snippet).toBe(`...${"前".repeat(40)}>>>釉料<<<${"前".repeat(78)}...`);
    expect(makeSubstringSnippet(`釉料${long}${long}`, ["釉料"])).toMatch(/^>>>釉料<<<前+\.\.\.$/);
    expect(makeSubstringSnippet(`${long}${long}釉料`, ["釉料"])).toMatch(/^\.\.\.前+>>>釉料<<<$/);
  });

  it("prefers the place where most needles are", () => {
    const text = `窑${long}${long}窑和釉${long}${long}釉`;
    expect(makeSubstringSnippet(text, ["窑", "釉"])).toContain(">>>窑<<<和>>>釉<<<");
  });

  it("draws needles that overlap as one", () => {
    expect(makeSubstringSnippet("数据库备份", ["数据库", "库备"])).toBe(">>>数据库备<<<份");
  });

  it("shows the beginning of a text without the needle", () => {
    expect(makeSubstringSnippet(`${long}${long}`, ["釉", ""])).toBe(`${"前".repeat(120)}...`);
    expect(makeSubstringSnippet("", ["釉"])).toBe("");
  });

  it("cuts no character in half, and marks the right ones behind a letter that grows in lower case", () => {
    const text = `${"𠀀".repeat(101)}x釉${"𠀁".repeat(101)}`;
    expect(makeSubstringSnippet(text, ["釉"]).isWellFormed()).toBe(true);
    expect(makeSubstringSnippet("İİİ Kiln窑", ["kiln窑"])).toBe("İİİ >>>Kiln窑<<<");
  });

  it("shows as much as fits of a needle that is longer", () => {
    expect(makeSubstringSnippet(`a${long}${long}`, [long + long])).toBe(`a>>>${"前".repeat(119)}<<<...`);
  });

  it.each(["釉", "釉x", "x"])("takes time in proportion to a run of %j", (unit) => {
    const run = (text: string) => makeSubstringSnippet(text, ["釉", "釉x", "窑"]);
    expect(growthOf((size) => unit.repeat(size), run, 10_000)).toBeLessThan(4);
  });
});
