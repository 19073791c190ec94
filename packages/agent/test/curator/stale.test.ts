import { describe, expect, it } from "vitest";
import { findStale } from "../../src/curator/memory/stale.ts";

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
