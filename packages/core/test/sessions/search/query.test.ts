import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  exactTerm,
  namedTimes,
  nameFound,
  type ParsedQuery,
  pairsOf,
  parseQuery,
  termsLeftOut,
  termsOf,
  withForms,
  withoutStopWords,
} from "../../../src/sessions/search/query.ts";
import { type Expression, type SearchReads, take } from "../../../src/sessions/search/reads.ts";
import { toMatch } from "../../../src/sessions/sqlite/search/reads.ts";
import { pick, randomNumbers } from "../../fakes/random.ts";
import { growthOf } from "./growth.ts";
import { realFts5 } from "./real-fts5.ts";

describe("a plain query", () => {
  it.each([
    ["glaze recipe", ["glaze", "recipe"]],
    ["Crème BRÛLÉE", ["creme", "brulee"]],
    ["maria@studio.example", ["maria studio example"]],
    ["src/kiln/driver.py", ["src kiln driver py"]],
    ["chat-send v1.4.2", ["chat send", "v1 4 2"]],
    ["it's", ["it s"]],
    ["100%", ["100"]],
    ["what?", ["what"]],
    ["$HOME/.env", ["home env"]],
    ["--verbose .env foo- a--b", ["verbose", "env", "foo", "a b"]],
    ["#123 [x] <tag> a|b !x", ["123", "x", "tag", "a b"]],
    ["c++ templates", ["c", "templates"]],
    ["TODO: fix {this} (now) a^b", ["todo", "fix", "this", "now", "a", "b"]],
    ["http://x.y/z", ["http", "x y z"]],
    ['say "unterminated', ["say", "unterminated"]],
    ["salt and pepper or not", ["salt", "and", "pepper", "or", "not"]],
    ["hello AND", ["hello"]],
    ["OR world", ["world"]],
    ["NOT NOT a", ["a"]],
    ["* foo", ["foo"]],
    ["src/*", ["src"]],
    ["foo & bar", ["foo", "bar"]],
    ["🏺", ["🏺"]],
  ])("%j asks for %j", (query, words) => {
    expect(plainWords(parseQuery(query))).toEqual(words);
  });

  it("keeps what was typed for each term", () => {
    expect(parseQuery("Maria@Studio.example 100%")).toEqual({
      kind: "plain",
      terms: [
        { words: ["maria", "studio", "example"], text: "Maria@Studio.example" },
        { words: ["100"], text: "100%" },
      ],
    });
  });

  it.each(["", "  \t\n", "***", "AND", "OR OR", '""', '"?!"', "?", "(){}:^+", "\0", "。", "\ud800"])(
    "%j asks for nothing",
    (query) => {
      expect(parseQuery(query)).toEqual({ kind: "blank" });
    },
  );

  it("is cut after 1,000 terms, a pasted path after 64 words, and a pasted page after 256 characters", () => {
    expect(plainWords(parseQuery("漢".repeat(1000)))).toEqual(["漢".repeat(256)]);
    const numbered = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join(" ");
    expect(plainWords(parseQuery(numbered(1203)))).toHaveLength(1000);
    expect(termsLeftOut(numbered(1203))).toBe(203);
    expect(termsLeftOut(numbered(1000))).toBe(0);
    expect(termsLeftOut(numbered(20_000))).toBe(9949);
    expect(plainWords(parseQuery("a/".repeat(1000)))).toEqual([Array(64).fill("a").join(" ")]);
  });
});

it("a repeated term counts once", () => {
  expect(plainWords(parseQuery("w ".repeat(5000)))).toEqual(["w"]);
  expect(termsLeftOut("w ".repeat(50_000))).toBe(0);
  expect(parseQuery("a OR b OR a OR a*")).toEqual(parseQuery("a OR b OR a*"));
  expect(parseQuery("x NOT a NOT b NOT a")).toEqual(parseQuery("x NOT a NOT b"));
});

describe("an explicit query", () => {
  it.each([
    ['"cobalt celadon"', "[cobalt celadon]"],
    ['"kiln"', "[kiln]"],
    ['"Fire it: slowly"', "[fire it slowly]"],
    ["deploy*", "[deploy*]"],
    ["chat-send*", "[chat send*]"],
    ['"a b"*', "[a b*]"],
    ["de*ploy", "([de*] and [ploy])"],
    ["foo***", "[foo*]"],
    ["a OR b", "([a] or [b])"],
    ["(a OR b) AND c", "([a] or ([b] and [c]))"],
    ["one NOT two three", "([one] not ([two] and [three]))"],
    ["one OR two three", "([one] or ([two] and [three]))"],
    ["a AND b NOT c", "([a] and ([b] not [c]))"],
    ["a NOT b NOT c", "([a] not ([b] or [c]))"],
    ["foo AND NOT bar", "([foo] not [bar])"],
    ["a AND OR b", "([a] and [b])"],
    ["AND a OR OR b AND", "([a] or [b])"],
    ["a OR ? AND b", "([a] or [b])"],
    ['a:"b c"', "([a] and [b c])"],
    ['x"y-z"w', "([x] and [y z] and [w])"],
    ["maria@studio.example OR kiln", "([maria studio example] or [kiln])"],
    ["a and b OR c", "(([a] and [and] and [b]) or [c])"],
    ['"记忆 系统"', "[记忆 系统]"],
    ["docker NOT 通信协议", "([docker] not [通信协议])"],
    ["记忆系统 OR 断裂连接", "([记忆系统] or [断裂连接])"],
  ])("%j means %s", (query, meaning) => {
    const parsed = parseQuery(query);
    expect(parsed.kind === "explicit" ? draw(parsed.expression) : parsed.kind).toBe(meaning);
  });

  it("finds what FTS5 finds for the same text", () => {
    const texts = everyTextOf(["a", "b", "c", "d", "ab"]);
    const fts5 = realFts5(texts);
    const random = randomNumbers(11);
    for (let i = 0; i < 600; i += 1) {
      const query = chanceQuery(random);
      expect(fts5.matching(toMatch(expressionOf(parseQuery(query)))), query).toEqual(fts5.matching(query));
    }
  });

  it("is never more than FTS5 takes, however many operators there are", () => {
    const fts5 = realFts5(["a b"]);
    expect(() => fts5.matching(toMatch(expressionOf(parseQuery("a*".repeat(5000)))))).not.toThrow();
    for (const operator of ["AND", "OR", "NOT"]) {
      const query = Array.from({ length: 5000 }, (_each, index) => `w${index}`).join(` ${operator} `);
      expect(() => fts5.matching(toMatch(expressionOf(parseQuery(query))))).not.toThrow();
    }
  });
});

describe("a query in a script without blanks", () => {
  it.each([
    ["记忆系统", ["记忆系统"]],
    ["记忆系统*", ["记忆系统"]],
    ["Agent通信 docker", ["agent 通信", "docker"]],
    ["100%完成率", ["100 完成率"]],
    ["日本語-テスト", ["日本語 テスト"]],
    ["「釉料」 温度？", ["釉料", "温度"]],
    ["안녕하세요 세계", ["안녕하세요", "세계"]],
    ["ภาษาที่", ["ภาษาที่"]],
    ["salt or 釉料", ["salt", "or", "釉料"]],
    ["𠀀𠀁", ["𠀀𠀁"]],
  ])("%j asks for %j", (query, words) => {
    expect(plainWords(parseQuery(query))).toEqual(words);
  });

  it.each([
    ["记忆系统 or 断裂连接", "([记忆系统] or [断裂连接])"],
    ["广西 and 旅游", "([广西] and [旅游])"],
    ["广西 not 桂林", "([广西] not [桂林])"],
  ])("%j may have its operators in lower case", (query, meaning) => {
    expect(draw(expressionOf(parseQuery(query)))).toBe(meaning);
  });
});

describe("anything at all", () => {
  const PIECES = [
    ..."\"*+-{}():^.,;/\\@%?!'_ \t\n\0",
    ...[
      "AND",
      "OR",
      "NOT",
      "NEAR",
      "and",
      "or",
      " ",
      " ",
      "a",
      "kiln",
      "é",
      "🏺",
      "漢字",
      "ไทย",
      "한",
      "。",
      "\ud800",
      "\ufeff",
      "rowid:",
    ],
  ];

  it.each(["unicode61 remove_diacritics 2", "trigram"])(
    "becomes something FTS5 accepts (%s)",
    (tokenizer) => {
      const fts5 = realFts5(["kiln a é 漢字"], tokenizer);
      const random = randomNumbers(5);
      for (let i = 0; i < 5000; i += 1) {
        const length = 1 + Math.floor(random() * 14);
        const query = Array.from({ length }, () => pick(PIECES, random)).join("");
        const parsed = parseQuery(query);
        if (parsed.kind === "blank") continue;
        expect(() => fts5.matching(toMatch(expressionOf(parsed))), JSON.stringify(query)).not.toThrow();
      }
    },
  );

  it.each(['"', '" ', "*", "a*", "a.", "。", "漢 or ", "NOT ", "a OR ", "\ud800", "?"])(
    "takes time in proportion to a run of %j",
    (unit) => {
      const run = (query: string) => toMatch(expressionOf(parseQuery(query)));
      expect(growthOf((size) => `漢${unit.repeat(size)}x`.slice(0, size), run, 4000)).toBeLessThan(4);
    },
  );
});

function plainWords(parsed: ParsedQuery): string[] | undefined {
  return parsed.kind === "plain" ? parsed.terms.map(({ words }) => words.join(" ")) : undefined;
}

/** A plain query as an expression that requires all its terms. */
function expressionOf(parsed: ParsedQuery): Expression {
  if (parsed.kind === "explicit") return parsed.expression;
  const terms = parsed.kind === "plain" ? parsed.terms : [{ words: ["blank"] }];
  return { op: "and", parts: terms.map(({ words }) => ({ op: "phrase", words, isPrefix: false })) };
}

function draw(expression: Expression): string {
  if (expression.op === "phrase") return `[${expression.words.join(" ")}${expression.isPrefix ? "*" : ""}]`;
  const parts = expression.op === "not" ? [expression.left, expression.right] : expression.parts;
  return `(${parts.map(draw).join(` ${expression.op} `)})`;
}

/** All subsets of the words, in both directions. */
function everyTextOf(words: readonly string[]): string[] {
  return Array.from({ length: 2 ** words.length }, (_each, set) => {
    const chosen = words.filter((_word, index) => set & (1 << index));
    return [chosen.join(" "), chosen.toReversed().join(" ")];
  }).flat();
}

function chanceQuery(random: () => number): string {
  const parts: string[] = [];
  for (let i = 0; i < 2 + Math.floor(random() * 5); i += 1) {
    if (i > 0 && random() < 0.6) parts.push(pick(["AND", "OR", "NOT"], random));
    parts.push(pick(["a", "b", "c", "d", "a*", '"a b"', '"c b"', '"b a"*'], random));
  }
  return parts.join(" ");
}

// ---- Dates in questions ----

const time = (year: number, month: number, day = 1) => new Date(year, month - 1, day).getTime() / 1000;
const month = (year: number, number: number) => ({ from: time(year, number), to: time(year, number + 1) });
const day = (year: number, number: number, date: number) => ({
  from: time(year, number, date),
  to: time(year, number, date + 1),
});
const YEARS = [2023, 2022];

describe("a question names", () => {
  it.each([
    ["What happened in June 2023?", [month(2023, 6)]],
    ["what happened in june, 2023", [month(2023, 6)]],
    ["in December 2023", [month(2023, 12)]],
    ["on 25 May 2023", [day(2023, 5, 25)]],
    ["on May 25, 2023", [day(2023, 5, 25)]],
    ["on the 25 of May 2023", [day(2023, 5, 25)]],
    ["on the 25th May 2023", [day(2023, 5, 25)]],
    ["on the 25th of May 2023", [day(2023, 5, 25)]],
    ["on May 25th, 2023", [day(2023, 5, 25)]],
    ["on 31 December 2023", [day(2023, 12, 31)]],
    ["in June", YEARS.map((year) => month(year, 6))],
    ["on 3 June", YEARS.map((year) => day(year, 6, 3))],
    ["in 2022", [{ from: time(2022, 1), to: time(2023, 1) }]],
    ["in June 2023 or August 2022", [month(2023, 6), month(2022, 8)]],
  ])("a time: %s", (query, spans) => {
    expect(namedTimes(query, YEARS)).toEqual(spans);
  });

  it.each([
    ["a verb", "what may I do"],
    ["another verb", "did they march home"],
    ["a number that is no year", "error 1899 and 2100 and 20235"],
    ["nothing", ""],
    ["a part of a word", "the juneberry and the marchioness"],
  ])("no time: %s", (_what, query) => {
    expect(namedTimes(query, YEARS)).toEqual([]);
  });

  it.each([
    ["in may", 5],
    ["last march", 3],
    ["12 may", 5],
    ["may 12", 5],
    ["march 2023", 3],
  ])("a month that could be a verb: %s", (query, number) => {
    const [first] = namedTimes(query, YEARS);
    expect(new Date((first?.from ?? 0) * 1000).getMonth() + 1).toBe(number);
  });
});

it("a span begins before it ends, whatever the question", () => {
  const word = fc.constantFrom(
    "may",
    "june",
    "31",
    "31st",
    "0",
    "99",
    "2023",
    "of",
    "in",
    "february",
    "1999",
  );
  fc.assert(
    fc.property(fc.array(word), (words) => {
      for (const { from, to } of namedTimes(words.join(" "), YEARS)) expect(from).toBeLessThan(to);
    }),
  );
});

// ---- Terms ----

it.each([
  ["what is Maria's new kiln", ["maria", "new", "kiln"]],
  ["who is it", ["who", "is", "it"]], // nothing but stop words
])("%j is searched by %j", (query, words) => {
  const parsed = parseQuery(query);
  const terms = parsed.kind === "plain" ? withoutStopWords(parsed.terms) : [];
  expect(terms.map((term) => term.words.join(" "))).toEqual(words);
});

it("the terms of an expression do not include excluded words", () => {
  const terms = termsOf(expressionOf(parseQuery('"kiln glaze" OR ash* NOT copper')));
  expect(terms.map(({ words, isPrefix }) => [words.join(" "), isPrefix])).toEqual([
    ["kiln glaze", false],
    ["ash", true],
  ]);
});

it("a guessed term is named by the forms that a message contains", () => {
  const guess = { ...exactTerm(["kilm"]), forms: ["kiln", "kilt"], isGuess: true };
  expect(nameFound(guess, "the Kiln is hot")).toBe("kiln");
  expect(nameFound(guess, "nothing here")).toBe("kilm");
  expect(nameFound({ ...guess, isGuess: false }, "the kiln")).toBe("kilm");
});

it("a run of a script without blanks is split into its pairs, or found at the end of a longer run", () => {
  expect(pairsOf(exactTerm(["部署方案"])).map(({ words }) => words[0])).toEqual(["部署", "署方", "方案"]);
  expect(pairsOf(exactTerm(["kiln"]))).toEqual([]);
  expect(toMatch({ op: "phrase", words: ["서울"], isPrefix: false, endsRun: true })).toBe('"서울" + "울"');
});

/** In an index with these words, all of which occur in messages in the scope, unless `own` names fewer. */
function formsIn(indexed: readonly string[], word: string, own = indexed) {
  const reads: Pick<SearchReads, "terms" | "occurring"> = {
    terms: ({ prefix, limit }) =>
      [...indexed]
        .sort()
        .filter((each) => each.startsWith(prefix))
        .slice(0, limit),
    occurring: (words) => words.filter((each) => own.includes(each)),
  };
  return take(withForms({ words: [word], text: word }), reads as SearchReads);
}

it.each([
  [
    "the same stem, irregular ones included",
    ["run", "running", "runs", "ran", "rung", "rural"],
    "run",
    { forms: ["running", "runs", "ran"], kin: [] },
  ],
  [
    "a guess one typing error away, if no form occurs",
    ["kilns", "glaze"],
    "kilsn",
    { forms: ["kilns"], isGuess: true },
  ],
  ["no guess for a word that occurs", ["kilns", "kilsn"], "kilsn", { forms: [], kin: [] }],
  [
    "the same beginning, from seven letters on",
    ["deployment", "deploymate"],
    "deployments",
    { forms: ["deployment"], kin: ["deploymate"] },
  ],
])("the forms of a word: %s", (_name, indexed, word, forms) => {
  expect(formsIn(indexed, word)).toMatchObject(forms);
});

it("a word that only other users wrote is no guess", () => {
  expect(formsIn(["kilns"], "kilsn", [])).toEqual({ ...exactTerm(["kilsn"]) });
});
