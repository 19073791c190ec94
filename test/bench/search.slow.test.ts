// The search benchmark on a small corpus. How long anything takes is not looked at.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSessionStore } from "@hermes-memory/core/internal/sessions";
import { describe, expect, it } from "vitest";
import { deriveQueries } from "../../bench/search/queries.ts";
import { report } from "../../bench/search/report.ts";
import { tempDirectory } from "../../packages/core/test/fakes/temp-directory.ts";
import { onlyLine, runBench } from "./run-bench.ts";

const KINDS = [
  ...["rare", "or3", "common", "very_common", "prefix", "phrase", "question"],
  ...["cjk3", "cjk2", "cjk1", "path", "email"],
];
const timed = {
  p50_ms: expect.any(Number),
  p95_ms: expect.any(Number),
  cpu_p50_ms: expect.any(Number),
};
const SHORTENED = ["--long-session", "600"];
const A_MINUTE = 60_000;

describe("the search benchmark", () => {
  it(
    "measures every kind of query on a corpus of its own, and leaves nothing behind",
    async () => {
      const { stdout, code, temporary } = await runBench(["search", "--messages", "400", ...SHORTENED]);
      expect(code).toBe(0);
      const figures = onlyLine(stdout);
      expect(figures).toMatchObject({ bench: "search", messages: 400 });
      for (const kind of KINDS) {
        expect(figures[`search.${kind}`], kind).toMatchObject({ ...timed, queries: expect.any(Number) });
        expect(figures[`discover.${kind}`], kind).toMatchObject(timed);
      }
      const pair = { long: { ...timed, answered: 30 }, short: { ...timed, answered: 30 } };
      expect(figures.long_session).toMatchObject({ discover: pair, discover_often: pair, scroll: pair });
      expect(readdirSync(temporary)).toEqual([]);
    },
    A_MINUTE,
  );

  it(
    "builds what --db names, asks it the queries of a file the next time, and leaves the messages as they were",
    async () => {
      const folder = tempDirectory();
      const [path, queries] = [join(folder, "new", "kept.db"), join(folder, "queries.json")];
      writeFileSync(queries, '{"queries":{"mine":["the","no-such-word-anywhere-xyzzy"]}}');
      const args = ["search", "--db", path, "--queries", queries, ...SHORTENED];
      const built = await runBench([...args, "--messages", "150"]);
      expect(built.code).toBe(0);
      expect(readdirSync(join(folder, "new")).filter((name) => !name.startsWith("kept.db"))).toEqual([]);
      const baseline = join(folder, "before.json");
      writeFileSync(baseline, built.stdout);
      const again = await runBench([...args, "--messages", "9", "--baseline", baseline]);
      const figures = onlyLine(again.stdout);
      expect(figures).toMatchObject({
        messages: 150,
        "search.mine": { ...timed, queries: 2, answered: 1 },
        growth: { from_messages: 150, p95: { "search.mine": expect.any(Number) } },
        meets: { discover: { mine: null } },
      });
      expect(Object.keys(figures).filter((key) => key.startsWith("search."))).toEqual(["search.mine"]);
      await using store = await openSessionStore({ path });
      expect(await store.messageCount()).toBe(150);
    },
    A_MINUTE,
  );

  it("wants room for the words it plants in a long session", async () => {
    const { stderr, code } = await runBench(["search", "--long-session", "9"]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "--long-session takes a whole number, at least 300.\n",
    });
  });

  it("says what is wrong with a file of queries, before it makes a database", async () => {
    const folder = tempDirectory();
    const [path, queries] = [join(folder, "kept.db"), join(folder, "queries.json")];
    writeFileSync(queries, '{"queries":{"mine":"the"}}');
    const { stdout, stderr, code } = await runBench(["search", "--db", path, "--queries", queries]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`${queries} cannot be used`);
    expect(existsSync(path)).toBe(false);
  });
});

describe("queries derived from a database", () => {
  it("are the same each time, of the kind they are said to be, and a kind without any is left out", async () => {
    const path = join(tempDirectory(), "state.db");
    {
      await using store = await openSessionStore({ path });
      await store.createSession("s", { source: "cli" });
      for (let i = 0; i < 10; i += 1)
        await store.appendMessage("s", {
          role: "user",
          content: `please open lib/harbour/blue_crane.ts and tell anna@example.org about it${i === 3 ? " zanzibar" : ""}`,
        });
    }
    const queries = deriveQueries(path);
    expect(deriveQueries(path)).toEqual(queries);
    expect(Object.keys(queries).filter((kind) => kind.startsWith("cjk"))).toEqual([]);
    expect(queries).toMatchObject({
      rare: ["zanzibar"],
      path: ["lib/harbour/blue_crane.ts"],
      email: ["anna@example.org"],
    });
    expect(queries.phrase).toContain('"and tell"');
    expect(queries.prefix).toContain("har*");
    expect(queries.or3?.[0]).toMatch(/^\w+ OR \w+ OR \w+$/);
    expect(queries.question?.[0]).toMatch(/^\w+( \w+){5,9}\?$/);
  });
});

describe("what the search has to reach", () => {
  const one = (ms: number) => ({
    ...{ p50_ms: ms, p95_ms: ms, cpu_p50_ms: ms, cpu_p95_ms: ms },
    ...{ queries: 1, answered: 1 },
  });
  const pair = { long: one(1), short: one(1) };
  const quick = {
    corpus: "made up",
    messages: 500_000,
    search: {},
    discover: { common: one(50), cjk2: one(88), phrase: one(17) },
    newest: {},
    completeness: { queries: 1, compared: 3, wrong: [] },
    longSession: { discover: pair, discover_often: pair, scroll: pair },
    baseline: undefined,
  };

  it("is a share of the original's time at the same size", () => {
    expect(report(quick).meets.discover).toEqual({ common: true, cjk2: true, phrase: true });
    const slower = { common: one(51), cjk2: one(89), phrase: one(18) };
    expect(report({ ...quick, discover: slower }).meets.discover).toEqual({
      common: false,
      cjk2: false,
      phrase: false,
    });
    expect(report({ ...quick, messages: 100_000 }).meets.discover).toMatchObject({ common: false });
  });

  it("is every message that matches: one wrong answer is too many", () => {
    expect(report(quick).meets.complete).toBe(true);
    const completeness = { ...quick.completeness, wrong: ['"harbour" by newest'] };
    expect(report({ ...quick, completeness }).meets.complete).toBe(false);
  });

  it("is hardly more than in a smaller database, or little in any case", () => {
    const measured = { ...quick, discover: { common: one(15), rare: one(9), or3: one(15) } };
    const p95 = new Map([
      ["discover.common", 10],
      ["discover.rare", 1],
      ["discover.or3", 9],
    ]);
    expect(report({ ...measured, baseline: { messages: 100_000, p95 } }).meets.p95).toEqual({
      "discover.common": true,
      "discover.rare": true,
      "discover.or3": false,
    });
    expect(report(measured).meets.p95).toEqual({
      "discover.common": null,
      "discover.rare": true,
      "discover.or3": null,
    });
  });

  it("is no more in a long session than in a short one", () => {
    const longSession = { ...quick.longSession, scroll: { long: one(2), short: one(1) } };
    expect(report({ ...quick, longSession }).meets.long_session).toEqual({
      discover: true,
      discover_often: true,
      scroll: false,
    });
  });
});
