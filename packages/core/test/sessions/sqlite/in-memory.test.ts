// What databases in memory have instead of a file. The contract runs in contract-in-memory.slow.test.ts.
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { openSessionStore, salvageCopy, WITHOUT_USER } from "../../../src/sessions/index.ts";

const open = () => openSessionStore({ path: ":memory:" });

it("has no file, and each store is another database", async () => {
  await using store = await open();
  await using other = await open();
  expect(store.location).toBe(":memory:");
  await store.createSession("a", { source: "cli" });
  expect(await other.getSession("a")).toBeNull();
  expect(existsSync(":memory:")).toBe(false);
  expect((await store.stats()).bytes).toBeGreaterThan(0);
});

it("is optimized, checked and erased without a worker thread, and finds long messages", async () => {
  await using store = await open();
  await store.createSession("a", { source: "cli" });
  await store.appendMessage("a", { role: "user", content: `${"filler words ".repeat(100_000)} lighthouse` });
  expect(await store.searchMessages("lighthouse")).toHaveLength(1);
  expect(await store.file!.optimize()).toMatchObject({ finished: true, vacuum: "done" });
  expect(await store.file!.checkHealth()).toEqual({ ok: true, problems: [], indexChecked: true });
  expect(await store.forUser(WITHOUT_USER).eraseSessions()).toEqual({
    sessions: 1,
    messages: 1,
    files: 0,
    remaining: [],
  });
  expect(await store.searchMessages("lighthouse")).toEqual([]);
});

it("cannot be read-only, salvaged, and says why", async () => {
  await expect(openSessionStore({ path: ":memory:", readOnly: true })).rejects.toMatchObject({
    code: "session-db-unavailable",
    hint: expect.stringContaining("readOnly"),
  });
  await expect(salvageCopy(":memory:")).rejects.toThrow("in memory has no file");
});

it("a closed one says so", async () => {
  const store = await open();
  await store.close();
  await expect(store.listSessionIds()).rejects.toMatchObject({ code: "session-db-closed" });
});
