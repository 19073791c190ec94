// Arguments of the fact tools, which models send with other types than the schema asks for.
import { describe, expect, it } from "vitest";
import {
  ArgumentError,
  entityList,
  optionalInteger,
  optionalNumber,
  optionalText,
  tagText,
} from "../../src/holographic/tools.ts";

describe("arguments of the fact tools", () => {
  it("may be text where a number is expected, and null where they are absent", () => {
    expect(optionalNumber({ min_trust: " 0.5 " }, "min_trust")).toBe(0.5);
    expect(optionalInteger({ limit: "7.9" }, "limit")).toBe(7);
    expect(optionalNumber({ min_trust: null }, "min_trust")).toBeUndefined();
    expect(optionalText({ category: 7 }, "category")).toBe("7");
    expect(tagText({ tags: ["rust", "backend"] })).toBe("rust,backend");
  });

  it.each([
    [
      "a number",
      () => optionalNumber({ limit: "many" }, "limit"),
      "'limit' must be a number, but is \"many\"",
    ],
    [
      "an integer",
      () => optionalInteger({ limit: 1e300 }, "limit"),
      "'limit' must be a whole number, but is 1e+300",
    ],
    ["a text", () => optionalText({ query: {} }, "query"), "'query' must be a text"],
    ["a list", () => entityList({ entities: [] }), "reason requires 'entities' list"],
    ["20 names", () => entityList({ entities: Array(21).fill("x") }), "'entities' may name 20, but names 21"],
    [
      "short names",
      () => entityList({ entities: ["x".repeat(201)] }),
      "an entity's name may have 200 characters",
    ],
  ])("are refused when they are not %s", (_what, read, message) => {
    expect(read).toThrow(new ArgumentError(message));
  });
});
