// Which messages a search shows, in which order, page by page.

import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { idsFound, library, textsFound } from "./search-support.ts";
import { type Harness, messageIds, NOW, nth, talk } from "./support.ts";

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
    expect(hits).toEqual([{ ...found, score: expect.any(Number), matched: ["lantern"], lineage_root: "a" }]);
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

  it("an order that is unknown is the order of relevance", async () => {
    await using store = await open();
    await library(store, ["a long text in which a lantern is mentioned once, late", "lantern lantern"]);
    expect(await idsFound(store, "lantern", { sort: "sideways" })).toEqual(await idsFound(store, "lantern"));
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

  it("twenty messages unless told; a negative limit means all, none at all is none", async () => {
    await using store = await open();
    await varied(store, 5, 13);
    const count = async (limit?: number) =>
      (await store.search("lantern", limit === undefined ? {} : { limit })).hits.length;
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

  it("a session that talks of nothing else does not crowd out the others", async () => {
    await using store = await open();
    await library(store, Array<string>(200).fill("lantern lantern lantern"), { id: "chatty" });
    for (const id of ["b", "c"]) await library(store, [`there was a lantern in ${id}`], { id });
    const { hits } = await store.search("lantern", { perLineage: true, limit: 3 });
    expect(hits.map(({ session_id }) => session_id).sort()).toEqual(["b", "c", "chatty"]);
  });

  it("pages of lineages have neither gaps nor repeats", async () => {
    await using store = await open();
    await varied(store, 9, 3);
    const roots = async (limit: number, offset: number) =>
      (await store.search("lantern", { perLineage: true, limit, offset })).hits.map(
        (hit) => hit.lineage_root,
      );
    const whole = await roots(100, 0);
    expect(new Set(whole).size).toBe(9);
    expect([...(await roots(4, 0)), ...(await roots(4, 4)), ...(await roots(4, 8))]).toEqual(whole);
  });

  it("a copied message is found once, copies of copies too", async () => {
    await using store = await open();
    await library(store, ["the lantern 灯塔", "noted"], { id: "first" });
    const { id } = await store.branchSession("first");
    await store.branchSession(id);
    for (const query of ["lantern", "灯塔", '"the lantern"'])
      expect(await idsFound(store, query)).toHaveLength(1);
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

  it("what was said is found at once, what was changed or deleted is not found any more", async () => {
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

  it("words said right before and after speak for a message", async () => {
    await using store = await open();
    await library(store, ["a lantern", "it rained"], { id: "alone" });
    await talk(store, "alone", ["nothing", "else"]);
    const ids = await library(store, ["which lantern do you mean?", "the lantern in the workshop"], {
      id: "together",
    });
    const [best] = await idsFound(store, "lantern workshop");
    expect(best).toBe(ids[1]);
    const rows = await store.getMessages("together");
    expect((await idsFound(store, "lantern workshop")).slice(0, 2).sort()).toEqual(messageIds(rows).sort());
  });

  it("a message of the time that a question names comes first", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
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

/** `sessions` times `messages` that all hold the same words, among a different number of others. */
async function varied(store: SessionStore, sessions: number, messages: number): Promise<void> {
  for (let session = 0; session < sessions; session += 1) {
    const texts = Array.from({ length: messages }, (_, at) => {
      const more = "word ".repeat((session * 7 + at * 3) % 17);
      return `lantern workshop ${more} 琥珀灯塔${"字".repeat(at % 4)} ${at % 3 === 0 ? "lantern" : ""}`;
    });
    await library(store, texts, { id: `s${session}` });
  }
}
