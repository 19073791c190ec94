// Nothing that can be typed makes a search fail, or take longer than it should.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { SessionStore } from "../../src/sessions/store.ts";
import { library } from "./search-support.ts";
import { type Harness, NOW } from "./support.ts";

const CORPUS = [
  "the lantern is lit",
  "a plain sentence",
  "琥珀灯塔的部署",
  "한국어 문장",
  "it's 100% \0 sure",
  "a.b/c-d_e",
];

/** Pieces that mean something to one grammar or another, and pieces that are broken. */
const PIECE = fc.oneof(
  fc.constantFrom(
    ...[
      '"',
      "*",
      "AND",
      "OR",
      "NOT",
      "NEAR",
      "(",
      ")",
      "{",
      "}",
      ":",
      "^",
      "+",
      "-",
      "'",
      "\\",
      "%",
      "_",
      " ",
    ],
    ...[
      "\0",
      "\ud800",
      "\udc00",
      "\uffff",
      "\u{10ffff}",
      "\u0301",
      "content",
      "lantern",
      "灯",
      "灯塔",
      "琥珀灯塔",
    ],
    ...["ภาษา", "안녕", "🏺", "\n", "\t", "\u3000", "''", '""', "--", "/*", ";"],
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.string({ unit: "grapheme", maxLength: 6 }),
);
const QUERY = fc.array(PIECE, { maxLength: 30 }).map((pieces) => pieces.join(""));

const HUGE: readonly (readonly [name: string, query: string])[] = [
  ["a megabyte of one word", "x".repeat(1 << 20)],
  ["a megabyte of words", "lantern and candle ".repeat(55_000)],
  ["a megabyte of different words", Array.from({ length: 150_000 }, (_, at) => `w${at}`).join(" ")],
  ["a megabyte of one character", "灯".repeat(1 << 19)],
  ["many characters one by one", "灯 ".repeat(50_000)],
  [
    "different characters one by one",
    Array.from({ length: 5000 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join(" "),
  ],
  ["quotes", '"'.repeat(100_001)],
  ["quoted words", '"a" '.repeat(50_000)],
  ["stars", "*".repeat(100_000)],
  ["starred letters", "a* ".repeat(50_000)],
  ["NOT after NOT", "a NOT ".repeat(50_000)],
  ["OR after OR", "a OR ".repeat(50_000)],
  ["AND and OR in turn", "a AND b OR ".repeat(50_000)],
  ["open parentheses", "(".repeat(100_000)],
  ["one long phrase", `"${"lantern ".repeat(50_000)}"`],
  ["one long path", "a/".repeat(200_000)],
  ["signs", "?!-.".repeat(100_000)],
  ["halves of surrogate pairs", "\ud83c".repeat(100_000)],
  ["zeros", "\0".repeat(100_000)],
  ["accents", `e${"\u0301".repeat(100_000)}`],
];

export function hostileSearchContract({ open }: Harness): void {
  it("any text is answered", async () => {
    await using store = await open();
    await library(store, CORPUS);
    await fc.assert(
      fc.asyncProperty(QUERY, async (query) => {
        const { hits, stage, empty } = await store.search(query, { limit: 50 });
        expect(hits.length === 0).toBe(empty !== undefined);
        expect(stage === "none").toBe(hits.length === 0);
        expect(new Set(hits.map(({ id }) => id)).size).toBe(hits.length);
        expect((await store.searchMessages(query, { limit: 50 })).map(({ id }) => id)).toEqual(
          hits.map(({ id }) => id),
        );
      }),
      { numRuns: 300 },
    );
  });

  it("a text that was stored is found by itself, whatever it is", async () => {
    await using store = await open();
    await store.createSession("a", { source: "cli" });
    const word = fc.stringMatching(/^[a-z0-9]{3,9}$/).filter((text) => !/^(and|or|not)$/.test(text));
    const text = fc.array(fc.tuple(word, fc.constantFrom(" ", "-", ".", "/", ", ", "_", "@", " 灯塔 ")), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(text, async (pieces) => {
        const content = pieces.flat().join("");
        const id = await store.appendMessage("a", { role: "user", content });
        const { hits } = await store.search(content, { limit: -1 });
        expect(hits.map((hit) => hit.id)).toContain(id);
      }),
      { numRuns: 60 },
    );
  });

  it.each(HUGE)("%s is answered, and ten times as much takes no longer", async (_name, query) => {
    await using store = await open();
    await library(store, CORPUS);
    const part = query.slice(0, Math.max(33_000, Math.floor(query.length / 10)));
    await timeOf(store, part);
    // What is beyond the beginning is not looked at; the room is for a busy machine.
    const [short, whole] = [await timeOf(store, part), await timeOf(store, query)];
    expect(whole).toBeLessThan(4 * short + 60);
  });

  it("limits, times and lists that make no sense are answered", async () => {
    await using store = await open();
    await library(store, CORPUS);
    const number = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.constantFrom(-0, Number.NaN, Number.MAX_SAFE_INTEGER),
    );
    const list = fc.array(fc.string({ unit: "binary", maxLength: 4 }), { maxLength: 3 });
    const options = fc.record(
      {
        limit: number,
        offset: number,
        after: number,
        before: number,
        sourceFilter: list,
        excludeSources: list,
        roleFilter: list,
        sessionIds: list,
        excludeSessionIds: list,
        excludeMessageIds: fc.array(number, { maxLength: 3 }),
        userId: fc.string({ unit: "binary", maxLength: 4 }),
        sort: fc.string(),
        perLineage: fc.boolean(),
        includeInactive: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("lantern", "灯", "a*", "琥珀灯塔"), options, async (query, each) => {
        const { hits } = await store.search(query, each);
        expect(hits.length).toBeLessThanOrEqual(CORPUS.length);
      }),
      { numRuns: 300 },
    );
  });

  it("as many messages as wanted can be named in a filter", async () => {
    await using store = await open();
    const [first = -1] = await library(store, CORPUS);
    const many = Array.from({ length: 50_000 }, (_, at) => at + 1_000_000);
    const { hits } = await store.search("lantern", {
      excludeMessageIds: many,
      excludeSessionIds: many.map(String),
      excludeSources: many.map(String),
      after: NOW - 1,
    });
    expect(hits.map(({ id }) => id)).toEqual([first]);
  });
}

/** The shortest of three runs. */
async function timeOf(store: SessionStore, query: string): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run += 1) {
    const start = performance.now();
    await store.search(query);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}
