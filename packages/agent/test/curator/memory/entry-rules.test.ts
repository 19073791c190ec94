import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findOverlaps, findRedundant, findStale } from "../../../src/curator/memory/entry-rules.ts";
import { HARMLESS, STATING, significant } from "../../../src/curator/memory/words.ts";
import { BEYOND_RULES, DIFFERENT, OVERLAPPING, PARALLEL, SAME, TURNED } from "./pairs.ts";

const noneIsPinned = (): boolean => false;

describe("entries that say the same", () => {
  it.each(SAME)("'%s' goes for '%s'", (goes, stays) => {
    for (const entries of [
      [goes, stays],
      [stays, goes],
    ]) {
      const found = findRedundant(entries, noneIsPinned);
      expect(found).toHaveLength(1);
      expect(new Set([found[0]?.entry, found[0]?.keeper])).toEqual(new Set([goes, stays]));
    }
  });

  it.each(DIFFERENT)("neither '%s' nor '%s' goes", (one, other) => {
    expect(findRedundant([one, other], noneIsPinned)).toEqual([]);
    expect(findRedundant([other, one], noneIsPinned)).toEqual([]);
  });

  it.each(BEYOND_RULES)("'%s' is left beside '%s'", (one, other) => {
    expect(findRedundant([one, other], noneIsPinned)).toEqual([]);
    expect(findRedundant([other, one], noneIsPinned)).toEqual([]);
  });

  it("keeps the pinned one, whichever comes first", () => {
    const [one, two] = ["Uses pnpm", "uses pnpm."];
    expect(findRedundant([one, two], (entry) => entry === two)).toMatchObject([{ entry: one, keeper: two }]);
    expect(findRedundant([one, two], (entry) => entry === one)).toMatchObject([{ entry: two, keeper: one }]);
    expect(findRedundant([one, two], () => true)).toEqual([]);
  });

  it("lets only what stays vouch for what goes", () => {
    const entries = ["Uses pnpm.", "Uses pnpm. Lives in Graz.", "Uses pnpm. Lives in Graz. Runs on port 24."];
    const found = findRedundant(entries, noneIsPinned);
    expect(found.map(({ entry }) => entry)).toEqual([entries[0], entries[1]]);
    expect(new Set(found.map(({ keeper }) => keeper))).toEqual(new Set([entries[2]]));
  });
});

describe("entries that differ in a word that is on no list", () => {
  it.each(TURNED)("neither '%s' nor '%s' goes", (one, other) => {
    expect(findRedundant([one, other], noneIsPinned)).toEqual([]);
    expect(findRedundant([other, one], noneIsPinned)).toEqual([]);
  });

  it.each(TURNED.filter(([one]) => one.split(" ").length > 8))(
    "'%s' and '%s' are shown as an overlap",
    (...pair) => {
      expect(findOverlaps(pair)).toEqual([pair]);
    },
  );

  it("stay two wherever the word stands, whatever it is", () => {
    const sentence = "The nightly build of the web project runs on the old server in the basement".split(" ");
    const unknown = fc
      .stringMatching(/^[a-zа-яğışçöüđơưα-ω]{1,9}$/u)
      .filter((each) => !HARMLESS.has(each) && !STATING.has(each));
    fc.assert(
      fc.property(unknown, fc.nat(sentence.length), (each, place) => {
        const longer = sentence.toSpliced(place, 0, each).join(" ");
        expect(findRedundant([sentence.join(" "), longer], noneIsPinned)).toEqual([]);
        expect(
          findRedundant([`${sentence.join(" ")}.`, `${sentence.join(" ")}. ${each}.`], noneIsPinned),
        ).toEqual([]);
      }),
    );
  });
});

describe("entries that overlap", () => {
  it.each(OVERLAPPING)("'%s' and '%s' are about the same thing", (one, other) => {
    expect(findOverlaps([one, "The office is in Graz", other])).toEqual([[one, other]]);
  });

  it.each(PARALLEL)("'%s' and '%s' are not", (one, other) => {
    expect(findOverlaps([one, other])).toEqual([]);
  });
});

const word = fc.constantFrom(
  ..."the a user Anna Ben uses prefers never not only dark mode editor editors port 8080 8081 on Monday Friday /srv/data v1.2 . ;".split(
    " ",
  ),
);
const entry = fc.array(word, { minLength: 1, maxLength: 9 }).map((words) => words.join(" "));

describe("whatever the entries are", () => {
  it("every word of what goes is in what stays, in order, and the pinned stay", () => {
    fc.assert(
      fc.property(fc.uniqueArray(entry, { maxLength: 10 }), fc.nat(9), (entries, pinned) => {
        const found = findRedundant(entries, (each) => each === entries[pinned]);
        const gone = new Set(found.map((each) => each.entry));
        expect(gone.has(entries[pinned] ?? "")).toBe(false);
        for (const { kind, entry: goes, keeper } of found) {
          expect(gone.has(keeper)).toBe(false);
          const kept = significant(keeper);
          if (kind === "contained") for (const each of significant(goes)) expect(kept).toContain(each);
          else expect(isSubsequence(significant(goes), kept)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("a second look at what is left finds nothing", () => {
    fc.assert(
      fc.property(fc.uniqueArray(entry, { maxLength: 10 }), (entries) => {
        const gone = new Set(findRedundant(entries, noneIsPinned).map((each) => each.entry));
        expect(
          findRedundant(
            entries.filter((each) => !gone.has(each)),
            noneIsPinned,
          ),
        ).toEqual([]);
      }),
    );
  });
});

function isSubsequence(short: readonly string[], long: readonly string[]): boolean {
  let next = 0;
  for (const each of long) if (each === short[next]) next += 1;
  return next === short.length;
}

it.each([
  ["make > build.log", "make >> build.log"],
  ["The site language is es", "The site language is el"],
  ["cd ..", "cd ."],
  ["git add .", "git add"],
  ["Budget is - 5", "Budget is 5"],
  ["Contact US", "contact us"],
  ["Met Peter Williams", "Met Peter William"],
  ["Use tabs.", "The following advice is wrong. Use tabs."],
])("%j and %j are two entries", (one, other) => {
  expect(findRedundant([one, other], () => false)).toEqual([]);
});

const NOW = new Date("2026-11-15T12:00:00Z");
const LONG_AGO = new Date("2026-02-01T12:00:00Z");

describe("entries that speak of a day long past", () => {
  it.each([
    ["On vacation until 2024-03-01", "2024-03-01"],
    ["The sale runs through 2026/05/31.", "2026-05-31"],
    ["Project deadline: March 1, 2025", "2025-03-01"],
    ["Report due on 3rd April 2026", "2026-04-03"],
    ["The trial licence expires on 01.06.2026", "2026-06-01"],
    ["Freeze until the end of Feb 2025", "2025-02-28"],
    ["Im Urlaub bis 24.12.2025", "2025-12-24"],
    ["Deploys are paused until 2026-01-07", "2026-01-07"],
    ["Until 2024-01-01 or until 2025-02-02, whichever is later", "2025-02-02"],
  ])("'%s' was over on %s", (text, day) => {
    expect(findStale(text, NOW, undefined)).toMatchObject({ day, isWhole: true });
  });

  it.each([
    "Born on 1990-05-02",
    "The company was founded in March 2010",
    "On vacation until 2027-03-01",
    "Freeze until 2026-11-01", // two weeks ago
    "Freeze until 2024-13-45",
    "Until 2024-01-01 the old office, until 2030-01-01 the new one",
    "Uses Node until further notice",
    "Version 2024-03-01 is pinned",
    "Lived in Rome until 2019-05-01",
    "Was the lead of the web team until March 2020",
    "Before 2020-01-01 the server was in Rome",
  ])("'%s' is not stale", (text) => {
    expect(findStale(text, NOW, LONG_AGO)).toBeUndefined();
  });

  it("takes 'this week' by the day the entry was written, where that is known", () => {
    expect(findStale("Busy with the audit this week", NOW, LONG_AGO)).toMatchObject({ sign: "this week" });
    expect(findStale("Busy with the audit this week", NOW, new Date("2026-11-10T00:00:00Z"))).toBeUndefined();
    expect(findStale("Busy with the audit this week", NOW, undefined)).toBeUndefined();
  });

  it("tells whether something else is in the entry", () => {
    const text = "Uses pnpm. On vacation until 2024-03-01.";
    expect(findStale(text, NOW, undefined)).toMatchObject({ isWhole: false });
  });
});
