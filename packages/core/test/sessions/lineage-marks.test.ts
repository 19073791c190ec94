// model_config tells where a session comes from, and a damaged one tells nothing instead of failing.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  modelConfigText,
  normalMarks,
  readMarks,
  userOfSession,
  withoutMarks,
} from "../../src/sessions/identity.ts";

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
  it("with a mark is written anew, so that every reader finds the same one", () => {
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
