// Which messages a search may show, and in which order.
import type { SearchOptions } from "../../src/sessions/search/types.ts";
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { type Harness, idsFound, library, NOW, nth, textsFound, withSessions } from "./support.ts";

// ---- Filters of a search: they apply on every path, before any limit ----

/** Each finds both texts of `TEXTS` on another path. */
const ROUTES: Readonly<Record<string, string>> = {
  "a word": "lantern",
  "several words": "lantern workshop",
  "a form of a word": "lanterns",
  "a phrase": '"blue lantern"',
  "a star": "lant*",
  "an expression": "lantern NOT submarine",
  "a question with a title": 'who took the "blue lantern" away?',
  "a typo": "lantren",
  "one character": "灯",
  "two characters": "灯塔",
  "several characters": "琥珀灯塔",
  "characters and a word": "lantern 琥珀灯塔",
  "either of two": "琥珀灯塔 OR 记忆",
  "characters but not others": "灯塔 NOT 记忆",
};
const TEXT = "the blue lantern in the workshop, 琥珀灯塔";

type Ids = { readonly shown: number; readonly hidden: number };
/** Two sessions that differ in the filtered property; the filter allows only `shown`. */
type Case = {
  readonly prepare: (store: SessionStore) => Promise<Ids>;
  readonly filter: (ids: Ids) => SearchOptions;
  readonly reason: string;
};

const FILTERS: Readonly<Record<string, Case>> = {
  "the user": {
    prepare: (store) => pair(store, { userId: "ann" }, { userId: "ben" }),
    filter: () => ({ userId: "ann" }),
    reason: "no-match",
  },
  "the user, where others have no owner": {
    prepare: (store) => pair(store, { userId: "ann" }, {}),
    filter: () => ({ userId: "ann" }),
    reason: "no-match",
  },
  "the source": {
    prepare: (store) => pair(store, {}, { source: "telegram" }),
    filter: () => ({ sourceFilter: ["cli", "tui"] }),
    reason: "filtered",
  },
  "hidden sources": {
    prepare: (store) => pair(store, {}, { source: "tool" }),
    filter: () => ({ excludeSources: ["tool", "subagent"] }),
    reason: "hidden-sources",
  },
  "the role": {
    prepare: (store) => pair(store, { role: "user" }, { role: "tool" }),
    filter: () => ({ roleFilter: ["user", "assistant"] }),
    reason: "filtered",
  },
  "a start": {
    prepare: (store) => pair(store, { at: NOW }, { at: NOW - 1 }),
    filter: () => ({ after: NOW }),
    reason: "filtered",
  },
  "an end": {
    prepare: (store) => pair(store, { at: NOW - 1 }, { at: NOW }),
    filter: () => ({ before: NOW }),
    reason: "filtered",
  },
  "named sessions": {
    prepare: (store) => pair(store, {}, {}),
    filter: () => ({ sessionIds: ["shown"] }),
    reason: "filtered",
  },
  "excluded sessions": {
    prepare: (store) => pair(store, {}, {}),
    filter: () => ({ excludeSessionIds: ["hidden", "elsewhere"] }),
    reason: "excluded-sessions",
  },
  "excluded messages": {
    prepare: (store) => pair(store, {}, {}),
    filter: ({ hidden }) => ({ excludeMessageIds: [hidden] }),
    reason: "filtered",
  },
};

const COMBINATIONS = Object.entries(FILTERS).flatMap(([name, each]) =>
  Object.entries(ROUTES).map(([route, query]) => ({ name, route, query, ...each })),
);

export function searchFiltersContract({ it, expect }: Suite, { open }: Harness): void {
  it.each(COMBINATIONS)("$name: holds for $route", async ({ prepare, filter, query, reason }) => {
    await using store = await open();
    const ids = await prepare(store);
    expect((await idsFound(store, query)).sort()).toEqual([ids.shown, ids.hidden].sort());
    expect(await idsFound(store, query, filter(ids))).toEqual([ids.shown]);
    expect(await idsFound(store, query, { ...filter(ids), limit: 1 })).toEqual([ids.shown]);
    expect(await idsFound(store, query, { ...filter(ids), sort: "oldest", limit: 1 })).toEqual([ids.shown]);
    // With nothing left to show, the answer says why.
    await store.deleteSession("shown");
    expect(await store.search(query, filter(ids))).toEqual({ hits: [], stage: "none", empty: reason });
  });

  it.each(Object.entries(ROUTES))("rewound messages are not found by %s", async (_route, query) => {
    await using store = await open();
    const { shown, hidden } = await pair(store, {}, {});
    await store.rewindToMessage("hidden", hidden);
    expect(await idsFound(store, query)).toEqual([shown]);
    expect((await idsFound(store, query, { includeInactive: true })).sort()).toEqual([shown, hidden].sort());
    await store.rewindToMessage("shown", shown);
    expect(await store.search(query)).toEqual({ hits: [], stage: "none", empty: "no-match" });
    await store.restoreRewound("shown", shown);
    expect(await idsFound(store, query)).toEqual([shown]);
  });

  it.each(Object.entries(ROUTES))(
    "a few allowed messages are found among many by %s",
    async (_route, query) => {
      await using store = await open();
      await store.createSession("mine", { source: "cli", userId: "ann" });
      const [first = -1] = await store.appendMany("mine", [{ role: "user", content: TEXT, timestamp: NOW }]);
      await store.createSession("theirs", { source: "telegram", userId: "ben" });
      const crowd = Array.from({ length: 6000 }, () => ({ role: "user", content: TEXT, timestamp: NOW + 1 }));
      await store.appendMany("theirs", crowd);
      for (const filter of [
        { userId: "ann" },
        { sourceFilter: ["cli"] },
        { excludeSources: ["telegram"] },
        { before: NOW + 1 },
        { sessionIds: ["mine"] },
        { excludeSessionIds: ["theirs"] },
      ])
        expect([filter, await idsFound(store, query, filter)]).toEqual([filter, [first]]);
    },
  );

  it("an empty list of sources or sessions allows nothing; other empty lists forbid nothing", async () => {
    await using store = await open();
    const { shown, hidden } = await pair(store, {}, {});
    const all = [shown, hidden].sort();
    expect(await idsFound(store, "lantern", { sourceFilter: [] })).toEqual([]);
    expect(await idsFound(store, "lantern", { sessionIds: [] })).toEqual([]);
    const none = { excludeSources: [], roleFilter: [], excludeSessionIds: [], excludeMessageIds: [] };
    expect((await idsFound(store, "lantern", none)).sort()).toEqual(all);
  });

  it("archived sessions are found", async () => {
    await using store = await open();
    const { shown, hidden } = await pair(store, {}, {});
    await store.setSessionArchived("hidden", true);
    expect((await idsFound(store, "lantern")).sort()).toEqual([shown, hidden].sort());
  });
}

type Marks = {
  readonly userId?: string;
  readonly source?: string;
  readonly role?: string;
  readonly at?: number;
};

async function pair(store: SessionStore, shown: Marks, hidden: Marks): Promise<Ids> {
  const put = async (id: string, { userId, source = "cli", role = "user", at = NOW }: Marks) => {
    await store.createSession(id, { source, startedAt: NOW, ...(userId === undefined ? {} : { userId }) });
    return store.appendMessage(id, { role, content: TEXT, timestamp: at });
  };
  return { shown: await put("shown", shown), hidden: await put("hidden", hidden) };
}

// ---- Which messages a search shows, in which order, page by page ----

export function searchOrderContract({ it, expect }: Suite, { open }: Harness): void {
  it("the row of a hit says where it stands and what stands around it", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli", model: "some-model", startedAt: NOW });
    const long = "x".repeat(300);
    const ids = await store.appendMany("a", [
      { role: "user", content: long, timestamp: NOW },
      { role: "assistant", content: "the lantern is lit", timestamp: NOW + 1 },
      { role: "user", content: "good", timestamp: NOW + 2 },
    ]);
    const row = {
      id: ids[1],
      session_id: "a",
      role: "assistant",
      timestamp: NOW + 1,
      tool_name: null,
      source: "cli",
      model: "some-model",
      session_started: NOW,
      context: [
        { role: "user", content: long.slice(0, 200) },
        { role: "assistant", content: "the lantern is lit" },
        { role: "user", content: "good" },
      ],
    };
    const [found] = await store.searchMessages("lantern");
    expect({ ...found, snippet: found?.snippet.trimEnd() }).toEqual({
      ...row,
      snippet: "the >>>lantern<<< is lit",
    });
    const { hits } = await store.search("lantern");
    const { score } = nth(hits, 0);
    expect(typeof score).toBe("number");
    expect(hits).toEqual([{ ...found, score, matched: ["lantern"], lineage_root: "a" }]);
  });

  it("the context leaves out what was rewound", async () => {
    await using store = await open();
    const [, , last = -1] = await library(store, ["before", "the lantern", "rewound"]);
    await store.rewindToMessage("a", last);
    const { hits } = await store.search("lantern");
    expect(nth(hits, 0).context.map(({ content }) => content)).toEqual(["before", "the lantern"]);
  });

  it.each(["lantern", "lantern OR lamp", "灯", "灯塔", "灯塔 OR 记忆"])(
    "newest and oldest follow the time of the messages: %s",
    async (query) => {
      await using store = await open();
      const texts = [
        "lantern 灯塔",
        "lantern lantern 灯塔灯塔",
        "the lantern in the hall 灯塔记忆",
        "lantern lamp 灯塔",
      ];
      const ids = await library(store, texts);
      expect(await idsFound(store, query, { sort: "oldest" })).toEqual(ids);
      expect(await idsFound(store, query, { sort: " NEWEST " })).toEqual(ids.toReversed());
      expect(await idsFound(store, query, { sort: "newest", limit: 1 })).toEqual(ids.slice(-1));
      expect(await idsFound(store, query, { sort: "oldest", limit: 1 })).toEqual(ids.slice(0, 1));
    },
  );

  it("in order of time, forms of a word do not mix with the word itself", async () => {
    await using store = await open();
    const [, second] = await library(store, ["they ran", "they run", "running"]);
    expect(await idsFound(store, "run", { sort: "newest" })).toEqual([second]);
  });

  it("messages of equal rank come in the order they were stored, every time", async () => {
    await using store = await open();
    const ids: number[] = [];
    for (let index = 0; index < 12; index += 1)
      ids.push(...(await library(store, ["the same lantern 灯塔"], { id: `s${index}` })));
    for (const query of ["lantern", '"same lantern"', "灯塔"]) {
      expect(await idsFound(store, query)).toEqual(ids);
      expect(await store.search(query)).toEqual(await store.search(query));
    }
  });

  it.each(["lantern", "lantern workshop", "lant*", "灯", "琥珀灯塔", "lantern 灯"])(
    "pages of %s have neither gaps nor repeats",
    async (query) => {
      await using store = await open();
      await varied(store, 5, 13);
      for (const sort of [undefined, "newest", "oldest"]) {
        const whole = await idsFound(store, query, { limit: 1000, sort });
        expect(whole).toHaveLength(65);
        const pages: number[] = [];
        for (let offset = 0; offset < 70; offset += 7)
          pages.push(...(await idsFound(store, query, { limit: 7, offset, sort })));
        expect(pages).toEqual(whole);
      }
    },
  );

  it("twenty messages by default; a negative limit means all, zero means none", async () => {
    await using store = await open();
    await varied(store, 5, 13);
    const count = async (limit?: number) => (await store.search("lantern", { limit })).hits.length;
    expect(await count()).toBe(20);
    expect(await count(-1)).toBe(65);
    expect(await count(0)).toBe(0);
    expect(await count(2.9)).toBe(2);
    expect(await count(Number.NaN)).toBe(20);
    expect(await count(Number.POSITIVE_INFINITY)).toBe(65);
    expect(await count(Number.NEGATIVE_INFINITY)).toBe(65);
    expect(await idsFound(store, "lantern", { offset: -5 })).toEqual(await idsFound(store, "lantern"));
    expect(await idsFound(store, "lantern", { offset: Number.NaN })).toEqual(
      await idsFound(store, "lantern"),
    );
    expect(await idsFound(store, "lantern", { offset: 1e300 })).toEqual([]);
  });

  it("one message for each lineage, the best of it, when that is asked for", async () => {
    await using store = await open();
    await library(store, ["lantern", "a lantern among many other things that were said"], { id: "root" });
    await store.continueSession("root", {
      id: "next",
      messages: [{ role: "user", content: "lantern, again" }],
    });
    await library(store, ["some lantern elsewhere"], { id: "other" });
    const { hits } = await store.search("lantern", { perLineage: true });
    expect(hits.map(({ lineage_root }) => lineage_root).sort()).toEqual(["other", "root"]);
    expect(await idsFound(store, "lantern")).toHaveLength(4);
  });

  it("a copy is found where its original may not be shown", async () => {
    await using store = await open();
    const [original] = await library(store, ["the lantern"], { id: "first" });
    const { id, messageIds: copies } = await store.branchSession("first");
    expect(await idsFound(store, "lantern", { sessionIds: [id] })).toEqual(copies);
    await store.deleteSession("first");
    expect(await idsFound(store, "lantern")).toEqual(copies);
    expect(copies).not.toContain(original);
  });

  it("a new message is found at once, changed and deleted text is not found any more", async () => {
    await using store = await open();
    await library(store, ["the lantern 灯塔"]);
    await store.replaceMessages("a", [{ role: "user", content: "the candle 蜡烛" }]);
    expect(await textsFound(store, "lantern")).toEqual([]);
    expect(await textsFound(store, "灯塔")).toEqual([]);
    expect(await textsFound(store, "candle")).toEqual(["the candle 蜡烛"]);
    expect(await textsFound(store, "蜡")).toEqual(["the candle 蜡烛"]);
    await store.appendMessage("a", { role: "user", content: "a torch 火炬" });
    expect(await textsFound(store, "torch")).toEqual(["a torch 火炬"]);
    expect(await textsFound(store, "火炬")).toEqual(["a torch 火炬"]);
    await store.clearMessages("a");
    for (const query of ["candle", "蜡", "torch", "火炬"]) expect(await textsFound(store, query)).toEqual([]);
  });

  it("a message of the time that a question names comes first", async () => {
    await using store = await withSessions(open(), "a");
    const at = (month: number) => new Date(2023, month, 10).getTime() / 1000;
    const ids: number[] = [];
    for (const month of [0, 5, 9])
      ids.push(
        await store.appendMessage("a", { role: "user", content: "I painted the boat", timestamp: at(month) }),
      );
    expect((await idsFound(store, "what did you paint in June 2023?"))[0]).toBe(ids[1]);
    expect((await idsFound(store, "what did you paint in October?"))[0]).toBe(ids[2]);
  });
}

/** `sessions` times `messages` that all contain the same words, among a different number of others. */
async function varied(store: SessionStore, sessions: number, messages: number): Promise<void> {
  for (let session = 0; session < sessions; session += 1) {
    const texts = Array.from({ length: messages }, (_, at) => {
      const more = "word ".repeat((session * 7 + at * 3) % 17);
      return `lantern workshop ${more} 琥珀灯塔${"字".repeat(at % 4)} ${at % 3 === 0 ? "lantern" : ""}`;
    });
    await library(store, texts, { id: `s${session}` });
  }
}
