// Edits of a JSON text do to it what they would do to its value, and nothing else.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  addMember,
  applyEdits,
  insertItems,
  itemsOf,
  membersOf,
  rootOf,
  valueAt,
} from "../../src/proxy/json-text.ts";

const value = fc.jsonValue({ maxDepth: 3 });
const space = fc.constantFrom(undefined, 1, "\t");

it("every member and item is found, however the text is spaced and escaped", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value), space, (object, gap) => {
      const text = ` ${JSON.stringify(object, undefined, gap)}\n`;
      const found = [...membersOf(text, rootOf(text))].map(([key, at]) => [key, valueAt(text, at)] as const);
      const parsed = JSON.parse(text) as object;
      expect(new Map(found)).toEqual(new Map(Object.entries(parsed)));
    }),
    { numRuns: 200 },
  );
});

it("items are inserted at any place", () => {
  fc.assert(
    fc.property(fc.array(value), space, fc.nat(), (list, gap, at) => {
      const text = JSON.stringify(list, undefined, gap);
      const array = rootOf(text);
      const index = at % (list.length + 1);
      const inserted = applyEdits(text, [insertItems(text, array, index, ['"new"', "1.0"])]);
      expect(JSON.parse(inserted)).toEqual(JSON.parse(JSON.stringify(list.toSpliced(index, 0, "new", 1))));
    }),
    { numRuns: 200 },
  );
});

it("a repeated key has its last value, as for every parser", () => {
  const text = '{"a":1,"a":[2]}';
  const member = membersOf(text, rootOf(text)).get("a");
  expect(member && itemsOf(text, member).length).toBe(1);
  expect(applyEdits("{}", [addMember("{}", { start: 0, end: 2 }, "a", "1")])).toBe('{"a":1}');
});
