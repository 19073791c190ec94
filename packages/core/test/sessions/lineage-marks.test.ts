// model_config tells where a session comes from, and a damaged one tells nothing instead of failing.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelConfigText, readMarks, withoutMarks } from "../../src/sessions/lineage-marks.ts";

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
