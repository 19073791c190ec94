import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { matchOf, shapeOf } from "../../../../src/sessions/sqlite/salvage/table-rows.ts";

it("does not take a block of a search index for a row of a table with two columns", () => {
  using db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT)");
  const shape = shapeOf(db, "state_meta");
  const block = { rowid: 274_877_906_970n, values: [null, new Uint8Array([0, 5, 15, 189])] };
  const row = { rowid: 1n, values: [new TextEncoder().encode("note"), new TextEncoder().encode("crane")] };
  expect([matchOf(shape, block), matchOf(shape, row)]).toEqual([0, 2]);
});
