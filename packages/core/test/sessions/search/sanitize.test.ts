import { describe, expect, it } from "vitest";
import { sanitizeFtsQuery } from "../../../src/sessions/search/sanitize.ts";
import { growthOf } from "./growth.ts";

// The rules themselves: golden/fts-sanitize.golden.test.ts.
describe("a query for FTS5", () => {
  it("takes a letter outside the first plane for part of the word that looks like an operator", () => {
    expect(sanitizeFtsQuery("and\u{10400} x")).toBe("and\u{10400} x");
  });

  it("joins with an underscore only what stands on both sides of it", () => {
    expect(sanitizeFtsQuery("___ __ _a_ _a_b a__")).toBe('"___" __ _a_ "_a_b" "a__"');
  });

  it.each(["a_", "a.", "-", " ", '"', "* ", " AND", "_", '"*'])(
    "takes time in proportion to a run of %j",
    (unit) => {
      expect(growthOf((size) => `x${unit.repeat(size)}y`, sanitizeFtsQuery, 20_000)).toBeLessThan(4);
    },
  );
});
