import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutAroundQuery } from "../../../src/sessions/summarize/transcript.ts";

const EARLIER = "...[earlier conversation truncated]...\n\n";
const LATER = "\n\n...[later conversation truncated]...";

/** Dots, with texts put at positions. */
function dots(length: number, texts: Readonly<Record<number, string>>): string {
  let line = ".".repeat(length);
  for (const [at, text] of Object.entries(texts))
    line = line.slice(0, Number(at)) + text + line.slice(Number(at) + text.length);
  return line;
}

describe("cutting a transcript around the query", () => {
  it("leaves a text within the budget as it is", () => {
    expect(cutAroundQuery("x".repeat(100), "query", { maxChars: 100 })).toBe("x".repeat(100));
    expect(cutAroundQuery("x".repeat(100_000), "query")).toHaveLength(100_000);
    expect(cutAroundQuery("x".repeat(100_001), "query")).toBe("x".repeat(100_000) + LATER);
  });

  it("shows a quarter before a match in the middle and three quarters after it", () => {
    const text = dots(10_000, { 5000: "Needle" });
    expect(cutAroundQuery(text, "needle", { maxChars: 400 })).toBe(EARLIER + text.slice(4900, 5300) + LATER);
  });

  it("stays inside the text at both ends", () => {
    const atStart = dots(1000, { 20: "needle" });
    expect(cutAroundQuery(atStart, "needle", { maxChars: 400 })).toBe(atStart.slice(0, 400) + LATER);
    const atEnd = dots(1000, { 980: "needle" });
    expect(cutAroundQuery(atEnd, "needle", { maxChars: 400 })).toBe(EARLIER + atEnd.slice(600));
  });

  it("shows the beginning when nothing matches, or the fallback", () => {
    const text = dots(1000, { 700: "[#7]" });
    expect(cutAroundQuery(text, "needle", { maxChars: 100 })).toBe(text.slice(0, 100) + LATER);
    expect(cutAroundQuery(text, "needle", { maxChars: 100, fallback: "[#7]" })).toBe(
      EARLIER + text.slice(675, 775) + LATER,
    );
    expect(cutAroundQuery(text, "", { maxChars: 100 })).toBe(text.slice(0, 100) + LATER);
  });

  it("prefers the whole phrase to an earlier word of it", () => {
    const text = dots(10_000, { 100: "blue", 200: "blue", 8000: "blue kiln" });
    expect(cutAroundQuery(text, '"blue kiln"', { maxChars: 400 })).toBe(
      EARLIER + text.slice(7900, 8300) + LATER,
    );
  });

  it("prefers words close together to a word alone", () => {
    const text = dots(20_000, { 100: "kiln", 300: "kiln", 9000: "blue", 9150: "kiln", 15000: "blue" });
    const cut = cutAroundQuery(text, "kiln blue", { maxChars: 1000 });
    expect(cut).toBe(EARLIER + text.slice(8750, 9750) + LATER);
  });

  it("covers as many matches as one window can", () => {
    const text = dots(20_000, { 1000: "kiln", 9000: "kiln", 9200: "kiln", 9400: "kiln" });
    expect(cutAroundQuery(text, "kiln", { maxChars: 1000 })).toBe(EARLIER + text.slice(8750, 9750) + LATER);
  });

  it("reads operators and signs of the query language as such", () => {
    const text = dots(5000, { 3000: "deployment" });
    expect(cutAroundQuery(text, "deploy* OR nothing", { maxChars: 100 })).toContain("deployment");
  });

  it("keeps positions true where lower case is longer, and cuts no character in two", () => {
    const text = `${"İ".repeat(3000)}needle${"😀".repeat(3000)}`;
    expect(cutAroundQuery(text, "NEEDLE", { maxChars: 100 })).toContain("İneedle😀");
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 20, maxLength: 200 }), fc.string(), (any, query) => {
        const cut = cutAroundQuery(any.toWellFormed(), query, { maxChars: 15 });
        expect(cut.isWellFormed()).toBe(true);
      }),
    );
  });

  it("takes no longer than the text is long", () => {
    const text = "ab ".repeat(1_000_000);
    const started = performance.now();
    cutAroundQuery(text, "a b");
    cutAroundQuery(text, "ab zz");
    // Comparing every pair of a million matches would take hours.
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
