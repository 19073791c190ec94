// Dates in questions.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { namedTimes } from "../../../src/sessions/search/query.ts";

const time = (year: number, month: number, day = 1) => new Date(year, month - 1, day).getTime() / 1000;
const month = (year: number, number: number) => ({ from: time(year, number), to: time(year, number + 1) });
const day = (year: number, number: number, date: number) => ({
  from: time(year, number, date),
  to: time(year, number, date + 1),
});
const YEARS = [2023, 2022];

describe("a question names", () => {
  it.each([
    ["What happened in June 2023?", [month(2023, 6)]],
    ["what happened in june, 2023", [month(2023, 6)]],
    ["in December 2023", [month(2023, 12)]],
    ["on 25 May 2023", [day(2023, 5, 25)]],
    ["on May 25, 2023", [day(2023, 5, 25)]],
    ["on the 25 of May 2023", [day(2023, 5, 25)]],
    ["on the 25th May 2023", [day(2023, 5, 25)]],
    ["on the 25th of May 2023", [day(2023, 5, 25)]],
    ["on May 25th, 2023", [day(2023, 5, 25)]],
    ["on 31 December 2023", [day(2023, 12, 31)]],
    ["in June", YEARS.map((year) => month(year, 6))],
    ["on 3 June", YEARS.map((year) => day(year, 6, 3))],
    ["in 2022", [{ from: time(2022, 1), to: time(2023, 1) }]],
    ["in June 2023 or August 2022", [month(2023, 6), month(2022, 8)]],
  ])("a time: %s", (query, spans) => {
    expect(namedTimes(query, YEARS)).toEqual(spans);
  });

  it.each([
    ["a verb", "what may I do"],
    ["another verb", "did they march home"],
    ["a number that is no year", "error 1899 and 2100 and 20235"],
    ["nothing", ""],
    ["a part of a word", "the juneberry and the marchioness"],
  ])("no time: %s", (_what, query) => {
    expect(namedTimes(query, YEARS)).toEqual([]);
  });

  it.each([
    ["in may", 5],
    ["last march", 3],
    ["12 may", 5],
    ["may 12", 5],
    ["march 2023", 3],
  ])("a month that could be a verb: %s", (query, number) => {
    const [first] = namedTimes(query, YEARS);
    expect(new Date((first?.from ?? 0) * 1000).getMonth() + 1).toBe(number);
  });
});

it("a span begins before it ends, whatever the question", () => {
  const word = fc.constantFrom(
    "may",
    "june",
    "31",
    "31st",
    "0",
    "99",
    "2023",
    "of",
    "in",
    "february",
    "1999",
  );
  fc.assert(
    fc.property(fc.array(word), (words) => {
      for (const { from, to } of namedTimes(words.join(" "), YEARS)) expect(from).toBeLessThan(to);
    }),
  );
});
