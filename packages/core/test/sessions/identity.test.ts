import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkSessionId,
  modelConfigText,
  newSessionId,
  normalMarks,
  readMarks,
  userOfSession,
  withoutMarks,
} from "../../src/sessions/identity.ts";

// ---- Session ids ----

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

// ---- Marks in model_config ----

const MARKED =
  '{"_branched_from": "a", "temperature": 0.2, "_delegate_from": "__orphaned__", "_compressed_from": "c"}';

describe("marks", () => {
  it("are read beside other settings", () => {
    expect(readMarks(MARKED)).toEqual({
      branchedFrom: "a",
      delegateFrom: "__orphaned__",
      compressedFrom: "c",
    });
    expect(readMarks('{"_branched_from": "a"}')).toEqual({ branchedFrom: "a" });
  });

  it("are set by any value but null, as queries see them", () => {
    expect(readMarks('{"_branched_from": "", "_delegate_from": 5, "_compressed_from": null}')).toEqual({
      branchedFrom: "",
      delegateFrom: "5",
    });
  });

  it.each([null, "", "{", "null", "[1]", '"_branched_from"', "7", "{}"])("are absent in %j", (config) => {
    expect(readMarks(config)).toEqual({});
    expect(withoutMarks(config)).toBeNull();
  });

  it("are left behind by the settings a child inherits", () => {
    expect(withoutMarks(MARKED)).toEqual({ temperature: 0.2 });
    expect(withoutMarks('{"_branched_from": "a"}')).toBeNull();
  });
});

describe("a text from another program", () => {
  it("with a mark is written again, so that every parser reads the same mark", () => {
    expect(normalMarks('{"\\u005fuser_platform": "discord"}')).toBe('{"_user_platform":"discord"}');
    expect(normalMarks('{"_delegate_from": "a", "_delegate_from": "b"}')).toBe('{"_delegate_from":"b"}');
  });

  it.each([
    '{ "a": 12345678901234567890 }',
    "no JSON",
    "[1]",
    '{"__proto__": {"_user_platform": "x"}}',
    null,
  ])("without one stays as it is: %j", (text) => expect(normalMarks(text)).toBe(text));

  it("names the user as the queries read it", () => {
    const user = (model_config: string) => userOfSession({ user_id: "7", source: "telegram", model_config });
    expect(user('{"_user_platform":"discord"}')).toEqual({ platform: "discord", userId: "7" });
    expect(user('{"\\u005fuser_platform":"discord"}')).toEqual({ platform: "telegram", userId: "7" });
  });
});

describe("the stored text", () => {
  it("is nothing for nothing", () => {
    for (const config of [null, undefined, {}, { unset: undefined }])
      expect(modelConfigText(config)).toBeNull();
  });

  it("gives back every setting", () => {
    const settings = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue());
    fc.assert(
      fc.property(settings, (config) => {
        const plain = Object.entries(JSON.parse(JSON.stringify(config)) as object);
        expect(Object.entries(withoutMarks(modelConfigText(config)) ?? {})).toEqual(plain);
      }),
    );
  });
});
