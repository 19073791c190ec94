import { describe, expect, it } from "vitest";
import { sanitizeFtsQuery } from "../../../src/sessions/search/sanitize.ts";
import { pick, randomNumbers } from "../../fakes/random.ts";
import { growthOf } from "./growth.ts";

describe("a query for FTS5", () => {
  it.each([
    ["hello world", "hello world"],
    ["C++", "C"],
    ["c++ templates", "c   templates"],
    ['"unterminated', "unterminated"],
    ['"a b" c"d', '"a b" c d'],
    ['""', '""'],
    ["(problem", "problem"],
    ["{test}", "test"],
    ["a^b", "a b"],
    ["TODO: fix", "TODO  fix"],
    ["error:timeout", "error timeout"],
    ["***", ""],
    ["*", ""],
    ["  \t", ""],
    ["foo***", "foo*"],
    ["* foo", "foo"],
    ["foo *", "foo"],
    ["foo * bar", "foo  bar"],
    ["*deploy", "deploy"],
    ["deploy*", "deploy*"],
    ["a* b* c", "a* b* c"],
    ["de*ploy", "de*ploy"],
    ["hello AND", "hello"],
    ["OR world", "world"],
    ["and", ""],
    ["NOT", ""],
    ["a not", "a"],
    ["android", "android"],
    ["nothing", "nothing"],
    ["chat-send", '"chat-send"'],
    ["my-app.config.ts", '"my-app.config.ts"'],
    ["P2.2", '"P2.2"'],
    ["sp_new", '"sp_new"'],
    ["__init__", '"__init__"'],
    ["_private", "_private"],
    ["foo_", "foo_"],
    ["chat-send*", '"chat-send"*'],
    ["v1.2*", '"v1.2"*'],
    ["chat-send OR deploy-prod", '"chat-send" OR "deploy-prod"'],
    ['"my chat-send thing"', '"my chat-send thing"'],
    ['x"y-z"w', 'x"y-z"w'],
    ['"one" "two" three-four', '"one" "two" "three-four"'],
    ["naïve-bayes", '"naïve-bayes"'],
    ["日本語-テスト", '"日本語-テスト"'],
    ["sp_new and 血管瘤", '"sp_new" and 血管瘤'],
    ["(a OR b) AND c", "a OR b  AND c"],
    ["NEAR(a b)", "NEAR a b"],
    ["content:foo", "content foo"],
    ['a:"b c"', 'a "b c"'],
    ['not"x"', '"x"'],
    ["a+b", "a b"],
    ["+a +b", "a  b"],
    ["1.5", '"1.5"'],
    ["1_000", '"1_000"'],
    ["foo\tAND\tbar", "foo\tAND\tbar"],
    ["a AND OR b", "a AND OR b"],
    ["AND OR a", "OR a"],
    ["a AND OR", "a AND"],
    ["OR OR OR", "OR"],
    ["NOT NOT a", "NOT a"],
    ["and-x", "-x"],
    ["a--b", "a--b"],
    ["a.b.", '"a.b".'],
    ["http://x.y/z", 'http //"x.y"/z'],
    ["foo@bar.com", 'foo@"bar.com"'],
    ["path/to/file.py", 'path/to/"file.py"'],
  ])("%j becomes %j", (query, sanitized) => {
    expect(sanitizeFtsQuery(query)).toBe(sanitized);
  });

  it("takes a letter outside the first plane for part of the word that looks like an operator", () => {
    expect(sanitizeFtsQuery("and\u{10400} x")).toBe("and\u{10400} x");
  });

  it("joins with an underscore only what stands on both sides of it", () => {
    expect(sanitizeFtsQuery("___ __ _a_ _a_b a__")).toBe('"___" __ _a_ "_a_b" "a__"');
  });

  it("never leaves an odd number of quotes", () => {
    const random = randomNumbers(7);
    for (let i = 0; i < 2000; i += 1) {
      const query = Array.from({ length: 12 }, () => pick([...'"a_-.* +(OR)\u3000'], random)).join("");
      expect(sanitizeFtsQuery(query).split('"').length % 2).toBe(1);
    }
  });

  it.each(["a_", "a.", "-", " ", '"', "* ", " AND", "_", '"*'])(
    "takes time in proportion to a run of %j",
    (unit) => {
      expect(growthOf((size) => `x${unit.repeat(size)}y`, sanitizeFtsQuery, 20_000)).toBeLessThan(4);
    },
  );
});
