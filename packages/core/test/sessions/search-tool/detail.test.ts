// How much of each result is shown, and in which order: the rules of schema 17.
import { describe, expect, it } from "vitest";
import type { SearchAnswer, SessionStore } from "../../../src/sessions/index.ts";
import { sessionSearchTool } from "../../../src/sessions/search-tool/tool.ts";
import { type Answer, column, openHome, openProfile, talk } from "./support.ts";

const many = (count: number) => Array.from({ length: count }, (_, index) => `filler ${index}`);
const DAY = 86_400;

/** The store, with fields added to its answers. */
function saying(store: SessionStore, more: Partial<SearchAnswer>): SessionStore {
  return {
    ...store,
    search: async (query, options) => ({ ...(await store.search(query, options)), ...more }),
  };
}

describe("detail", () => {
  it("is full for up to three results while they fit the caller's budget", async () => {
    const { store, ask } = await openHome();
    for (const id of ["a", "b", "c"]) await talk(store, id, many(30).with(15, "the cobalt glaze"));
    const three = await ask({ query: "cobalt" });
    expect(three.detail).toBe("adaptive");
    for (const result of three.results as Answer[]) {
      expect(result).toMatchObject({
        detail: "full",
        bookend_start: [{}, {}, {}],
        bookend_end: [{}, {}, {}],
      });
      expect(result.messages).toHaveLength(11);
    }
    const length = (answer: object): number => JSON.stringify(answer).length;
    const most = length(three) - 500;
    const narrow = await sessionSearchTool(
      store,
      { query: "cobalt" },
      { fits: (text) => text.length <= most },
    );
    expect(column((narrow as Answer).results, "detail")).toEqual(["full", "full", "compact"]);
    expect(narrow).not.toHaveProperty("shortened");
    const settings = { maxResultChars: 250 };
    const small = await sessionSearchTool(store, { query: "cobalt" }, { settings });
    expect(column((small as Answer).results, "detail")).toEqual(["full", "compact", "compact"]);
  });

  it("is full for the first of more results; the others show only the message that matched", async () => {
    const { store, ask } = await openHome();
    for (const id of ["a", "b", "c", "d"]) await talk(store, id, many(30).with(15, "the cobalt glaze"));
    const adaptive = await ask({ query: "cobalt", limit: 4 });
    expect(column(adaptive.results, "detail")).toEqual(["full", "compact", "compact", "compact"]);
    const [first, second] = adaptive.results as [Answer, Answer];
    expect(first.messages).toHaveLength(11);
    expect(first.bookend_start).toHaveLength(3);
    expect(second).toMatchObject({
      bookend_start: [],
      messages: [{ content: "the cobalt glaze", anchor: true }],
      bookend_end: [],
      messages_before: 5,
      messages_after: 5,
    });
    const full = await ask({ query: "cobalt", detail: "full" });
    expect(column(full.results, "detail")).toEqual(["full", "full", "full"]);
    for (const result of full.results as Answer[]) {
      expect(result.messages).toHaveLength(11);
      expect(result.bookend_end).toHaveLength(3);
    }
  });

  it("has a link to every session, with the profile it is in", async () => {
    const { home, store, ask } = await openHome();
    await talk(store, "a", ["the cobalt glaze"]);
    await talk(await openProfile(home, "other"), "b", ["the cobalt glaze"]);
    expect(column((await ask({ query: "cobalt" })).results, "link")).toEqual(["@session:default/a"]);
    expect(column((await ask({ query: "cobalt", profile: "other" })).results, "link")).toEqual([
      "@session:other/b",
    ]);
    expect(await ask({ session_id: "b" })).toMatchObject({ link: "@session:other/b", profile: "other" });
    expect(await ask({ session_id: "@session:other/b" })).toMatchObject({ messages: [{ role: "user" }] });
    const inside = await sessionSearchTool(store, { query: "cobalt" }, { home: `${home}/profiles/other` });
    expect(inside).toMatchObject({ results: [{ link: "@session:other/a" }] });
  });

  it("cuts long messages: 1200 characters in bookends, 4000 around the match", async () => {
    const { store, ask } = await openHome();
    const texts = many(30).with(0, "b".repeat(3000)).with(14, "w".repeat(9000)).with(15, "the cobalt glaze");
    await talk(store, "a", texts);
    const [result] = (await ask({ query: "cobalt" })).results as [Answer];
    expect((result.bookend_start as object[])[0]).toMatchObject({
      content: `${"b".repeat(1199)}…`,
      content_truncated: true,
      original_content_chars: 3000,
    });
    expect(result.messages[4]).toMatchObject({
      content: `${"w".repeat(3999)}…`,
      content_truncated: true,
      original_content_chars: 9000,
    });
    expect(result.messages[5]).not.toHaveProperty("original_content_chars");
  });

  it("leaves handoffs of a compaction out of the bookends", async () => {
    const { store, ask } = await openHome();
    const texts = many(30)
      .with(0, "[CONTEXT COMPACTION — REFERENCE ONLY] earlier")
      .with(2, "[CONTEXT SUMMARY]: earlier")
      .with(15, "the cobalt glaze")
      .with(29, " [CONTEXT COMPACTION - REFERENCE ONLY] later");
    const ids = await talk(store, "a", texts);
    const [result] = (await ask({ query: "cobalt" })).results as [Answer];
    expect(column(result.bookend_start as Answer[], "id")).toEqual([ids[1], ids[3], ids[4]]);
    expect(column(result.bookend_end as Answer[], "id")).toEqual(ids.slice(26, 29));
  });

  it("shows messages without terminal sequences", async () => {
    const { store, ask } = await openHome();
    await talk(store, "a", ["\u001b[31mthe cobalt\u001b[0m glaze"]);
    await store.appendMessage("a", { role: "user", content: [{ type: "text", text: "\u001b[1mbold" }] });
    const [result] = (await ask({ query: "cobalt" })).results as [Answer];
    expect(column(result.messages, "content")).toEqual([
      "the cobalt glaze",
      [{ type: "text", text: "bold" }],
    ]);
    expect(JSON.stringify(await ask({ session_id: "a" }))).not.toContain("u001b");
  });
});

describe("the order of results", () => {
  it("puts a session whose title is the query first, from its beginning on", async () => {
    const { store, ask } = await openHome();
    const ids = await talk(store, "named", many(12));
    await store.setSessionTitle("named", "Kiln repair");
    await talk(store, "other", ["kiln repair, kiln repair"]);
    const answer = await ask({ query: "Kiln repair" });
    expect(column(answer.results, "session_id")).toEqual(["named", "other"]);
    expect(answer.results[0]).toMatchObject({
      matched_role: "session_title",
      match_message_id: ids[0],
      snippet: "Session title matched: Kiln repair",
      title: "Kiln repair",
      detail: "full",
    });
    expect(answer).toMatchObject({ count: 2, sessions_searched: 2 });
    expect(await ask({ query: "Kiln repair" }, { currentSessionId: "named" })).toMatchObject({ count: 1 });
    for (const filter of [{ source: "telegram" }, { before: "2000-01-01" }])
      expect(await ask({ query: "Kiln repair", ...filter })).toMatchObject({ count: 0 });
  });

  it("finds a title that no message mentions, and is sure of it", async () => {
    const { store } = await openHome();
    await talk(store, "named", ["hello"]);
    await store.setSessionTitle("named", "Zanzibar");
    const unsure = saying(store, { confidence: { score: 0, isWeak: true } });
    const answer = await sessionSearchTool(unsure, { query: "Zanzibar" });
    expect(answer).toMatchObject({ count: 1, confidence: 1, results: [{ matched_role: "session_title" }] });
    expect(answer).not.toHaveProperty("message");
  });

  it("hides the runs of task boards like those of subagents and tools", async () => {
    const { store, ask } = await openHome();
    await talk(store, "board", ["the cobalt glaze"], { source: "kanban" });
    await store.setSessionTitle("board", "Cobalt");
    expect(await ask({ query: "Cobalt" })).toMatchObject({
      count: 0,
      hint: expect.stringContaining("kanban"),
    });
    expect(await ask({ query: "cobalt", source: "kanban" })).toMatchObject({ count: 1 });
  });

  it("puts runs of a schedule below everything else, and into an order of time where they belong", async () => {
    const { store, ask } = await openHome();
    for (const day of [1, 2, 3, 4])
      await talk(store, `cron${day}`, ["cobalt cobalt cobalt"], {
        source: "cron",
        startedAt: 1_700_000_000 + day * DAY,
      });
    await talk(store, "said", ["some words about the cobalt glaze and much else"]);
    const { results } = await ask({ query: "cobalt" });
    expect(column(results, "source")).toEqual(["cli", "cron", "cron"]);
    expect(column((await ask({ query: "cobalt", sort: "newest" })).results, "session_id")).toEqual([
      "cron4",
      "cron3",
      "cron2",
    ]);
    expect(column((await ask({ query: "cobalt", source: "cron" })).results, "source")).toEqual(
      Array(3).fill("cron"),
    );
  });
});

it("a run of a schedule that alone has every word is not crowded out by messages with some of them", async () => {
  const { store, ask } = await openHome();
  await talk(store, "run", ["the cobalt glaze inventory is short"], { source: "cron" });
  for (const id of ["a", "b", "c", "d"]) await talk(store, id, ["a glaze", "and an inventory of chairs"]);
  const { results } = await ask({ query: "cobalt glaze inventory" });
  expect(column(results, "session_id")).toHaveLength(3);
  expect(column(results, "session_id").at(-1)).toBe("run");
});

describe("how sure an answer is", () => {
  it("stands before the results, with a sentence when nothing clearly answers", async () => {
    const { store } = await openHome();
    await talk(store, "a", ["the cobalt glaze"]);
    const of = (confidence: { score: number; isWeak: boolean }) =>
      sessionSearchTool(saying(store, { confidence }), { query: "cobalt" });
    const weak = await of({ score: 0.1234, isWeak: true });
    expect(weak).toMatchObject({
      confidence: 0.12,
      message: "Nothing that clearly answers this; nearest:",
      count: 1,
      results: [{ session_id: "a" }],
    });
    expect(Object.keys(weak).indexOf("message")).toBeLessThan(Object.keys(weak).indexOf("results"));
    const clear = await of({ score: 0.9, isWeak: false });
    expect(clear).toMatchObject({ confidence: 0.9 });
    expect(clear).not.toHaveProperty("message");
  });

  it("says when so much matches that not all of it was compared", async () => {
    const { store } = await openHome();
    await talk(store, "a", ["the cobalt glaze"]);
    const answer = await sessionSearchTool(saying(store, { isPartlyRanked: true }), { query: "cobalt" });
    expect(answer).toMatchObject({ order_note: expect.stringContaining("Narrow the query") });
  });

  it("says what was not searched, also when nothing was found", async () => {
    const { store } = await openHome();
    await talk(store, "a", ["the cobalt glaze"]);
    const partly = saying(store, { notSearched: { messages: 1204, reason: "the index is being built" } });
    for (const query of ["cobalt", "zzz"])
      expect(await sessionSearchTool(partly, { query })).toMatchObject({
        not_searched: {
          messages: 1204,
          message: expect.stringMatching(/^1,204 messages are not indexed yet and were not searched/),
        },
      });
  });
});

it("folds the output of an earlier search into one line", async () => {
  const { store, ask } = await openHome();
  await talk(store, "a", ["what do you know?"]);
  const nested = {
    success: true,
    query: "glaze",
    results: [{ snippet: "the zanzibar >>>glaze<<< is blue" }],
  };
  const id = await store.appendMessage("a", {
    role: "tool",
    toolName: "session_search",
    content: JSON.stringify(nested),
  });
  const answer = await ask({ query: "zanzibar" });
  expect(answer.results).toMatchObject([{ match_message_id: id, folded: true, session_id: "a" }]);
  expect(answer.results[0]?.snippet).toContain('earlier session_search for "glaze"');
  expect(JSON.stringify(answer.results)).not.toContain("zanzibar");
});
