// Ids tell when a session began; ids of other programs pass unless they could do harm.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkSessionId, newSessionId } from "../../src/sessions/identity.ts";

describe("a new id", () => {
  it("is the local time and random digits", () => {
    const now = new Date(2026, 0, 2, 3, 4, 5);
    expect(newSessionId(now)).toMatch(/^20260102_030405_[0-9a-f]{6}$/);
    expect(newSessionId(now, 8)).toMatch(/^20260102_030405_[0-9a-f]{8}$/);
  });

  it("differs from the one before it in the same second", () => {
    const now = new Date(2026, 11, 31, 23, 59, 59);
    expect(new Set(Array.from({ length: 50 }, () => newSessionId(now, 8))).size).toBe(50);
  });

  it("passes the check", () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }), (now) => {
        const id = newSessionId(now);
        expect(checkSessionId(id)).toBe(id);
      }),
    );
  });
});

describe("an id from elsewhere", () => {
  it.each([
    "cron_job_20260101_000000",
    "api_1700000000_0a1b2c3d",
    "..",
    "a b",
    "百",
    "%_",
    "x".repeat(512),
    "😀".repeat(512),
  ])("%j passes as it is", (id) => {
    expect(checkSessionId(id)).toBe(id);
  });

  it.each([
    ["", "empty"],
    [undefined, "undefined"],
    [null, "null"],
    [7, "number"],
    ["../secret", "slash"],
    ["a\u0000b", "U+0000"],
    ["a\ud83d", "surrogate"],
    ["x".repeat(513), "513"],
  ])("%j is refused, and the error says why and what to do", (id, why) => {
    expect(() => checkSessionId(id)).toThrow(
      expect.objectContaining({
        code: "bad-session-id",
        message: expect.stringContaining(why),
        hint: expect.stringContaining("hermes sessions list"),
      }),
    );
  });
});
