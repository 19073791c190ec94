// With schema 17, only those messages of the current conversation are left out that the model still has in its context.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import { type SessionSearchContext, sessionSearchTool } from "../../../src/sessions/search-tool/tool.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { type Answer, column, openHome, talk } from "./support.ts";

/** A file with the column that schema 17 added. */
async function openToday() {
  const home = tempDirectory();
  const path = join(home, "state.db");
  await (await openSessionStore({ path })).close();
  const database = new DatabaseSync(path);
  database.exec("ALTER TABLE messages ADD COLUMN compacted INTEGER NOT NULL DEFAULT 0");
  database.close();
  const store = await openSessionStore({ path });
  onTestFinished(() => store.close());
  const ask = async (args: unknown, context: SessionSearchContext = {}) =>
    (await sessionSearchTool(store, args, { home, ...context })) as Answer;
  return { home, store, ask };
}

async function reset(store: SessionStore, reason: string): Promise<void> {
  await talk(store, "before", ["the kiln was blue"]);
  await store.endSession("before", reason);
  await talk(store, "now", ["which kiln?"], { parentSessionId: "before" });
}

describe("the current conversation with schema 17's Hermes", () => {
  it("is known by its columns", async () => {
    expect((await openToday()).store.rules).toBe("today");
    expect((await openHome()).store.rules).toBe("june");
  });

  it.each(["session_reset", "idle", "daily", "new_session"])(
    "shows what came before a reset (%s), and not what goes on",
    async (reason) => {
      const { store, ask } = await openToday();
      await reset(store, reason);
      const { results } = await ask({ query: "kiln" }, { currentSessionId: "now" });
      expect(column(results, "session_id")).toEqual(["before"]);
    },
  );

  it("shows what a compaction left behind, without what was carried along", async () => {
    const { store, ask } = await openToday();
    const [gone, kept] = await talk(store, "root", ["the kiln was blue", "the kiln is red"]);
    const { messageIds } = await store.continueSession("root", {
      id: "next",
      messages: [{ role: "assistant", content: "the kiln is red", originId: kept ?? 0 }],
    });
    const context = { currentSessionId: "next", liveMessageIds: messageIds };
    const { results } = await ask({ query: "kiln" }, context);
    expect(column(results, "match_message_id")).toEqual([gone]);
    expect(await ask({ session_id: "root", around_message_id: gone }, context)).toMatchObject({
      success: true,
    });
    expect(await ask({ session_id: "next", around_message_id: messageIds[0] }, context)).toMatchObject({
      error: expect.stringContaining("already in your active context"),
    });
  });

  it("leaves out a branch that is still open", async () => {
    const { store, ask } = await openToday();
    await talk(store, "root", ["the kiln"]);
    await store.branchSession("root", { id: "fork" });
    expect(await ask({ query: "kiln" }, { currentSessionId: "fork" })).toMatchObject({
      count: 0,
      sessions_searched: 0,
      message: expect.stringContaining("only in the current conversation"),
    });
  });

  it("is left out completely with schema 16, unless scope asks for it", async () => {
    const { store, ask } = await openHome();
    await reset(store, "session_reset");
    expect(await ask({ query: "kiln" }, { currentSessionId: "now" })).toMatchObject({ count: 0 });
    for (const scope of ["lineage", "current", "all"])
      expect((await ask({ query: "blue", scope }, { currentSessionId: "now" })).count, scope).toBe(1);
  });

  it("browses sessions before a reset, too", async () => {
    const { store, ask } = await openToday();
    await reset(store, "session_reset");
    const { results } = await ask({}, { currentSessionId: "now" });
    expect(column(results, "session_id")).toEqual(["before"]);
  });
});
