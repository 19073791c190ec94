// The file format: entries that are written are read back unchanged.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { breaksFormat, formatEntries, parseEntries, withoutDuplicates } from "../../src/curated/entries.ts";
import { ENTRY_DELIMITER, MemoryStore } from "../../src/index.ts";
import { pyStrip } from "../../src/lib/index.ts";

const piece = fc.oneof(
  fc.constantFrom("§", "\n", "\r", "\n§", "§\n", "\n§\n", " ", "\u2003", "word", "🧶", "[BLOCKED:", "\u0085"),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const rawText = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));

const checker = new MemoryStore({ dir: "/nowhere", scanAllow: [] });
/** The text that the store would keep, if it accepts it. */
const acceptedEntry = rawText
  .filter((content) => checker.check({ action: "add", content }) === undefined)
  .map((content) => pyStrip(content.replace(/\r\n?/g, "\n")));

describe("the format", () => {
  it("separates entries by a line that holds only a section sign", () => {
    expect(ENTRY_DELIMITER).toBe("\n§\n");
    expect(formatEntries(["one", "two\nlines", "three"])).toBe("one\n§\ntwo\nlines\n§\nthree");
    expect(formatEntries([])).toBe("");
  });

  it("gives back every list of entries the store accepts", () => {
    fc.assert(
      fc.property(fc.array(acceptedEntry), (entries) => {
        expect(parseEntries(formatEntries(entries))).toEqual(entries);
      }),
      { numRuns: 500 },
    );
  });

  it("refuses exactly the texts that would come back as something else", () => {
    fc.assert(
      fc.property(rawText.map(pyStrip), (text) => {
        fc.pre(text !== "");
        const between = parseEntries(formatEntries(["before", text, "after"]));
        expect(breaksFormat(text)).toBe(
          JSON.stringify(between) !== JSON.stringify(["before", text, "after"]),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("reads any text at all, and what it reads is stripped, not empty and settled after one rewrite", () => {
    fc.assert(
      fc.property(rawText, (text) => {
        const entries = parseEntries(text);
        for (const entry of entries) expect([entry, entry === ""]).toEqual([pyStrip(entry), false]);
        const again = parseEntries(formatEntries(entries));
        expect(parseEntries(formatEntries(again))).toEqual(again);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["", []],
    [" \n\t\n ", []],
    ["a\n§\nb", ["a", "b"]],
    ["  a \n§\n\n\nb\n", ["a", "b"]],
    ["a\n§\n", ["a"]],
    ["\n§\n", []],
    ["a\n§\n\n§\nb", ["a", "b"]],
    ["a\n§", ["a\n§"]],
    ["§\na\n§\nb", ["§\na", "b"]],
    ["a\n§ \nb", ["a\n§ \nb"]],
    ["price § 12", ["price § 12"]],
    ["\ufeffa", ["\ufeffa"]],
  ])("reads %j", (text, entries) => {
    expect(parseEntries(text)).toEqual(entries);
  });

  it("keeps the first of several equal entries", () => {
    expect(withoutDuplicates(["b", "a", "b", "A", "a"])).toEqual(["b", "a", "A"]);
  });
});
