import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findRedundant } from "../../../src/curator/memory/entry-rules.ts";
import { factProblem } from "../../../src/curator/memory/hard-facts.ts";
import { FAIR, LOSING, NOT_REDUNDANT } from "./merges.ts";
import { DIFFERENT, OVERLAPPING, PARALLEL, SAME, TURNED } from "./pairs.ts";

const CHECKED: readonly (readonly [string, readonly string[], string, object | undefined])[] = [
  [
    "a fair merge",
    ["The project uses pnpm for package management", "Package management is done with pnpm, never yarn"],
    "The project uses pnpm for package management, never yarn",
    undefined,
  ],
  [
    "a merge of two denials",
    ["Never deploy on Friday", "Don't deploy on Friday without Anna"],
    "Never deploy on Friday, and not without Anna",
    undefined,
  ],
  [
    "a lost number",
    ["The API is on port 8080", "The API needs a token"],
    "The API needs a token",
    { what: "number" },
  ],
  [
    "a changed number",
    ["Port 8080", "Port 8080 needs TLS"],
    "Port 8081 needs TLS",
    { kind: "lost", what: "number" },
  ],
  ["a lost path", ["Logs are in /var/log/app", "Logs rotate"], "Logs rotate", { what: "path" }],
  [
    "a lost name inside",
    ["Ask Carla about billing", "Billing is slow"],
    "Ask about slow billing",
    { word: "Carla" },
  ],
  [
    "a lost name in front",
    ["Zora likes tea", "Likes short answers"],
    "Likes tea and short answers",
    { word: "Zora" },
  ],
  [
    "a lost condition",
    ["Deploy only at night", "Deploy with make ship"],
    "Deploy at night with make ship",
    { what: "condition" },
  ],
  [
    "a lost denial",
    ["Do not push to main", "Push to review branches"],
    "Push to main and to review branches",
    { kind: "negation-lost" },
  ],
  [
    "a denial that was not there",
    ["Push to main", "Push to review branches"],
    "Do not push to main, push to review branches",
    { kind: "negation-invented" },
  ],
  [
    "a denial of something else",
    ["Never share the token", "Share the dashboard with Ben"],
    "Share the token and the dashboard with Ben, never late",
    { kind: "negation-lost" },
  ],
  [
    "half of a denial",
    ["Never share the token and the key", "Share the dashboard"],
    "Never share the token, share the key and dashboard",
    { kind: "negation-lost" },
  ],
  [
    "a denial that grew",
    ["Uses npm", "Uses pnpm, never yarn"],
    "Uses pnpm, never yarn or npm",
    { kind: "negation-invented" },
  ],
  [
    "a denial behind its subject",
    ["Direct commits are forbidden", "Commits need a ticket"],
    "Direct commits need a ticket, none other forbidden",
    { kind: "negation-lost" },
  ],
  [
    "denials in other words",
    ["Never force-push to main", "main is protected, no direct commits"],
    "main is protected: never force-push to main, no direct commits",
    undefined,
  ],
  [
    "numbers that changed places",
    ["The API is on port 8080", "The database is on port 5432"],
    "The API is on 5432, the database on port 8080",
    { kind: "moved" },
  ],
  [
    "names that changed places",
    ["Anna prefers tea", "Zora prefers cocoa"],
    "Zora prefers tea, Anna cocoa",
    { kind: "moved" },
  ],
  [
    "numbers that stayed where they belong",
    ["The API is on port 8080", "The database is on port 5432"],
    "The API is on port 8080, the database on 5432",
    undefined,
  ],
  ["an invented number", ["Uses pnpm", "Uses vitest"], "Uses pnpm and vitest 3", { kind: "invented" }],
  [
    "an invented name",
    ["Uses pnpm", "Uses vitest"],
    "Uses pnpm and vitest with Docker",
    { kind: "invented" },
  ],
  [
    "a story of its own",
    ["Uses pnpm", "Uses vitest"],
    "Uses pnpm and vitest because they feel fast, modern and pleasant every single day",
    { kind: "invented" },
  ],
];

describe("a merged text", () => {
  it.each(CHECKED)("with %s", (_name, sources, merged, problem) => {
    const found = factProblem(sources, merged);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(problem);
  });
});

describe("a merge that loses nothing", () => {
  it.each(FAIR)("may be made: %j", (sources, merged) => {
    expect(factProblem(sources, merged)).toBeUndefined();
  });

  const pairs = [...SAME, ...DIFFERENT, ...OVERLAPPING, ...PARALLEL, ...NOT_REDUNDANT, ...TURNED];
  it.each(pairs)("may be made when both texts stand in it as they are: %s | %s", (one, other) => {
    expect(factProblem([one, other], `${one}\n\n${other}`)).toBeUndefined();
  });
});

describe("a merge may not lose", () => {
  it.each(LOSING)("%s", (_lost, sources, merged) => {
    expect(factProblem(sources, merged)).toBeDefined();
    expect(factProblem(sources.toReversed(), merged)).toBeDefined();
  });
});

describe("an entry does not go for another one that lacks something of it", () => {
  it.each(NOT_REDUNDANT)("%s | %s", (one, other) => {
    expect(findRedundant([one, other], () => false)).toEqual([]);
    expect(findRedundant([other, one], () => false)).toEqual([]);
  });
});

describe("whatever the words", () => {
  const plainWord = fc.constantFrom("tea", "pnpm", "reviews", "keys", "laptop", "cache", "branch", "vault");
  const particular = fc.constantFrom(
    ...["never", "always", "only", "must", "not", "don't", "without", "unless", "no"],
    ...[
      "8080",
      "-5",
      "v1.2",
      "30%",
      "Carla",
      "GitHub",
      "US",
      "/srv/Data",
      "userId",
      "https://a.example/x",
      "`go on`",
    ],
  );
  const words = fc.array(plainWord, { minLength: 1, maxLength: 4 });
  /** A sentence with one specific word in it, and the position of that word. */
  const sentence = fc.tuple(words, particular, words).map(([before, word, behind]) => ({
    before,
    word,
    behind,
    text: [...before, word, ...behind].join(" "),
  }));

  it("a text that holds its sources loses nothing", () => {
    fc.assert(
      fc.property(fc.array(sentence, { minLength: 2, maxLength: 4 }), (sources) => {
        const texts = sources.map(({ text }) => text);
        expect(factProblem(texts, texts.join("\n\n"))).toBeUndefined();
      }),
    );
  });

  it("a text that leaves one of them out is not taken", () => {
    fc.assert(
      fc.property(sentence, words, ({ before, word, behind, text }, other) => {
        const source = other.join(" ");
        const merged = [...before, ...behind, ...other].join(" ");
        expect(factProblem([text, source], merged), word).toBeDefined();
        expect(findRedundant([text, merged], () => false).filter(({ entry }) => entry === text)).toEqual([]);
      }),
    );
  });
});
