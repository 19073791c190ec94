// Filters of a search: they hold on every route a query can take, before anything is cut off.

import type { SearchOptions } from "../../src/sessions/search/types.ts";
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { idsFound } from "./search-support.ts";
import { type Harness, NOW } from "./support.ts";

/** Each finds both of the texts of `TEXTS`, by another way. */
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
/** Two sessions that differ in what the filter looks at; the filter allows `shown` alone. */
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

  it("filters are all met at once", async () => {
    await using store = await open();
    const { shown } = await pair(store, { userId: "ann", role: "tool" }, { userId: "ann", role: "user" });
    const filters = {
      userId: "ann",
      roleFilter: ["tool"],
      sourceFilter: ["cli"],
      after: NOW - 5,
      before: NOW + 5,
    };
    expect(await idsFound(store, "lantern", filters)).toEqual([shown]);
    expect(await idsFound(store, "lantern", { ...filters, sourceFilter: ["tui"] })).toEqual([]);
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
