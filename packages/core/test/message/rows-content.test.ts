// Message content survives its one text column, whatever it is.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  contentText,
  decodeContent,
  encodeContent,
  parseJsonColumn,
  plainText,
  STRUCTURED_PREFIX,
} from "../../src/message/rows.ts";

/** Any UTF-16 at all: U+0000, pairs, halves of pairs. */
const anyText = fc
  .array(
    fc.oneof(fc.constantFrom("\u0000", "\ud83d", "\ude00", STRUCTURED_PREFIX), fc.string({ unit: "binary" })),
  )
  .map((parts) => parts.join(""));
const anyStructure = fc.oneof(
  fc.array(fc.jsonValue({ depthSize: "small" })),
  fc.dictionary(anyText, fc.oneof(fc.jsonValue(), anyText)),
);

describe("round trip", () => {
  it("gives back every string", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(decodeContent(encodeContent(text))).toBe(text);
      }),
    );
  });

  it("gives back every list and object as JSON has it", () => {
    fc.assert(
      fc.property(anyStructure, (value) => {
        expect(decodeContent(encodeContent(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("holds for bytes that a database hands back as a BLOB", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, anyStructure), (value) => {
        const stored = encodeContent(value) ?? "";
        expect(decodeContent(Buffer.from(stored))).toEqual(decodeContent(stored));
      }),
    );
  });
});

describe("the stored text", () => {
  it("has U+0000 only in the prefix, and no half of a pair", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, anyStructure), (value) => {
        const stored = encodeContent(value) ?? "";
        expect(stored.lastIndexOf("\u0000")).toBeLessThan(1);
        expect(stored.isWellFormed()).toBe(true);
      }),
    );
  });

  it.each([
    [null, null],
    [undefined, null],
    [12345, "12345"],
    [-0.5, "-0.5"],
    [12n, "12"],
    [true, "1"],
    [false, "0"],
    [Buffer.from("bytes ü"), "bytes ü"],
    [new Uint8Array([0xef, 0xbb, 0xbf, 0x61]), "\ufeffa"],
    [new Uint8Array([0x61, 0xff]), "a\ufffd"],
    [new Uint8Array([0x61, 0]), `${STRUCTURED_PREFIX}"a\\u0000"`],
    [Symbol("x"), "Symbol(x)"],
  ])("of %o is %j", (value, stored) => {
    expect(encodeContent(value)).toBe(stored);
  });

  it("of what JSON cannot write is its text form, with what is in it", () => {
    const cycle: Record<string, unknown> = { note: "kiln" };
    cycle.self = cycle;
    expect(encodeContent(cycle)).toMatch(/kiln.*Circular/);
    expect(encodeContent({ count: 7n })).toContain("count: 7n");
    expect(encodeContent(() => "hello")).toContain("hello");
    expect(encodeContent({ toJSON: () => undefined, note: "kiln" })).toContain("kiln");
  });
});

describe("reading", () => {
  it("gives damaged structure as the text it is, with one warning that does not quote it", () => {
    const warnings: string[] = [];
    const stored = `${STRUCTURED_PREFIX}{"secret": `;
    expect(decodeContent(stored, (message) => warnings.push(message))).toBe(stored);
    expect(decodeContent(Buffer.from(stored))).toBe(stored);
    expect(warnings).toHaveLength(1);
    expect(warnings.join()).not.toContain("secret");
  });

  it("tells empty JSON columns from damaged ones", () => {
    const warnings: string[] = [];
    const warn = (message: string) => warnings.push(message);
    expect(parseJsonColumn('[{"id":1}]', [], warn)).toEqual([{ id: 1 }]);
    expect(parseJsonColumn(null, [], warn)).toBeNull();
    expect(parseJsonColumn("", [], warn)).toBeNull();
    expect(warnings).toEqual([]);
    expect(parseJsonColumn("[secret", [], warn)).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(warnings.join()).not.toContain("secret");
  });
});

describe("text of content", () => {
  it.each([
    ["a string", "a string"],
    ["", ""],
    [null, ""],
    [
      ["one", { type: "text", text: "two" }, { type: "input_text", text: "three" }, { text: "four" }],
      "one two three four",
    ],
    [
      [
        { type: "image_url", image_url: { url: "data:" } },
        { type: "text", text: "seen" },
      ],
      "seen",
    ],
    [[{ type: "reasoning", text: "private" }, { type: "text", text: 5 }, null, 7], null],
    [[{ type: "text", text: "" }], null],
    [[], null],
    [{ text: "of an object" }, "of an object"],
    [{ type: "weird", value: 5 }, null],
    [42, "42"],
  ])("%j is %j", (value, text) => {
    expect(plainText(value)).toBe(text);
    expect(contentText(value)).toBe(text ?? "[multimodal content]");
  });
});
