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
import { sessionSearchPreview, sessionSearchToolSchema } from "../../../src/sessions/search-tool/entry.ts";
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

  it("offers summaries only when its creator enabled them", () => {
    const propertiesWith = (summarize: boolean): unknown =>
      sessionSearchEntry({ summarize }, (work) => work({ store: undefined, context: {} })).schema.properties;
    expect(propertiesWith(false)).not.toHaveProperty("summarize");
    expect(propertiesWith(true)).toHaveProperty("summarize");
  });
});

describe("the schema of session_search", () => {
  const { name, parameters } = sessionSearchToolSchema;

  it("offers every argument, requires none and has no mode", () => {
    expect(name).toBe("session_search");
    expect(Object.keys(parameters.properties as object).sort()).toEqual(
      [
        "query",
        "detail",
        "limit",
        "sort",
        "session_id",
        "around_message_id",
        "window",
        "role_filter",
        "profile",
        "scope",
        "after",
        "before",
        "source",
      ].sort(),
    );
    expect(parameters.required).toEqual([]);
  });
});

describe("the line in a transcript", () => {
  it.each([
    [{ query: "kiln\n  glaze" }, 'search past sessions: "kiln glaze"'],
    [{ query: "x".repeat(200) }, `search past sessions: "${"x".repeat(60)}..."`],
    [{ session_id: "other/a" }, "read session a (profile other)"],
    [{ session_id: "a", around_message_id: 7 }, "scroll session a around message 7"],
    [{ session_id: "a", around_message_id: "x" }, "scroll session a around message ?"],
    [{}, "list recent sessions"],
    [{ scope: "nowhere" }, "search past sessions"],
  ])("%j", (args, line) => {
    expect(sessionSearchPreview(args)).toBe(line);
  });
});
