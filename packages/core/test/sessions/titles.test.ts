// Titles are one clean line of at most a hundred characters, numbered along a lineage.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pyStrip } from "../../src/lib/index.ts";
import {
  baseOfTitle,
  collapseWhitespace,
  MAX_TITLE_CHARS,
  nextTitle,
  numberOfTitle,
  sanitizeTitle,
  sessionPreview,
  userMessagePreview,
} from "../../src/sessions/titles.ts";

const unit = fc.constantFrom(
  "a",
  "#",
  " #",
  " ",
  "2",
  "10",
  "😀",
  "\ud83d",
  "\t",
  "\u0000",
  "\u200b",
  "\u2028",
  "\u00a0",
);
const roughTitle = fc.string({ unit, maxLength: 60 });
const cleanTitle = roughTitle.map((title) => sanitizeTitle(title)).filter((title) => title !== null);

describe("a clean title", () => {
  it.each([
    ["a\tb\nc", "a b c"],
    ["a\u000bb", "ab"],
    ["a\u2028b", "ab"],
    ["a\u00a0b", "a b"],
    ["a\u180eb", "a\u180eb"],
    ["a\u0085b", "a b"],
    ["  \u200b ", null],
    ["half \ud83d", "half \ufffd"],
    ["", null],
    [null, null],
    [undefined, null],
  ])("of %j is %j", (title, clean) => {
    expect(sanitizeTitle(title)).toBe(clean);
  });

  it("may have a hundred characters of any plane, not one more", () => {
    expect(sanitizeTitle(` ${"😀".repeat(100)} `)).toBe("😀".repeat(100));
    expect(() => sanitizeTitle("😀".repeat(101))).toThrow(
      expect.objectContaining({ code: "title-too-long", message: "Title too long (101 chars, max 100)" }),
    );
  });

  it("is clean already when it is cleaned again", () => {
    fc.assert(
      fc.property(cleanTitle, (title) => {
        expect(sanitizeTitle(title)).toBe(title);
        expect(title.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe("numbers", () => {
  it("are taken off once", () => {
    expect(["kiln", "kiln #2", "kiln #2 #3", "kiln #", "kiln#2", "#5", "kiln #2b"].map(baseOfTitle)).toEqual([
      "kiln",
      "kiln",
      "kiln #2",
      "kiln #",
      "kiln#2",
      "#5",
      "kiln #2b",
    ]);
  });

  it("belong to exactly their base", () => {
    const numbers = ["kiln", "kiln #2", "kiln #010", "kiln #2 #3", "kiln #abc", "Kiln #2", "other", "kiln #"];
    expect(numbers.map((title) => numberOfTitle("kiln", title))).toEqual([
      1,
      2,
      10,
      null,
      null,
      null,
      null,
      null,
    ]);
  });

  it("too long to count with are part of the name", () => {
    const title = `kiln #${"9".repeat(40)}`;
    expect(baseOfTitle(title)).toBe(title);
    expect(nextTitle(title, [title])).toBe(`${title} #2`);
  });
});

describe("the next title", () => {
  const proj = ["proj", "proj #2", "proj #10", "proj #abc", "proj #3 #4"];

  it.each([
    ["proj", proj, "proj #11"],
    ["proj #2", proj, "proj #11"],
    ["proj #7", proj, "proj #11"],
    ["proj #3 #4", ["proj #3 #4"], "proj #3 #5"],
    ["new #5", [], "new"],
    ["x #", [], "x #"],
    ["only", ["only #4"], "only #5"],
    ["odd", ["odd #abc"], "odd #2"],
  ])("of %j beside %j is %j", (base, existing, next) => {
    expect(nextTitle(base, existing)).toBe(next);
  });

  it("finds room for the number in a title that has none, between characters and without a blank before it", () => {
    expect(nextTitle("x".repeat(100), ["x".repeat(100)])).toBe(`${"x".repeat(97)} #2`);
    const faces = "😀".repeat(100);
    expect(nextTitle(faces, [faces])).toBe(`${"😀".repeat(97)} #2`);
    const spaced = `${"x".repeat(96)} yyy`;
    expect(nextTitle(spaced, [spaced])).toBe(`${"x".repeat(96)} #2`);
  });

  it("gives a free and valid title however often it is asked, taken ones asked again", () => {
    const bases = fc.oneof(
      cleanTitle,
      fc.constantFrom("x".repeat(100), "😀".repeat(99), `${"y".repeat(95)} #99`),
    );
    fc.assert(
      fc.property(bases, fc.integer({ min: 1, max: 12 }), (base, times) => {
        const titles = new Set([base]);
        for (let i = 0; i < times; i += 1) {
          let next = nextTitle(base, lineOf(base, titles));
          while (titles.has(next)) next = nextTitle(next, lineOf(next, titles));
          expect(sanitizeTitle(next)).toBe(next);
          expect([...next].length).toBeLessThanOrEqual(MAX_TITLE_CHARS);
          titles.add(next);
        }
        expect(titles.size).toBe(times + 1);
      }),
    );
  });
});

function lineOf(base: string, titles: Iterable<string>): string[] {
  const stem = baseOfTitle(base);
  return [...titles].filter((title) => title === stem || title.startsWith(`${stem} #`));
}

// ---- Previews ----
// Compared with slow but obvious implementations.

const text = fc.string({
  unit: fc.constantFrom("a", "bc", "😀", " ", "\n", "\r\n", "\t", "\u2003", "\u0085", "\ufeff", "é"),
  maxLength: 120,
});
const PYTHON_BLANKS = /[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

describe("the preview of a session", () => {
  it("is the beginning of the text, at most sixty characters and three dots", () => {
    fc.assert(
      fc.property(text, (content) => {
        const head = pyStrip(
          [...content]
            .slice(0, 63)
            .join("")
            .replace(/[\n\r]/g, " "),
        );
        const shown = [...head].length > 60 ? `${[...head].slice(0, 60).join("")}...` : head;
        expect(sessionPreview(content)).toBe(shown);
        expect(sessionPreview(content).isWellFormed()).toBe(true);
      }),
    );
  });

  it("shows the text of structured content, and nothing when it has none", () => {
    expect(sessionPreview([{ type: "image_url" }, { type: "text", text: "see\nthis" }])).toBe("see this");
    expect(sessionPreview([{ type: "image_url" }])).toBe("");
    expect(sessionPreview({ type: "weird" })).toBe("");
    expect(sessionPreview(null)).toBe("");
  });
});

describe("the preview of a user message", () => {
  it("has its blanks collapsed, at most eighty characters, the last three dots when cut", () => {
    fc.assert(
      fc.property(text, (content) => {
        const line = content.split(PYTHON_BLANKS).filter(Boolean).join(" ");
        const shown = [...line].length > 80 ? `${[...line].slice(0, 77).join("")}...` : line;
        expect(userMessagePreview(content)).toBe(shown);
        expect(userMessagePreview(content).isWellFormed()).toBe(true);
      }),
    );
  });

  it("shows the text parts of a list, or says that there is none", () => {
    expect(userMessagePreview(["one", { type: "text", text: "two" }])).toBe("one two");
    expect(userMessagePreview([{ type: "image_url" }])).toBe("[multimodal content]");
  });

  it("is empty for other structures and for no content", () => {
    expect(userMessagePreview({ type: "weird", value: 5 })).toBe("");
    expect(userMessagePreview(null)).toBe("");
  });
});

describe("collapsing", () => {
  it("stops early only where enough is there", () => {
    fc.assert(
      fc.property(text, fc.nat(40), (content, enough) => {
        const all = collapseWhitespace(content);
        const some = collapseWhitespace(content, enough);
        expect(all.startsWith(some)).toBe(true);
        if (some !== all) expect([...some].length).toBeGreaterThanOrEqual(enough);
      }),
    );
  });
});
