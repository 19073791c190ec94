import { StatementSync } from "node:sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";

it("a SQLite that reads texts up to a zero character, like that of Node 22, opens no database", async () => {
  const spy = vi.spyOn(StatementSync.prototype, "get").mockReturnValue({ text: "a" });
  onTestFinished(() => spy.mockRestore());
  await expect(openSessionStore({ path: ":memory:" })).rejects.toMatchObject({
    code: "session-db-unavailable",
    hint: "Use Node 24 or newer.",
  });
});
