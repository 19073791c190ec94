import { describe, expect, it } from "vitest";
import { sanitizeFtsQuery } from "../../../src/sessions/search/sanitize.ts";
import { growthOf } from "./growth.ts";

describe("a query for FTS5", () => {
  it.each([
    ["c++ templates", "c   templates"],
    ['"unterminated', "unterminated"],
    ['"a b" c"d', '"a b" c d'],
    ["(problem", "problem"],
    ["TODO: fix", "TODO  fix"],
    ["***", ""],
    ["foo***", "foo*"],
    ["foo * bar", "foo  bar"],
    ["de*ploy", "de*ploy"],
    ["hello AND", "hello"],
    ["and", ""],
    ["android", "android"],
    ["my-app.config.ts", '"my-app.config.ts"'],
    ["sp_new", '"sp_new"'],
    ["_private", "_private"],
    ["foo_", "foo_"],
    ["v1.2*", '"v1.2"*'],
    ["chat-send OR deploy-prod", '"chat-send" OR "deploy-prod"'],
    ['x"y-z"w', 'x"y-z"w'],
    ["sp_new and 血管瘤", '"sp_new" and 血管瘤'],
    ["NEAR(a b)", "NEAR a b"],
    ['a:"b c"', 'a "b c"'],
    ['not"x"', '"x"'],
    ["AND OR a", "OR a"],
    ["and-x", "-x"],
    ["a--b", "a--b"],
    ["a.b.", '"a.b".'],
    ["http://x.y/z", 'http //"x.y"/z'],
  ])("%j becomes %j", (query, sanitized) => {
    expect(sanitizeFtsQuery(query)).toBe(sanitized);
  });

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
