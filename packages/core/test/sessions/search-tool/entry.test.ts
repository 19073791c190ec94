// `session_search` as an entry of the tool table.
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { newMessage } from "../../../src/message/index.ts";
import {
  DEFAULT_SESSION_SEARCH_SETTINGS,
  openSessionStore,
  type SessionStore,
  sessionSearchEntry,
} from "../../../src/sessions/index.ts";
import type { Tool } from "../../../src/tools/index.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";
import { callContext } from "../../fakes/tools.ts";

async function storeIn(home: string): Promise<SessionStore> {
  const store = await openSessionStore({ path: join(home, "state.db") });
  onTestFinished(() => store.close());
  return store;
}

function searchOf(home: string, store: SessionStore | undefined): Tool {
  return sessionSearchEntry({ summarize: false }, (work) =>
    work({ store, context: { home, settings: DEFAULT_SESSION_SEARCH_SETTINGS } }),
  );
}

describe("session_search", () => {
  it("leaves out what is still in the live list, by the rows of its messages", async () => {
    const home = tempDirectory();
    const store = await storeIn(home);
    await store.createSession("s1", { source: "cli" });
    const gone = await store.appendMessage("s1", {
      role: "user",
      content: "the walrus sleeps in the harbour",
    });
    const live = await store.appendMessage("s1", {
      role: "user",
      content: "the walrus wakes in the harbour",
    });
    const messages = [
      newMessage({ role: "user", content: "x" }, { rowId: live }),
      newMessage({ role: "user", content: "not stored yet" }),
    ];
    const outcome = await searchOf(home, store).run(
      { query: "walrus", scope: "lineage" },
      callContext({ sessionId: "s1", messages }),
    );
    const { results } = JSON.parse(outcome.text) as { results: { match_message_id: number }[] };
    expect(results.map(({ match_message_id: id }) => id)).toEqual([gone]);
  });

  it("gives a formatted error with the cause when the database is unavailable", async () => {
    const outcome = await searchOf(tempDirectory(), undefined).run({ query: "x" }, callContext());
    expect(outcome.isError).toBe(true);
    expect(JSON.parse(outcome.text)).toMatchObject({
      success: false,
      error: expect.stringContaining("not available"),
    });
  });

  it("passes the profile on", async () => {
    const home = tempDirectory();
    const outcome = await searchOf(home, await storeIn(home)).run(
      { query: "x", profile: "nobody" },
      callContext(),
    );
    expect(JSON.parse(outcome.text)).toMatchObject({
      success: false,
      error: expect.stringContaining("profile 'nobody'"),
    });
  });

  it("offers summaries only when whoever made it has them", () => {
    const propertiesWith = (summarize: boolean): unknown =>
      sessionSearchEntry({ summarize }, (work) => work({ store: undefined, context: {} })).schema.properties;
    expect(propertiesWith(false)).not.toHaveProperty("summarize");
    expect(propertiesWith(true)).toHaveProperty("summarize");
  });
});
