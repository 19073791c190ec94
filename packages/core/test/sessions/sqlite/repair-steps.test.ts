// Which steps are tried for which damage. The steps themselves run on files in repair.slow.test.ts.
import { expect, it } from "vitest";
import { stepsFor } from "../../../src/sessions/sqlite/repair-steps.ts";

const pages = (object?: string, text = "damaged") => ({ kind: "pages", text, object }) as const;
const strategies = (...problems: Parameters<typeof stepsFor>[0]) =>
  stepsFor(problems).map(({ strategy }) => strategy);

it("rows that name a missing session get one", () => {
  expect(strategies({ kind: "keys", text: "2 row(s) name a session" })).toEqual(["add_sessions"]);
});

it("unused pages are freed by a VACUUM, after missing sessions were added", () => {
  const steps = stepsFor([
    { kind: "keys", text: "k" },
    { kind: "space", text: "s" },
  ]);
  expect(steps.map(({ strategy }) => strategy)).toEqual(["vacuum"]);
  expect(steps[0]?.after).toEqual([expect.stringContaining("INSERT INTO sessions"), "VACUUM"]);
});

it("nothing is dropped for damage in a table with its own rows", () => {
  expect(strategies(pages("messages"))).toEqual([]);
  expect(strategies(pages("another_programs_table"))).toEqual([]);
});

it("a page that two tables use may belong to one that can be dropped", () => {
  expect(strategies(pages("messages", "2nd reference to page 7"))).toContain("drop_fts_rebuild");
});

it("an index that every open creates is dropped; another one is left to the salvage", () => {
  expect(strategies(pages("idx_sessions_source"))).toContain("drop_fts_rebuild");
  expect(strategies(pages("another_programs_index"))).toEqual([]);
});
