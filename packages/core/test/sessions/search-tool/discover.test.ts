import { describe, expect, it, vi } from "vitest";
import { HermesError } from "../../../src/lib/index.ts";
import { explain, sessionSearchTool } from "../../../src/sessions/search-tool/tool.ts";
import { toSessionError } from "../../../src/sessions/sqlite/failures.ts";
import { type Answer, column, openHome, talk } from "./support.ts";

const many = (count: number, text = "filler") =>
  Array.from({ length: count }, (_, index) => `${text} ${index}`);

describe("discover", () => {
  it("finds tool output elsewhere, though the question itself contains the word", async () => {
    const { store, ask } = await openHome();
    await talk(store, "past", ["run it"]);
    const printed = await store.appendMessage("past", { role: "tool", content: "ERR_ZANZIBAR happened" });
    await talk(store, "now", ["where did we see err_zanzibar?"]);
    const answer = await ask({ query: "err_zanzibar" }, { currentSessionId: "now" });
    expect(column(answer.results, "match_message_id")).toEqual([printed]);
  });

  it("takes null for no conversation, and odd live ids for none", async () => {
    const { ask, store } = await openHome();
    await talk(store, "a", ["a zanzibar chest"]);
    const none = null as unknown as undefined;
    expect(await ask({ query: "zanzibar" }, { currentSessionId: none })).toMatchObject({ count: 1 });
    const context = { currentSessionId: "b", liveMessageIds: [Number.NaN] };
    expect(await ask({ query: "zanzibar", scope: "all" }, context)).toMatchObject({ count: 1 });
  });

  it("shows where a session answers the query, how it began and how it ended", async () => {
    const { store, ask } = await openHome();
    const texts = many(30);
    texts[14] = "the cobalt glaze";
    const ids = await talk(store, "a", texts, { model: "m1" });
    await store.setSessionTitle("a", "Glazes");
    const answer = await ask({ query: "cobalt" });
    // The confidence has its own tests.
    expect({ ...answer, confidence: undefined }).toEqual({
      success: true,
      mode: "discover",
      query: "cobalt",
      detail: "adaptive",
      results: [expect.anything()],
      count: 1,
      sessions_searched: 1,
      stage: "strict",
    });
    const [result] = answer.results as [Answer];
    expect(Object.keys(result)).toEqual([
      "session_id",
      "when",
      "source",
      "model",
      "title",
      "matched_role",
      "match_message_id",
      "snippet",
      "bookend_start",
      "messages",
      "bookend_end",
      "messages_before",
      "messages_after",
      "detail",
      "link",
    ]);
    expect(result).toMatchObject({
      session_id: "a",
      source: "cli",
      model: "m1",
      title: "Glazes",
      matched_role: "user",
      match_message_id: ids[14],
      snippet: expect.stringContaining("the >>>cobalt<<< glaze"),
      messages_before: 5,
      messages_after: 5,
    });
    expect(column(result.messages, "id")).toEqual(ids.slice(9, 20));
    expect(result.messages.filter((message) => "anchor" in message)).toEqual([
      { id: ids[14], role: "user", content: "the cobalt glaze", timestamp: expect.any(Number), anchor: true },
    ]);
    expect(result.bookend_start).toMatchObject(ids.slice(0, 3).map((id) => ({ id })));
    expect(result.bookend_end).toMatchObject(ids.slice(-3).map((id) => ({ id })));
  });

  it("names the root of the lineage and takes source, title and time from it", async () => {
    const { store, ask } = await openHome();
    await talk(store, "root", ["nothing"], { source: "telegram", model: "m1" });
    await store.setSessionTitle("root", "The start");
    const child = await store.continueSession("root", {
      id: "child",
      messages: [{ role: "user", content: "the kiln" }],
    });
    const { results } = await ask({ query: "kiln" });
    expect(results).toMatchObject([
      { session_id: "child", parent_session_id: "root", source: "telegram", model: "m1", title: "The start" },
    ]);
    expect(results[0]).toMatchObject({ match_message_id: child.messageIds[0] });
  });

  it("asks the store once, for one message of each lineage that user or assistant wrote", async () => {
    const { store } = await openHome();
    await talk(store, "a", ["the kiln"]);
    const search = vi.fn(store.search);
    const args = { query: " kiln ", limit: 2, source: "cli, telegram", before: 2e9 };
    await sessionSearchTool({ ...store, search }, args, { currentSessionId: "now" });
    expect(search.mock.calls).toMatchObject([
      [
        "kiln",
        {
          excludeSessionIds: ["now"],
          excludeSources: ["kanban", "subagent", "tool"],
          sourceFilter: ["cli", "telegram"],
          lastSources: [],
          before: 2e9,
          perLineage: true,
          limit: 2,
          roleFilter: ["user", "assistant"],
        },
      ],
    ]);
  });

  it("finds a word that only a tool printed", async () => {
    const { store, ask } = await openHome();
    await talk(store, "a", ["run it"]);
    await store.appendMessage("a", { role: "tool", toolName: "terminal", content: "EADDRINUSE 8080" });
    expect((await ask({ query: "EADDRINUSE" })).results).toMatchObject([{ matched_role: "tool" }]);
    expect(await ask({ query: "EADDRINUSE", role_filter: "user" })).toMatchObject({ count: 0 });
    await talk(store, "b", ["what is EADDRINUSE?"]);
    expect(column((await ask({ query: "EADDRINUSE" })).results, "session_id")).toEqual(["b"]);
  });

  it("drops a result whose message went away, and shows the others", async () => {
    const { store } = await openHome();
    await talk(store, "a", ["the kiln"]);
    await talk(store, "b", ["the kiln"]);
    await talk(store, "c", ["the kiln"]);
    const flaky = {
      ...store,
      getAnchoredView: async (...args: Parameters<typeof store.getAnchoredView>) => {
        if (args[0] === "a") throw new Error("gone");
        if (args[0] === "b")
          return { window: [], messages_before: 0, messages_after: 0, bookend_start: [], bookend_end: [] };
        return store.getAnchoredView(...args);
      },
    };
    const answer = await sessionSearchTool(flaky, { query: "kiln" });
    expect(answer).toMatchObject({ count: 1, sessions_searched: 3, results: [{ session_id: "c" }] });
  });
});

describe("the size of what is shown", () => {
  it("is bounded for all results together, and the match stays in sight", async () => {
    const { store, ask } = await openHome();
    for (const id of ["a", "b", "c"])
      await talk(
        store,
        id,
        many(12, "x".repeat(50_000)).with(6, `${"y".repeat(90_000)} needle ${"z".repeat(90_000)}`),
      );
    const { results } = (await ask({ query: "needle" })) as unknown as { results: Answer[] };
    expect(JSON.stringify(results).length).toBeLessThan(70_000);
    const anchors = results.flatMap(({ messages }) => messages.filter(({ anchor }) => anchor));
    expect(anchors).toHaveLength(3);
    for (const anchor of anchors) {
      expect(anchor.content_truncated).toBe(true);
      expect(anchor.content).toContain("needle");
    }
  });

  it("follows the settings", async () => {
    const { store, ask } = await openHome();
    await talk(store, "a", ["kiln ".repeat(1000), "short"]);
    const sizes = async (settings: object) => {
      const { results } = await ask({ query: "kiln" }, { settings });
      return (results[0] as Answer).messages.map(({ content }) => String(content).length);
    };
    expect(await sizes({})).toEqual([4000, 5]);
    expect(await sizes({ maxMessageChars: 300 })).toEqual([300, 5]);
    expect((await sizes({ maxResultChars: 1000 }))[0]).toBeLessThan(1000);
  });
});

describe("scope", () => {
  it("leaves out the current lineage, whichever of its sessions is the current one", async () => {
    const { store, ask } = await openHome();
    await talk(store, "root", ["the kiln"]);
    await store.continueSession("root", { id: "next", messages: [{ role: "user", content: "kiln again" }] });
    await store.branchSession("root", { id: "fork" });
    await talk(store, "elsewhere", ["a kiln too"]);
    for (const currentSessionId of ["root", "next", "fork"]) {
      const { results } = await ask({ query: "kiln" }, { currentSessionId });
      expect(column(results, "session_id"), currentSessionId).toEqual(["elsewhere"]);
    }
  });

  it("reaches earlier turns of the current conversation, without those that are still live", async () => {
    const { store, ask } = await openHome();
    const old = await talk(store, "root", [...many(20), "the kiln was blue", ...many(20)]);
    const { messageIds } = await store.continueSession("root", {
      id: "next",
      messages: [{ role: "user", content: "which kiln?" }],
    });
    await talk(store, "elsewhere", ["a kiln too"]);
    const context = { currentSessionId: "next", liveMessageIds: messageIds };
    const own = await ask({ query: "kiln", scope: "lineage" }, context);
    expect(column(own.results, "match_message_id")).toEqual([old[20]]);
    const all = await ask({ query: "kiln", scope: "all" }, context);
    expect(column(all.results, "session_id")).toEqual(["elsewhere", "root"]);
    const withoutLiveList = await ask({ query: "kiln", scope: "lineage" }, { currentSessionId: "next" });
    expect(column(withoutLiveList.results, "match_message_id")).toEqual([...messageIds, old[20]]);
  });

  it("shows several places of the current conversation, but none twice", async () => {
    const { store, ask } = await openHome();
    const texts = many(40);
    for (const at of [3, 4, 30]) texts[at] = `kiln ${at}`;
    const ids = await talk(store, "root", texts);
    await store.branchSession("root", { id: "zz-copy" });
    const { results } = await ask({ query: "kiln", scope: "lineage" }, { currentSessionId: "root" });
    const [first, second, ...more] = column(results, "match_message_id").sort(
      (a, b) => Number(a) - Number(b),
    );
    expect([ids[3], ids[4]]).toContain(first);
    expect([second, ...more]).toEqual([ids[30]]);
  });

  it("takes a live message for live under the id it was copied from, too", async () => {
    const { store, ask } = await openHome();
    const [original] = await talk(store, "root", ["the kiln"]);
    const { messageIds } = await store.continueSession("root", {
      id: "next",
      messages: [{ role: "user", content: "the kiln", originId: original ?? 0 }],
    });
    const context = { currentSessionId: "next", liveMessageIds: messageIds };
    expect(await ask({ query: "kiln", scope: "lineage" }, context)).toMatchObject({ count: 0 });
  });

  it("cannot be the current conversation where there is none", async () => {
    const { ask } = await openHome();
    for (const args of [{ query: "kiln", scope: "lineage" }, { scope: "lineage" }])
      expect(await ask(args)).toEqual({
        success: false,
        error: expect.stringContaining("there is none here"),
      });
  });
});

describe("an empty answer", () => {
  it("says that nothing was found in words other programs know, and what to try", async () => {
    const { ask } = await openHome();
    expect(await ask({ query: "zzz" })).toEqual({
      success: true,
      mode: "discover",
      query: "zzz",
      detail: "adaptive",
      results: [],
      count: 0,
      stage: "none",
      message: "No matching sessions found.",
      hint: expect.stringContaining("fewer words"),
    });
    expect((await ask({ query: '"zzz yyy"' })).hint).toContain("taken literally");
    expect((await ask({ query: "???" })).hint).toContain("no words");
  });

  it("says when the matches are in the current conversation, and names scope", async () => {
    const { store, ask } = await openHome();
    await talk(store, "now", ["the kiln"]);
    expect(await ask({ query: "kiln" }, { currentSessionId: "now" })).toMatchObject({
      results: [],
      count: 0,
      sessions_searched: 0,
      message: expect.stringMatching(/only in the current conversation.*scope='lineage'/),
    });
  });

  it("says when the matches are in hidden sources, and shows them when they are asked for", async () => {
    const { store, ask } = await openHome();
    await talk(store, "sub", ["the kiln"], { source: "subagent" });
    expect(await ask({ query: "kiln" })).toMatchObject({
      count: 0,
      message: expect.stringMatching(
        /^No matching sessions found\..*hidden sources \(kanban, subagent, tool\)/,
      ),
      hint: expect.stringContaining("source='kanban,subagent,tool'"),
    });
    expect(await ask({ query: "kiln", source: "subagent" })).toMatchObject({ count: 1 });
  });

  it("says when the matches are outside the filters, and which those were", async () => {
    const { store, ask } = await openHome();
    await talk(store, "a", ["the kiln"]);
    expect(await ask({ query: "kiln", before: "2000-01-01", source: "cli" })).toMatchObject({
      count: 0,
      message: expect.stringContaining("outside the filters"),
      hint: "Leave out or widen source, before.",
    });
  });
});

describe("a query that is a title", () => {
  it.each([
    ["Kiln Repairs", "kiln repairs"],
    ["Straße nach Łódź", "STRASSE nach lodz"],
    ["Καλημέρα", "ΚΑΛΗΜΕΡΑ"],
    ["kiln repairs", "Ｋｉｌｎ　repairs".replace("\u3000", " ")],
  ])("finds %j in any case: %j", async (title, query) => {
    const { store, ask } = await openHome();
    await talk(store, "a", ["something else"]);
    await store.setSessionTitle("a", title);
    await talk(store, "b", ["another"]);
    await store.setSessionTitle("b", `not ${title}`);
    expect((await ask({ query })).results).toMatchObject([
      { session_id: "a", matched_role: "session_title" },
    ]);
  });

  it("goes first to the one that is written the same, and to the newest number", async () => {
    const { store, ask } = await openHome();
    for (const [id, title] of [
      ["a", "kiln"],
      ["b", "KILN"],
      ["c", "Glaze"],
      ["d", "Glaze #2"],
    ] as const) {
      await talk(store, id, ["something else"]);
      await store.setSessionTitle(id, title);
    }
    expect((await ask({ query: "kiln" })).results).toMatchObject([{ session_id: "a" }]);
    expect((await ask({ query: "glaze" })).results).toMatchObject([{ session_id: "d" }]);
  });

  it("does not show the title of another user", async () => {
    const { store, ask } = await openHome();
    await talk(store, "a", ["something else"], { userId: "ana", source: "telegram" });
    await store.setSessionTitle("a", "Kiln Repairs");
    const ben = { scope: { userId: "ben", userPlatform: "telegram" } };
    expect((await ask({ query: "kiln repairs" }, ben)).results).toEqual([]);
  });
});

it.each([50_001, 200_000])("a query of %i bytes is answered", async (bytes) => {
  const { store, ask } = await openHome();
  await talk(store, "a", ["the kiln"]);
  const found = await ask({ query: `kiln ${"x".repeat(bytes)}` });
  expect(found).toMatchObject({ success: true, results: [{ session_id: "a" }] });
  expect(await store.resolveSessionByTitle("x".repeat(bytes))).toBeNull();
});

it("a query that SQLite refuses is named as the cause, not the file", async () => {
  const refused = toSessionError(
    Object.assign(new Error("LIKE or GLOB pattern too complex"), { errcode: 1 }),
    "/home/state.db",
  );
  expect(explain(refused)).toBe(
    "The database refuses this query: LIKE or GLOB pattern too complex. Ask with fewer or simpler words.",
  );
  const damaged = toSessionError(Object.assign(new Error("malformed"), { errcode: 11 }), "/home/state.db");
  expect(explain(damaged)).toContain("hermes sessions repair");
});

it("a database that fails gives the tool's error, with what to do", async () => {
  const { store } = await openHome();
  await talk(store, "a", ["the kiln"]);
  const locked = new HermesError("session-db-locked", "The database is locked.", { hint: "Try again." });
  const fails = () => Promise.reject(locked);
  for (const broken of [{ search: fails }, { getAnchoredView: fails }, { listLineage: fails }])
    expect(
      await sessionSearchTool({ ...store, ...broken }, { query: "kiln" }, { currentSessionId: "now" }),
    ).toEqual({ error: "Search failed: The database is locked. Try again.", success: false });
});
