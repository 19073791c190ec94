import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chunked, dialecticQuestion, isSufficient } from "../../src/honcho/texts.ts";

const length = (text: string): number => [...text].length;

describe("a long message", () => {
  it("is cut at a paragraph, else a sentence, else a word, else anywhere", () => {
    const limit = 60;
    const start = "a".repeat(30);
    expect(chunked(`${start}\n\n${"b".repeat(40)}`, limit)).toEqual([start, `[continued] ${"b".repeat(40)}`]);
    expect(chunked(`${start}. ${"b".repeat(40)}`, limit)[0]).toBe(`${start}.`);
    expect(chunked(`${start} ${"b".repeat(40)}`, limit)[0]).toBe(start);
    expect(chunked("c".repeat(70), limit)).toEqual(["c".repeat(60), `[continued] ${"c".repeat(10)}`]);
    // A cut before 30 % of the chunk would make too many of them.
    expect(chunked(`aa\n\n${"b".repeat(90)}`, limit)[0]).toHaveLength(60);
  });

  it("loses no word and keeps every part within the limit", () => {
    const texts = fc.array(fc.constantFrom("a", "bb", " ", "\n\n", ". ", "é", "👩‍👧"), { maxLength: 300 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 20, max: 80 }), (parts, limit) => {
        const text = parts.join("");
        const chunks = chunked(text, limit);
        for (const chunk of chunks) {
          expect(length(chunk)).toBeLessThanOrEqual(limit);
          expect(chunk.isWellFormed()).toBe(true);
        }
        const joined = chunks.map((chunk) => chunk.replace("[continued] ", "")).join("");
        expect(joined.replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
      }),
    );
  });
});

describe("a question to Honcho's model", () => {
  it("holds the user's message in the first pass, and earlier answers later", () => {
    const first = { isCold: true, message: "Plan my week", answers: [] };
    expect(dialecticQuestion(first)).toContain("Plan my week");
    expect(dialecticQuestion({ ...first, message: "" })).not.toContain("Their current message");
    expect(dialecticQuestion({ ...first, isCold: false })).not.toBe(dialecticQuestion(first));
    expect(dialecticQuestion({ ...first, answers: ["tea"] })).toContain("tea");
    expect(dialecticQuestion({ ...first, answers: ["tea", ""] })).toContain("(empty)");
  });

  it("needs no further pass after a long or structured answer", () => {
    expect(isSufficient("x".repeat(301))).toBe(true);
    expect(isSufficient(`${"x".repeat(120)}\n- point`)).toBe(true);
    expect(isSufficient("x".repeat(120))).toBe(false);
    expect(isSufficient("- a\n- b")).toBe(false);
  });
});
