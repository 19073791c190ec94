// The contract of export and import is in testing/session-store/export-import.ts.
import { expect, it } from "vitest";
import type { ExportedSession } from "../../../src/sessions/index.ts";
import { exportOperations } from "../../../src/sessions/sqlite/export-import.ts";
import { contextWith } from "./operations.ts";

it("a malformed session is skipped with its reason, and the next one is checked", async () => {
  const writes: unknown[] = [];
  const write = async () => void writes.push("is writable");
  const { importSessions } = exportOperations(contextWith({ write: write as never }));
  const malformed = [null, { id: "a" }, { id: "b", messages: [null] }, { id: "", messages: [] }];
  const outcome = await importSessions(malformed as unknown as ExportedSession[]);
  expect(outcome).toMatchObject({ imported: 0, messages: 0, renamed: [] });
  expect(outcome.skipped.map(({ id, reason }) => [id, reason])).toEqual([
    ["(without id)", "it is not an object"],
    ["a", "it has no list of messages"],
    ["b", "one of its messages is not an object"],
    ["", expect.stringContaining("it is empty")],
  ]);
  expect(writes).toEqual(["is writable"]);
});

it("a store that cannot be written says so before it reads any session", async () => {
  const write = async () => {
    throw new Error("read-only");
  };
  const { importSessions } = exportOperations(contextWith({ write }));
  let isRead = false;
  const sessions: Iterable<ExportedSession> = {
    [Symbol.iterator]() {
      isRead = true;
      return [].values();
    },
  };
  await expect(importSessions(sessions)).rejects.toThrow("read-only");
  expect(isRead).toBe(false);
});
