// Search with more matches than can be ranked: rare, filtered and old messages are still found.
import { expect, it } from "vitest";
import { openSessionStore, type SessionStore } from "../../../../src/sessions/index.ts";
import { newPath } from "../../../fakes/session-index.ts";

const CROWD = 6000;

/** One old message, then many that share single words with it. */
async function crowded(content: string, crowd: (at: number) => string): Promise<SessionStore> {
  const store = await openSessionStore({ path: newPath() });
  await store.createSession("old", { source: "cli" });
  await store.appendMessage("old", { role: "user", content, timestamp: 1000 });
  for (let at = 0; at < 6; at += 1) {
    const id = `new ${at}`;
    await store.createSession(id, { source: "cli" });
    const texts = Array.from({ length: CROWD / 6 }, (_, place) => crowd(at * (CROWD / 6) + place));
    await store.appendMany(
      id,
      texts.map((text, place) => ({ role: "user", content: text, timestamp: 2000 + place })),
    );
  }
  return store;
}

it.each(["lantern workshop", "lantern AND workshop", "lantern NOT noise"])(
  "the one message with all of it is found among thousands with a part of it: %s",
  async (query) => {
    await using store = await crowded("the lantern of the workshop", (at) =>
      at % 2 === 0 ? "a lantern, noise" : "a workshop, noise",
    );
    expect((await store.search(query)).hits[0]).toMatchObject({ id: 1 });
  },
);

// One or two characters that very many messages contain are searched only in the newest of them.
it.each(["琥珀灯塔 部署方案", "琥珀灯塔 AND 部署方案", "琥珀灯塔 NOT 噪音来源", "docker 灯塔部"])(
  "the one message with all of it is found among thousands with a part of it: %s",
  async (query) => {
    await using store = await crowded("docker: 琥珀灯塔部署方案", (at) =>
      at % 2 === 0 ? "docker 琥珀灯塔噪音来源" : "docker 部署方案噪音来源",
    );
    const { hits } = await store.search(query);
    expect(hits.map(({ id }) => id)).toContain(1);
    if (query.includes("NOT")) expect(hits).toHaveLength(1);
    else expect(hits[0]).toMatchObject({ id: 1 });
  },
);

it.each(["lantern", "lantern OR lamp", "lant*", "灯", "灯塔", "琥珀灯塔"])(
  "the oldest of thousands comes first when the oldest is wanted: %s",
  async (query) => {
    await using store = await crowded("lantern 琥珀灯塔", () => "lantern 琥珀灯塔");
    expect((await store.search(query, { sort: "oldest", limit: 1 })).hits).toMatchObject([{ id: 1 }]);
    const [newest] = (await store.search(query, { sort: "newest", limit: 1 })).hits;
    expect(newest?.timestamp).toBe(2000 + CROWD / 6 - 1);
  },
);

it.each(["lantern", "lantern workshop", "灯塔", "琥珀灯塔"])(
  "limits of every kind are answered: %s",
  async (query) => {
    await using store = await crowded("lantern workshop 琥珀灯塔", () => "lantern workshop 琥珀灯塔");
    for (const limit of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 1, 20, 1e9]) {
      const { hits } = await store.search(query, { limit });
      if (Number.isNaN(limit)) expect(hits).toHaveLength(20);
      else if (limit >= 0 && limit <= 20) expect(hits).toHaveLength(limit);
      else expect(hits.length).toBeGreaterThan(1000);
    }
    expect((await store.search(query, { limit: 20, offset: 400 })).hits).toHaveLength(20);
  },
);

it.each(["lantern", "琥珀灯塔"])(
  "the first pages of thousands of messages overlap nowhere: %s",
  async (query) => {
    await using store = await crowded(
      "lantern 琥珀灯塔",
      (at) => `lantern 琥珀灯塔 ${"word ".repeat(at % 13)}`,
    );
    const pages: number[] = [];
    for (let offset = 0; offset < 60; offset += 10)
      pages.push(...(await store.search(query, { limit: 10, offset })).hits.map(({ id }) => id));
    expect(new Set(pages).size).toBe(60);
  },
);
