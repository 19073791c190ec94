// The contract of deleting is in testing/session-store/deletion.ts, its cost in deletion-cost.test.ts.
import { expect, it } from "vitest";
import { deletionOperations } from "../../../src/sessions/sqlite/deletion.ts";
import { contextWith } from "./operations.ts";

it("deleting a list without a single id takes no write lock", async () => {
  const reads: unknown[] = [];
  const read = async () => reads.push("edges") && new Map();
  const { deleteSessions } = deletionOperations(contextWith({ read: read as never }));
  expect(await deleteSessions([null, 7, { id: "a" }])).toBe(0);
  expect(reads).toEqual(["edges"]);
});
