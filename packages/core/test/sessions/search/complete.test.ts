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

it("a message of millions of characters is ranked and shown without delay", async () => {
  await using store = await bounded();
  const long = `${"word after word ".repeat(600_000)} quartzwharf ${"and so on ".repeat(100_000)}`;
  const [id] = await say(store, "a", [long]);
  const { hits } = await store.search("quartzwharf");
  expect(hits).toMatchObject([{ id, snippet: expect.stringContaining(">>>quartzwharf<<< and so on") }]);
}, 60_000);

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
