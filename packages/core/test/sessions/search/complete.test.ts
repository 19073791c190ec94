// What a search must find at every size, on small databases with small limits.
import { expect, it } from "vitest";
import type { SessionStore } from "../../../src/sessions/index.ts";
import type { SearchOptions } from "../../../src/sessions/search/types.ts";
import { openSqliteStore } from "../../../src/sessions/sqlite/store.ts";
import { newPath } from "../../fakes/session-index.ts";

const NOW = 1_780_000_000;
const DAY = 86_400;

const bounded = (): Promise<SessionStore> =>
  openSqliteStore({
    path: newPath(),
    searchBounds: {
      matchesRanked: 20,
      matchesRead: 10,
      probeRows: 10,
      listRows: 20,
      rowsRead: 10,
      textRead: 0,
      readAll: 10,
      fullMatches: 4,
      firstStep: 8,
    },
  });

async function say(
  store: SessionStore,
  session: string,
  texts: readonly (string | object)[],
  { source = "cli", role = "user", at = NOW }: { source?: string; role?: string; at?: number } = {},
): Promise<number[]> {
  await store.createSession(session, { source });
  return store.appendMany(
    session,
    texts.map((content, place) => ({ role, content, timestamp: at + place })),
  );
}

const repeat = (count: number, text: string): string[] => Array.from({ length: count }, () => text);
const idsOf = async (store: SessionStore, query: string, options?: SearchOptions): Promise<number[]> =>
  (await store.search(query, options)).hits.map(({ id }) => id);

it("time decides on newest and oldest, not the order in which messages were stored", async () => {
  await using store = await bounded();
  const today = await say(store, "today", repeat(30, "deploy"));
  const before = await say(store, "imported later", repeat(30, "deploy"), { at: NOW - 2000 * DAY });
  expect(await idsOf(store, "deploy", { sort: "newest", limit: 3 })).toEqual(today.slice(-3).reverse());
  expect(await idsOf(store, "deploy", { sort: "oldest", limit: 3 })).toEqual(before.slice(0, 3));
});

it.each(["deploy", '"deploy it"', "dep*", "部署", "部", "deploy OR absent", "deploy it"])(
  "one session with most of the matches hides no other: %s",
  async (query) => {
    await using store = await bounded();
    for (let at = 0; at < 30; at += 1)
      await say(store, `quiet ${at}`, ["deploy it 部署"], { at: NOW - (100 - at) * DAY });
    await say(store, "chatty", repeat(200, "deploy it 部署 now"));
    for (const sort of [undefined, "newest", "oldest"]) {
      const { hits } = await store.search(query, { limit: 10, perLineage: true, sort });
      expect(new Set(hits.map((hit) => hit.lineage_root)).size).toBe(10);
    }
    expect((await store.search(query, { limit: 50, perLineage: true })).hits).toHaveLength(31);
  },
);

it("filters find matches behind newer ones, and an empty answer gives the true reason", async () => {
  await using store = await bounded();
  const [old] = await say(store, "old", ["deploy"], { source: "telegram", role: "assistant", at: NOW - DAY });
  await say(store, "crowd", repeat(300, "deploy"));
  for (const filter of [
    { sourceFilter: ["telegram"] },
    { before: NOW },
    { roleFilter: ["assistant"] },
    { excludeSessionIds: ["crowd"] },
    { excludeSources: ["cli"] },
    { sessionIds: ["old"] },
  ])
    expect(await idsOf(store, "deploy", filter)).toEqual([old]);
  expect(
    await store.search("deploy", { sourceFilter: ["slack"], excludeSessionIds: ["crowd"] }),
  ).toMatchObject({
    hits: [],
    empty: "filtered",
  });
  expect(await store.search("absent", { sourceFilter: ["telegram"] })).toMatchObject({ empty: "no-match" });
});

it("text behind a zero byte is found", async () => {
  await using store = await bounded();
  const [id] = await say(store, "a", ["before\0quartzwharf"]);
  expect(await idsOf(store, "quartzwharf")).toEqual([id]);
  expect((await store.search("quartzwharf")).hits[0]?.snippet).toBe("before >>>quartzwharf<<<  ");
});

it("text and arguments that begin with data:, keys, ids, types and long tokens in arguments are found", async () => {
  await using store = await bounded();
  const [id] = await say(store, "a", [[{ type: "text", text: "data: the mossbridge figures" }]]);
  const token = `tok${"0123456789abcdef".repeat(40)}`;
  const call = (given: object) => [
    { id: "call_1", type: "function", function: { name: "run", arguments: JSON.stringify(given) } },
  ];
  const called: number[] = [];
  for (const given of [
    { text: "data:heronloft" },
    { id: "opalhinge" },
    { type: "velvetanchor" },
    { amberkey: 1 },
    { token },
  ])
    called.push(await store.appendMessage("a", { role: "assistant", content: null, toolCalls: call(given) }));
  expect(await idsOf(store, "mossbridge")).toEqual([id]);
  for (const [at, word] of ["heronloft", "opalhinge", "velvetanchor", "amberkey", token].entries())
    expect(await idsOf(store, word)).toEqual([called[at]]);
  expect(await idsOf(store, "call_1")).toEqual([]);
});

it("common words of two characters mean AND, NOT and side by side as elsewhere", async () => {
  await using store = await bounded();
  await say(
    store,
    "crowd",
    [...repeat(100, "検索の記録"), ...repeat(100, "番号だけ、東京"), ...repeat(50, "会議")],
    {
      at: NOW + DAY,
    },
  );
  const both = await say(store, "old", repeat(5, "検索した番号、東京駅の会議"));
  for (const query of ["検索 AND 番号", "検索 番号", "東京駅 会議", "検 番", '"検索した番号"'])
    expect((await idsOf(store, query)).sort()).toEqual(both);
  const system = await say(store, "system", repeat(11, "検索システム"));
  expect((await idsOf(store, "検索システム NOT 記録")).sort((a, b) => a - b)).toEqual(system);
});

it("words far behind in a long message count", async () => {
  await using store = await bounded();
  await say(store, "crowd", repeat(60, "a lantern"));
  const [id] = await say(store, "long", [
    `${"filler text here. ".repeat(3000)} the lantern of the quartzwharf`,
  ]);
  const { hits } = await store.search("lantern quartzwharf");
  expect(hits[0]).toMatchObject({ id, matched: ["lantern", "quartzwharf"] });
  expect(hits[0]?.snippet).toContain(">>>lantern<<< of the >>>quartzwharf<<<");
});

it.each(["log in", "turn off", "The Who", "vitamin a"])(
  "little words count where the whole query is in a message: %s",
  async (query) => {
    await using store = await bounded();
    const [first = "", second = ""] = query.split(" ");
    const [telling, little] = first === "The" ? [second, first] : [first, second];
    const [id] = await say(store, "a", [`yes: ${query} please`], { at: NOW - DAY });
    await say(
      store,
      "b",
      repeat(60, first === "The" ? `nothing but ${little}` : `${telling} and ${telling} and more`),
    );
    expect((await idsOf(store, query))[0]).toBe(id);
  },
);

it("Devanagari vowel signs tell words apart, and Korean words go before parts of longer ones", async () => {
  await using store = await bounded();
  const [evening] = await say(store, "a", ["शाम", "शम"]);
  expect(await idsOf(store, "शाम")).toEqual([evening]);
  await say(store, "b", repeat(30, "남서울역에서"), { at: NOW + DAY });
  const [seoul] = await say(store, "c", ["서울 여행"]);
  expect((await idsOf(store, "서울"))[0]).toBe(seoul);
});

it.each([
  ["docker", "run Ｄｏｃｋｅｒ now", "run >>>Ｄｏｃｋｅｒ<<< now"],
  ["Ｄｏｃｋｅｒ", "run docker now", "run >>>docker<<< now"],
  ["バックアップ", "昨日のﾊﾞｯｸｱｯﾌﾟは失敗", "昨日の>>>ﾊﾞｯｸｱｯﾌﾟ<<<は失敗"],
  ["ﾊﾞｯｸｱｯﾌﾟ", "昨日のバックアップは失敗", "昨日の>>>バックアップ<<<は失敗"],
  ["κοσμος", "ο κόσμος όλος", "ο >>>κόσμος<<< όλος"],
  ["елка", "наша ёлка горит", "наша >>>ёлка<<< горит"],
  ["strasse", "die Straße dort", "die >>>Straße<<< dort"],
  ["Łódź", "trip to lodz soon", "trip to >>>lodz<<< soon"],
  ["office", "the oﬃce is closed", "the >>>oﬃce<<< is closed"],
  ["서버", "서버 재시작".normalize("NFD"), ">>>서버<<< 재시작".normalize("NFD")],
  ["서버".normalize("NFD"), "서버 재시작", ">>>서버<<< 재시작"],
])("a word is found and marked in its other spelling: %s in %s", async (query, text, snippet) => {
  await using store = await bounded();
  await say(store, "a", [text, "something else"]);
  const { hits, confidence } = await store.search(query);
  expect(hits.map((hit) => hit.snippet.trim())).toEqual([snippet]);
  expect(confidence?.score).toBe(1);
  const long = `${"filler text ".repeat(3000)}${text}`;
  const [id] = await say(store, "long", [long]);
  const found = (await store.search(query)).hits.find((hit) => hit.id === id);
  expect(found?.snippet.normalize("NFKC")).toContain(/>>>.*<<</.exec(snippet)?.[0].normalize("NFKC"));
});

it("a Korean word goes before a longer one that only begins with it", async () => {
  await using store = await bounded();
  await say(store, "a", ["서버실 온도"], { at: NOW + DAY });
  const [asked] = await say(store, "b", ["서버 재시작은 어떻게 하나요?"]);
  expect((await idsOf(store, "서버"))[0]).toBe(asked);
});

it("a query may have 1,000 terms; of more, the answer says how many were left out", async () => {
  await using store = await bounded();
  const [id, other] = await say(store, "a", ["zebrafinch here", "quokka"]);
  const words = (count: number) => Array.from({ length: count }, (_, at) => `absent${at}`);
  for (const operator of [" OR ", " "]) {
    const query = [...words(999), "zebrafinch"].join(operator);
    const answer = await store.search(query);
    expect(answer.hits.map((hit) => hit.id)).toEqual([id]);
    expect(answer.termsLeftOut).toBeUndefined();
    expect(await idsOf(store, query, { sort: "newest" })).toEqual([id]);
  }
  expect(await idsOf(store, `quokka OR zebrafinch NOT ${words(900).join(" NOT ")} NOT here`)).toEqual([
    other,
  ]);
  expect(await idsOf(store, [...words(999), "quokka"].join(" AND "))).toEqual([]);
  const phrases = words(999).map((word) => `"${word} 検索"`);
  expect(await idsOf(store, [...phrases, "quokka"].join(" OR "))).toEqual([other]);
  const tooLong = await store.search(`quokka OR ${words(1204).join(" OR ")}`);
  expect(tooLong).toMatchObject({ hits: [{ id: other }], termsLeftOut: 205 });
  expect(await store.search(words(1001).join(" OR "))).toMatchObject({ hits: [], termsLeftOut: 1 });
});

it("a snippet is clean text", async () => {
  await using store = await bounded();
  await say(store, "a", ["\x1b[31mquartzwharf\x1b[0m\x07 failed"], { role: "tool" });
  const [hit] = (await store.search("quartzwharf")).hits;
  expect(hit?.snippet.trim()).toBe(">>>quartzwharf<<<  failed");
});

it("a message of millions of characters is ranked and shown without delay", async () => {
  await using store = await bounded();
  const long = `${"word after word ".repeat(600_000)} quartzwharf ${"and so on ".repeat(100_000)}`;
  const [id] = await say(store, "a", [long]);
  const { hits } = await store.search("quartzwharf");
  expect(hits).toMatchObject([{ id, snippet: expect.stringContaining(">>>quartzwharf<<< and so on") }]);
}, 60_000);

it("a plain question says how well it was answered, an expression does not", async () => {
  await using store = await bounded();
  await say(store, "a", ["the quartzwharf crane turns slowly", "nothing"]);
  expect((await store.search("quartzwharf crane")).confidence).toEqual({ score: 1, isWeak: false });
  expect((await store.search('"quartzwharf crane"')).confidence).toBeUndefined();
});

it("says when not all of very many matches were compared", async () => {
  await using store = await bounded();
  await say(store, "a", repeat(40, "deploy"));
  expect((await store.search('"deploy"')).isPartlyRanked).toBe(true);
  expect((await store.search('"deploy"', { sort: "newest" })).isPartlyRanked).toBeUndefined();
});

it("of many matches the short ones are read beside the newest", async () => {
  await using store = await bounded();
  const [short] = await say(store, "short", ["deploy"]);
  for (let at = 1; at <= 15; at += 1)
    await say(store, `long-${at}`, [`deploy ${"and other words ".repeat(20)}`], { at: NOW + at * DAY });
  for (const query of ["deploy", '"deploy"']) {
    const { hits, isPartlyRanked } = await store.search(query, { limit: 5 });
    expect(hits[0]?.id).toBe(short);
    expect(isPartlyRanked).toBe(true);
  }
});

it.each(["kiln", "kiln widget", "kiln AND widget", '"kiln widget"', "kil*", "what about the kiln?", "窯"])(
  "pages by relevance neither repeat nor skip anything: %s",
  async (query) => {
    await using store = await bounded();
    for (let at = 0; at < 40; at += 1)
      await say(store, `talk ${at}`, [`kiln widget ${at} 窯`, `about the kiln widget ${at % 7} 窯の温度`], {
        at: NOW + at * 1000,
      });
    for (const perLineage of [false, true]) {
      const all: (number | string)[] = [];
      for (let offset = 0; ; offset += 7) {
        const { hits } = await store.search(query, { limit: 7, offset, perLineage });
        all.push(...hits.map(({ id, lineage_root }) => (perLineage ? lineage_root : id)));
        if (hits.length < 7) break;
      }
      expect(all).toHaveLength(perLineage ? 40 : 80);
      expect(new Set(all).size).toBe(all.length);
      const first = await store.search(query, { limit: 50, perLineage });
      expect(first.hits.map(({ id, lineage_root }) => (perLineage ? lineage_root : id))).toEqual(
        all.slice(0, 50),
      );
    }
  },
);

it("an old conversation about the matter goes before many newer ones that only mention it", async () => {
  await using store = await openSqliteStore({ path: newPath() });
  await say(
    store,
    "about it",
    Array.from({ length: 10 }, (_, at) => `The cobalt kiln, part ${at}: glaze for the cobalt kiln.`),
    { at: NOW - 900 * DAY },
  );
  for (let at = 0; at < 400; at += 1)
    await say(store, `list ${at}`, [`flour, soap, kiln shelf, ${"many other things, ".repeat(20)}cobalt`], {
      at: NOW - (500 - at) * DAY,
    });
  const { hits } = await store.search("cobalt kiln", { perLineage: true, limit: 5 });
  expect(hits[0]).toMatchObject({ session_id: "about it" });
});
