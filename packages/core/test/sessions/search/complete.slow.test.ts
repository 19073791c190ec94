// Search among 26,000 messages and more, with the real limits.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openSessionStore, type SessionStore } from "../../../src/sessions/index.ts";
import type { SearchOptions } from "../../../src/sessions/search/types.ts";

const NOW = 1_780_000_000;
const DAY = 86_400;
const YEARS = 7 * 365 * DAY;
const CROWD = 26_000;

let store: SessionStore;
let directory: string;
const ids: Record<string, number[]> = {};

async function say(
  session: string,
  texts: readonly string[],
  { source = "cli", role = "user", at = NOW }: { source?: string; role?: string; at?: number } = {},
): Promise<void> {
  await store.createSession(session, { source });
  const made: number[] = [];
  for (let from = 0; from < texts.length; from += 1000)
    made.push(
      ...(await store.appendMany(
        session,
        texts
          .slice(from, from + 1000)
          .map((content, place) => ({ role, content, timestamp: at + from + place })),
      )),
    );
  ids[session] = made;
}

const repeat = (count: number, text: string): string[] => Array.from({ length: count }, () => text);

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "hermes-search-"));
  store = await openSessionStore({ path: join(directory, "state.db") });
  for (let at = 0; at < 30; at += 1)
    await say(`quiet ${at}`, ["deploy it 検索"], { at: NOW - (100 - at) * DAY });
  await say("both", repeat(5, "検索した番号、東京駅の会議"), {
    source: "telegram",
    role: "assistant",
    at: NOW - 200 * DAY,
  });
  await say("chatty", [
    ...repeat(CROWD / 2, "deploy it now 検索の記録"),
    ...repeat(CROWD / 2, "deploy 番号、東京 会議"),
  ]);
  await say("imported", repeat(600, "deploy it 検索"), { source: "slack", at: NOW - YEARS });
}, 120_000);

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const found = async (query: string, options?: SearchOptions) => (await store.search(query, options)).hits;

it.each(["deploy", "検索", '"deploy it"', "dep*"])(
  "time decides on newest and oldest after an import: %s",
  async (query) => {
    const [newest] = await found(query, { sort: "newest", limit: 5 });
    expect(newest?.session_id).toBe("chatty");
    expect((await found(query, { sort: "oldest", limit: 5 })).map(({ id }) => id)).toEqual(
      ids.imported?.slice(0, 5),
    );
  },
);

it.each(["deploy", "検索", '"deploy it"', "dep*", "検", "deploy OR absent"])(
  "a session with 26,000 matches hides none of 31 others: %s",
  async (query) => {
    for (const sort of ["", "newest", "oldest"])
      expect(await found(query, { limit: 31, perLineage: true, sort })).toHaveLength(31);
  },
);

it.each(["deploy", "検索"])("filters find what is behind 26,000 newer matches: %s", async (query) => {
  const old: SearchOptions[] = [{ sourceFilter: ["slack"] }, { before: NOW - YEARS + 1000 }];
  for (const filter of old) expect((await found(query, { ...filter, limit: 1000 })).length).toBe(600);
  const others = await found(query, { excludeSessionIds: ["chatty", "imported"], limit: 1000 });
  expect(others).toHaveLength(query === "deploy" ? 30 : 35);
  expect(
    await store.search(query, { sourceFilter: ["slack"], excludeSessionIds: ["imported"] }),
  ).toMatchObject({
    empty: "excluded-sessions",
  });
  expect(
    await store.search(query, { sourceFilter: ["matrix"], excludeSessionIds: ["chatty"] }),
  ).toMatchObject({
    empty: "filtered",
  });
});

it.each(["検索 AND 番号", "検索 番号", "東京駅 会議", "検 番"])(
  "five messages with both of two common words are found: %s",
  async (query) => {
    expect((await found(query)).map(({ id }) => id).sort((a, b) => a - b)).toEqual(ids.both);
  },
);
