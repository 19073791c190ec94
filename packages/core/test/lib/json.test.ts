// JSON from outside: what is within the limits is read, what is not is refused without recursion.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OUTSIDE_JSON, outsideJsonOr, outsideJsonProblem, parseOutsideJson } from "../../src/lib/index.ts";

function lists(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

function objects(depth: number, inside = "1"): string {
  return '{"a":'.repeat(depth) + inside + "}".repeat(depth);
}

describe("JSON text from outside", () => {
  it("is read as JSON.parse reads it", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(parseOutsideJson(text)).toMatchObject({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it("may have 100 levels and no more", () => {
    expect(parseOutsideJson(lists(100)).ok).toBe(true);
    expect(parseOutsideJson(objects(100)).ok).toBe(true);
    for (const text of [lists(101), objects(101), objects(3_000), lists(2_000_000)])
      expect(parseOutsideJson(text)).toEqual({
        ok: false,
        error: { kind: "too_deep", message: "is nested deeper than 100 levels" },
      });
  });

  it("may hold any number of brackets in its strings", () => {
    const text = JSON.stringify({ quoted: `${"[{".repeat(5_000)}"\\"` });
    expect(parseOutsideJson(text)).toMatchObject({ ok: true });
  });

  it("may have so many values, counted before it is parsed", () => {
    const text = '{"a,[\\",":[1,{},"b"]}'; // the object, the list and its three items, one of them counted as an object too
    expect(parseOutsideJson(text, { maxValues: 6 })).toMatchObject({ ok: true, values: 6 });
    for (const many of [text, `[${"{},".repeat(2_000_000)}`, `{${'"":1,'.repeat(2_000_000)}`])
      expect(parseOutsideJson(many, { maxValues: 5, maxChars: 1e8 })).toEqual({
        ok: false,
        error: { kind: "too_many", message: "has more than 5 values" },
      });
  });

  it("is refused for its size before it is looked at", () => {
    const text = " ".repeat(OUTSIDE_JSON.maxChars + 1);
    expect(parseOutsideJson(text)).toMatchObject({ ok: false, error: { kind: "too_large" } });
    expect(parseOutsideJson("[1,2]", { maxChars: 4 })).toMatchObject({ error: { kind: "too_large" } });
  });

  it("is not quoted in what is said about it", () => {
    const parsed = parseOutsideJson('{"password": hunter2}');
    expect(parsed).toEqual({
      ok: false,
      error: { kind: "no_json", message: "is not JSON" },
    });
  });

  it("gives the fallback where there is no value", () => {
    expect(outsideJsonOr("[1]", undefined)).toEqual([1]);
    expect(outsideJsonOr("[1", undefined)).toBeUndefined();
    expect(outsideJsonOr(lists(101), "deep")).toBe("deep");
  });
});

describe("a value from outside", () => {
  it("is measured like its text", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), fc.integer({ min: 0, max: 8 }), (value, maxDepth) => {
        const text = JSON.stringify(value);
        const isTooDeep = deepest(text) > maxDepth;
        expect(outsideJsonProblem(value, { maxDepth })?.kind).toBe(isTooDeep ? "too_deep" : undefined);
      }),
    );
  });

  it("of any depth is refused, also one that holds itself", () => {
    expect(outsideJsonProblem(JSON.parse(lists(500_000)))).toMatchObject({ kind: "too_deep" });
    const knot: { self?: unknown } = {};
    knot.self = knot;
    expect(outsideJsonProblem(knot)).toMatchObject({ kind: "too_deep" });
  });

  it("is refused when its text would be too long", () => {
    const limits = { maxChars: 1_000 };
    expect(outsideJsonProblem("x".repeat(2_000), limits)).toMatchObject({ kind: "too_large" });
    expect(outsideJsonProblem(new Array(2_000).fill(0), limits)).toMatchObject({ kind: "too_large" });
    expect(outsideJsonProblem({ ["k".repeat(2_000)]: 1 }, limits)).toMatchObject({ kind: "too_large" });
    // Every level twice the one below: 2 to the power of 40 values, reached through 40 lists.
    let doubled: unknown = "x";
    for (let level = 0; level < 40; level += 1) doubled = [doubled, doubled];
    expect(outsideJsonProblem(doubled, limits)).toMatchObject({ kind: "too_large" });
  });
});

function deepest(text: string): number {
  let [most, depth, isInString, isEscaped] = [0, 0, false, false];
  for (const unit of text) {
    if (isInString && isEscaped) isEscaped = false;
    else if (isInString && unit === "\\") isEscaped = true;
    else if (unit === '"') isInString = !isInString;
    else if (!isInString && "[{".includes(unit)) depth += 1;
    else if (!isInString && "]}".includes(unit)) depth -= 1;
    most = Math.max(most, depth);
  }
  return most;
}
