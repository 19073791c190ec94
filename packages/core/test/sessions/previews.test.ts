// Previews are one line, short, and cut between characters; compared with slow but obvious ways to make them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pyStrip } from "../../src/lib/index.ts";
import { collapseWhitespace, sessionPreview, userMessagePreview } from "../../src/sessions/titles.ts";

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

  it("turns each line break into one blank and leaves other blanks alone", () => {
    expect(sessionPreview(" a\r\nb\tc  d\n")).toBe("a  b\tc  d");
  });

  it("counts an emoji as one character", () => {
    expect(sessionPreview("😀".repeat(60))).toBe("😀".repeat(60));
    expect(sessionPreview("😀".repeat(61))).toBe(`${"😀".repeat(60)}...`);
  });

  it("does not call blanks at the end cut text", () => {
    expect(sessionPreview(`${"x".repeat(60)}   and more`)).toBe("x".repeat(60));
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

  it("is cut when words follow a line that is exactly full", () => {
    expect(userMessagePreview("x".repeat(80))).toBe("x".repeat(80));
    expect(userMessagePreview(`${"x".repeat(80)} y`)).toBe(`${"x".repeat(77)}...`);
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
