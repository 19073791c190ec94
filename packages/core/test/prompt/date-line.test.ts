import { describe, expect, it } from "vitest";
import { chooseTimeZone, dateLine } from "../../src/prompt/index.ts";

describe("the day a conversation started", () => {
  it.each([
    ["2026-11-15T23:30:00Z", "UTC", "Sunday, November 15, 2026"],
    ["2026-11-15T23:30:00Z", "Asia/Tokyo", "Monday, November 16, 2026"],
    ["2026-03-01T04:59:00Z", "America/New_York", "Saturday, February 28, 2026"],
    ["2026-01-01T00:00:00Z", "Pacific/Kiritimati", "Thursday, January 01, 2026"],
  ])("of %s in %s is %s", (now, timeZone, day) => {
    expect(dateLine({ now: new Date(now), timeZone })).toBe(`Conversation started: ${day}`);
  });

  it("changes at midnight and at no other time", () => {
    const lines = new Set<string>();
    for (let minute = 0; minute < 48 * 60; minute += 7)
      lines.add(dateLine({ now: new Date(Date.UTC(2026, 5, 1, 0, minute)), timeZone: "UTC" }));
    expect(lines.size).toBe(2);
  });

  it("is the machine's day without a zone", () => {
    const now = new Date(2026, 10, 5, 23, 59);
    expect(dateLine({ now })).toBe("Conversation started: Thursday, November 05, 2026");
  });
});

describe("the time zone", () => {
  it.each([
    [" Europe/Vienna ", "Asia/Tokyo", "Europe/Vienna", 0],
    ["", "Asia/Tokyo", "Asia/Tokyo", 0],
    [undefined, "", undefined, 0],
    ["Mars/Olympus", "Asia/Tokyo", "Asia/Tokyo", 1],
    ["Mars/Olympus", "nowhere", undefined, 2],
  ])("from HERMES_TIMEZONE %j and config %j is %j", (variable, configured, timeZone, count) => {
    const choice = chooseTimeZone({ env: { HERMES_TIMEZONE: variable }, configured });
    expect(choice.timeZone).toBe(timeZone);
    expect(choice.warnings).toHaveLength(count);
    if (count > 0) expect(choice.warnings[0]).toContain("HERMES_TIMEZONE is 'Mars/Olympus'");
  });
});
