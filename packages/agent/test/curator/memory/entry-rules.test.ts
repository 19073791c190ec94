import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findDuplicates, findStale } from "../../../src/curator/memory/entry-rules.ts";

const noneIsKept = (): boolean => false;

describe("entries that are the same text", () => {
  it.each([
    ["Uses pnpm", "uses pnpm."],
    ["Deploys on Monday", "deploys  on monday"],
    ["Lives in Graz.\nSpeaks German.", " Lives in Graz\n\nspeaks German"],
    ["Räumt am Abend auf", "räumt am Abend auf".normalize("NFD")],
    ['Says "Hello" first', 'says "hello" first'],
  ])("%j and %j: the second goes", (one, other) => {
    expect(findDuplicates([one, other], noneIsKept)).toEqual([{ entry: other, keeper: one }]);
  });

  it.each([
    ["Uses pnpm", "Uses pnpm daily"],
    ["Deploys on Monday", "Deploys on Friday"],
    ["Il server gira", "Il server non gira"],
    ["The users are here", "The user is here"],
    ["Contact US", "contact us"],
    ["Data is in /srv/Data", "Data is in /srv/data"],
    ["See Notes.md", "See notes.md"],
    ["Set userId", "Set userid"],
    ["cd ..", "cd ."],
    ["Is it up?", "Is it up."],
    ["No, deploy", "No deploy"],
    ["Costs (100)", "Costs 100"],
    ["Use tabs\nin Go", "Use tabs in Go"],
    ["make > log", "make >> log"],
  ])("%j and %j are two entries", (...pair) => {
    expect(findDuplicates(pair, noneIsKept)).toEqual([]);
    expect(findDuplicates(pair.toReversed(), noneIsKept)).toEqual([]);
  });

  it("keeps the pinned one, whichever comes first", () => {
    const [one, two] = ["Uses pnpm", "uses pnpm."];
    expect(findDuplicates([one, two], (entry) => entry === two)).toEqual([{ entry: one, keeper: two }]);
    expect(findDuplicates([one, two], (entry) => entry === one)).toEqual([{ entry: two, keeper: one }]);
    expect(findDuplicates([one, two], () => true)).toEqual([]);
  });

  it("stay two if they differ in any word, in any language, wherever it stands", () => {
    const sentence = "The nightly build of the web project runs on the old server".split(" ");
    const word = fc.stringMatching(/^[a-zа-яğışçöüđơưα-ω]{1,9}$/u);
    fc.assert(
      fc.property(word, fc.nat(sentence.length), (each, place) => {
        const longer = sentence.toSpliced(place, 0, each).join(" ");
        expect(findDuplicates([sentence.join(" "), longer], noneIsKept)).toEqual([]);
      }),
    );
  });

  it("only go for one that stays, and a second look finds nothing", () => {
    const word = fc.constantFrom("Uses", "uses", "pnpm", "pnpm.", "Tea", "tea", " ", "\n");
    const entry = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(fc.uniqueArray(entry, { maxLength: 10 }), fc.nat(9), (entries, pinned) => {
        const found = findDuplicates(entries, (each) => each === entries[pinned]);
        const gone = new Set(found.map((each) => each.entry));
        expect(gone.has(entries[pinned] ?? "")).toBe(false);
        for (const { keeper } of found) expect(gone.has(keeper)).toBe(false);
        const left = entries.filter((each) => !gone.has(each));
        expect(findDuplicates(left, noneIsKept)).toEqual([]);
      }),
    );
  });
});

const NOW = new Date("2026-11-15T12:00:00Z");

describe("entries that speak of a day long past", () => {
  it.each([
    ["On vacation until 2024-03-01", "2024-03-01"],
    ["The sale runs through 2026-05-31.", "2026-05-31"],
    ["Project deadline: 2025-03-01", "2025-03-01"],
    ["Report due on 2026-04-03", "2026-04-03"],
    ["The trial licence expires on 2026-06-01", "2026-06-01"],
    ["Deploys are paused until 2026-01-07", "2026-01-07"],
    ["Until 2024-01-01 or until 2025-02-02, whichever is later", "2025-02-02"],
  ])("'%s' was over on %s", (text, day) => {
    expect(findStale(text, NOW)).toMatchObject({ day, isWhole: true });
  });

  it.each([
    "Born on 1990-05-02",
    "On vacation until 2027-03-01",
    "Freeze until 2026-11-01", // two weeks ago
    "Freeze until 2024-13-45",
    "Frozen until 2024-01-01, and again from 2027-05-01",
    "Uses Node until further notice",
    "Version 2024-03-01 is pinned",
    "Lived in Rome until 2019-05-01",
    "Was the lead of the web team until 2020-03-01",
    "Before 2020-01-01 the server was in Rome",
    "Invoices until 2019-12-31 are in the archive",
    "Always answer tickets due on 2024-01-01 first",
    "Im Urlaub bis 2024-12-24",
  ])("'%s' is not stale", (text) => {
    expect(findStale(text, NOW)).toBeUndefined();
  });

  it.each(["Uses pnpm. On vacation until 2024-03-01.", "On vacation until 2024-03-01\nUses pnpm"])(
    "%j says something else too",
    (text) => {
      expect(findStale(text, NOW)).toMatchObject({ isWhole: false });
    },
  );
});
