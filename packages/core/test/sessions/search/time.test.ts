import { describe, expect, it } from "vitest";
import { parseMoment } from "../../../src/sessions/search/time.ts";

const now = new Date(2026, 4, 31, 12, 30, 15);
const HOUR = 3600;

function local(
  ...parts: [year: number, month: number, day: number, hour?: number, minute?: number, second?: number]
) {
  const [year, month, ...rest] = parts;
  return new Date(year, month - 1, ...rest).getTime() / 1000;
}

describe("a moment", () => {
  it.each([
    [1_767_689_206.5, 1_767_689_206.5],
    [1_767_689_206_500, 1_767_689_206.5],
    ["1767689206.5", 1_767_689_206.5],
    ["1767689206500", 1_767_689_206.5],
    [0, 0],
  ])("may be a count: %j", (written, seconds) => {
    expect(parseMoment(written, now)).toBe(seconds);
  });

  it.each([
    ["2026-02-28", local(2026, 2, 28)],
    [" 2026-2-8 ", local(2026, 2, 8)],
    ["20260228", local(2026, 2, 28)],
    ["2026-02", local(2026, 2, 1)],
    ["2026", local(2026, 1, 1)],
    ["2026-02-28T07:05", local(2026, 2, 28, 7, 5)],
    ["2026-02-28 07:05:09", local(2026, 2, 28, 7, 5, 9)],
    ["2026-02-28t07:05:09.25", local(2026, 2, 28, 7, 5, 9) + 0.25],
  ])("may be a date or a time on local clocks: %j", (written, seconds) => {
    expect(parseMoment(written, now)).toBe(seconds);
  });

  it.each([
    ["2026-01-31T10:00Z", "2026-01-31T10:00:00Z"],
    ["2026-01-31T10:00:00.500+02:00", "2026-01-31T08:00:00.500Z"],
    ["2026-01-31 10:00:00 -0330", "2026-01-31T13:30:00Z"],
    ["2026-01-31T00:00+05", "2026-01-30T19:00:00Z"],
    ["2026-01-31 10:00 UTC", "2026-01-31T10:00:00Z"],
  ])("may name its zone: %j", (written, iso) => {
    expect(parseMoment(written, now)).toBe(Date.parse(iso) / 1000);
  });

  it.each([
    ["45s", 45],
    ["30m", 0.5 * HOUR],
    ["12h", 12 * HOUR],
    ["1.5h", 1.5 * HOUR],
    ["7d", 7 * 24 * HOUR],
    ["2w", 14 * 24 * HOUR],
    ["-7D", 7 * 24 * HOUR],
    ["2 hours ago", 2 * HOUR],
    ["3 days", 72 * HOUR],
  ])("may be so long ago: %j", (written, seconds) => {
    expect(parseMoment(written, now)).toBe(now.getTime() / 1000 - seconds);
  });

  it("goes back by the calendar for months and years", () => {
    expect(parseMoment("2mo", now)).toBe(local(2026, 3, 31, 12, 30, 15));
    expect(parseMoment("3mo", now)).toBe(local(2026, 2, 28, 12, 30, 15));
    expect(parseMoment("1y", now)).toBe(local(2025, 5, 31, 12, 30, 15));
    expect(parseMoment("1y", new Date(2024, 1, 29))).toBe(local(2023, 2, 28));
  });

  it("may be the start of a day by name", () => {
    expect(parseMoment("today", now)).toBe(local(2026, 5, 31));
    expect(parseMoment("Yesterday", now)).toBe(local(2026, 5, 30));
    expect(parseMoment("yesterday", new Date(2026, 0, 1, 8))).toBe(local(2025, 12, 31));
    expect(parseMoment("now", now)).toBe(now.getTime() / 1000);
  });

  it.each([
    ...[
      "",
      "  ",
      "soon",
      "7x",
      "d",
      "1e5",
      "0x10",
      "1.5mo",
      "2026-02-30",
      "2026-13-01",
      "2026-00-10",
      "20261301x",
    ],
    ...[
      "2026-01-31T24:00",
      "2026-01-31T10:60",
      "2026-01-31T10:00:60",
      "2026-01-31T10",
      "9".repeat(400),
      `${"9".repeat(20)}y`,
    ],
    ...[Number.NaN, Number.POSITIVE_INFINITY, 1e300],
  ])("is nothing else: %j", (written) => {
    expect(parseMoment(written, now)).toBeUndefined();
  });
});
