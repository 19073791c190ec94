// Which message is the better answer, which conversation ranks higher, and how sure the answer is.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { groupScore, rank, rarity } from "../../../src/sessions/search/ranking.ts";
import type { RankInput, RankRow, RankTerm } from "../../../src/sessions/search/ranking-reading.ts";
import { isStopWord, tokenize } from "../../../src/sessions/search/words.ts";

const DAY = 86_400;
const ALL_MESSAGES = 1000;

function message(id: number, said: string, more: Partial<RankRow> = {}): RankRow {
  const alone = { before: [], after: [], isFirst: false, did: "", isRecall: false };
  return { id, session: `s${id}`, timestamp: 0, role: "user", said, ...alone, ...more };
}

function term(word: string, more: Partial<RankTerm> = {}): RankTerm {
  return { words: [word], isPrefix: false, forms: [], weight: 4, ...more };
}

/** Terms as the search creates them: without stop words unless there is nothing else, weighted by the rows that contain them. */
function termsOf(query: string, rows: readonly RankRow[]): RankTerm[] {
  const words = [...new Set(tokenize(query).map((token) => token.term))];
  const telling = words.filter((word) => !isStopWord(word));
  return (telling.length > 0 ? telling : words).map((word) => {
    const holders = rows.filter(({ said }) => tokenize(said).some((token) => token.term === word));
    return term(word, { weight: rarity(holders.length, ALL_MESSAGES) });
  });
}

function inputOf(query: string, rows: readonly RankRow[], more: Partial<RankInput> = {}): RankInput {
  return { query, rows, terms: termsOf(query, rows), sessionCounts: new Map(), spans: [], ...more };
}

function order(query: string, rows: readonly RankRow[], more: Partial<RankInput> = {}): number[] {
  return rank(inputOf(query, rows, more)).rows.map(({ row }) => row.id);
}

/** Messages of one session, each with the ids of its neighbours. */
function session(name: string, said: readonly string[], more: (at: number) => Partial<RankRow> = () => ({})) {
  const firstId = 100 * (1 + name.charCodeAt(0));
  return said.map((text, at) => {
    const idAt = (place: number) => (place < 0 || place >= said.length ? undefined : firstId + place);
    return message(firstId + at, text, {
      session: name,
      before: [idAt(at - 1), idAt(at - 2), idAt(at - 3)],
      after: [idAt(at + 1), idAt(at + 2)],
      isFirst: at === 0,
      ...more(at),
    });
  });
}

describe("the words of a message", () => {
  it("no messages give no order and a weak answer", () => {
    expect(rank(inputOf("loom", []))).toMatchObject({ rows: [], confidence: { score: 0, isWeak: true } });
  });

  const said = "the deployment failed because of the proxy";
  it.each<
    [name: string, query: string, worse: string | RankRow, better: string | RankRow, terms?: RankTerm[]]
  >([
    [
      "a rare word",
      "common rare",
      "a common thing",
      "a rare thing",
      [term("common", { weight: 1 }), term("rare", { weight: 5 })],
    ],
    [
      "two words, not one of them often",
      "loom wool",
      "loom loom loom loom loom loom",
      "the loom and then some blue wool",
    ],
    ["a short message", "loom", `loom ${"and so on ".repeat(80)}`, "my loom broke"],
    [
      "a single word before its forms",
      "run",
      "he runs, she runs",
      "we run",
      [term("run", { forms: ["runs"] })],
    ],
    [
      "words that stand near each other",
      "harbour crane repair",
      "the harbour was closed for the whole of that long day because a crane",
      "a whole long day was closed for because that of the harbour crane the",
    ],
    [
      "what a question asks about",
      "what kind of loom",
      "that kind",
      "that loom",
      [term("kind"), term("loom")],
    ],
    ["the order of the query", "turn off", "off turn", "turn off"],
    [
      "a message that says when",
      "When was the loom sold?",
      "I sold the loom to somebody else",
      "I sold the loom last week on Monday",
    ],
    [
      "tool output before an earlier search",
      "deployment proxy",
      message(1, said, { role: "tool", isRecall: true }),
      message(2, said, { role: "tool" }),
    ],
    [
      "tool output with all of it",
      "deployment proxy timeout",
      "we talked about a deployment, and about many other things on that day",
      message(2, "deployment failed: proxy timeout", { role: "tool" }),
      [term("deployment", { weight: 1 }), term("proxy", { weight: 6 }), term("timeout", { weight: 6 })],
    ],
  ])("%s comes first", (_name, query, worse, better, terms) => {
    const rows = [worse, better].map((each, at) => (typeof each === "string" ? message(at + 1, each) : each));
    expect(order(query, rows, terms === undefined ? {} : { terms })).toEqual([2, 1]);
  });

  it("a form of a word counts, and the row says that the word itself is not there", () => {
    const terms = [term("weave", { forms: ["wove"] }), term("scarf")];
    const { rows } = rank(
      inputOf("weave scarf", [message(1, "she wove a scarf"), message(2, "I weave a scarf")], { terms }),
    );
    expect(rows.map(({ row, matched, isFull }) => [row.id, matched, isFull])).toEqual([
      [2, [0, 1], true],
      [1, [0, 1], false],
    ]);
  });

  it("a word with the same first seven letters counts, for less than the word", () => {
    const rows = [message(1, "the photographs"), message(2, "the photography"), message(3, "the phonograph")];
    const { rows: ranked } = rank(inputOf("photography", rows));
    expect(ranked.map(({ row, matched }) => [row.id, matched])).toEqual([
      [2, [0]],
      [1, [0]],
      [3, []],
    ]);
  });

  it("a prefix counts for every word that begins with it, words side by side only together", () => {
    const terms = [term("deplo", { isPrefix: true }), { ...term(""), words: ["blue", "green"] }];
    const rows = [message(1, "deployed today"), message(2, "blue and green"), message(3, "blue green")];
    const matched = rank(inputOf("deplo blue-green", rows, { terms })).rows.map((each) => [
      each.row.id,
      each.matched,
    ]);
    expect(new Map(matched as [number, number[]][])).toEqual(
      new Map([
        [1, [0]],
        [2, []],
        [3, [1]],
      ]),
    );
  });

  it("a long text is read to its end", () => {
    const page = "Nothing of the kind, nor anything like it. ".repeat(2000);
    const rows = [
      message(1, `${page} the loom ${page}`),
      message(2, `${page} l\u00f6om ${page}`),
      message(3, `${page} the loom and the wool are in the attic`),
      message(4, `the loom ${page} the wool`),
    ];
    const { rows: ranked } = rank(inputOf("loom wool", rows, { terms: [term("loom"), term("wool")] }));
    expect(ranked.map(({ row, matched }) => [row.id, matched])).toEqual([
      [3, [0, 1]],
      [4, [0, 1]],
      [1, [0]],
      [2, [0]],
    ]);
  });
});

describe("little words", () => {
  const turning = Array.from({ length: 60 }, (_, at) =>
    message(at + 10, "it is my turn to turn the page, turn by turn"),
  );

  it.each([
    ["turn off", "please turn off the heating when you leave the house in the evening"],
    ["turn off", "turn the heating off when you leave"],
  ])("one message with '%s' comes before 60 that only turn", (query, said) => {
    const rows = [...turning, message(99, said)];
    expect(order(query, rows, { terms: [term("turn", { forms: ["turned"] })] })[0]).toBe(99);
  });

  it.each([
    ["log in", "you have to log in first", "the log of the log rotation"],
    ["vitamin a", "carrots hold vitamin a and some sugar", "vitamin vitamin c"],
    ["The Who", "we heard the who in concert in that year", "the man who sold the world"],
    ["it is what it is", "well, it is what it is", "what is it"],
  ])("'%s' as it was typed comes before its words apart", (query, whole, apart) => {
    const rows = [message(1, apart), message(2, whole)];
    expect(order(query, rows)).toEqual([2, 1]);
  });
});

describe("the messages around a message", () => {
  it("a match beside it speaks for a message, the nearer the more", () => {
    const near = session("a", ["the loom", "a loom"]);
    const far = session("b", ["the loom", "nothing here", "a loom"]).filter((_, at) => at !== 1);
    const alone = session("c", ["a loom", "nothing here"]).slice(0, 1);
    const scores = new Map(
      rank(inputOf("loom", [...near, ...far, ...alone])).rows.map((each) => [each.row, each.score]),
    );
    const of = (row: RankRow | undefined) => scores.get(row as RankRow) ?? 0;
    expect(of(near[1])).toBeGreaterThan(of(far[1]));
    expect(of(far[1])).toBeGreaterThan(of(alone[0]));
  });

  it("a neighbour that does not match, or is none, changes nothing", () => {
    const rows = [message(1, "loom", { before: [99, undefined] }), message(2, "loom")];
    const [first, second] = rank(inputOf("loom", rows)).rows;
    expect(first?.score).toBe(second?.score);
  });

  it("the rest of the session speaks for its messages, also where it was not read", () => {
    const rows = [message(1, "the loom"), message(2, "the loom")];
    const sessionCounts = new Map([
      ["s1", [1]],
      ["s2", [6]],
    ]);
    expect(order("loom", rows, { sessionCounts })).toEqual([2, 1]);
  });

  it("among speakers, what answers a question is ahead of the question", () => {
    const talk = session("a", [
      "Ana: hello",
      "Ben: Where is your loom now?",
      "Ana: the loom is in the attic",
      "Ben: fine",
    ]).slice(1, 3);
    const asked = talk[0]?.id ?? 0;
    expect(order("Where is Ana's loom?", [...talk, ...speakers()]).indexOf(asked)).toBeGreaterThan(0);
  });
});

/** Enough messages of two speakers to be recognised as such. */
function speakers(): RankRow[] {
  return session("z", ["Ana: good morning", "Ben: good morning", "Ana: good night", "Ben: good night"]);
}

describe("speakers", () => {
  it("are recognised by the names before most messages", () => {
    expect(rank(inputOf("good", speakers())).kind).toBe("speakers");
    expect(
      rank(inputOf("good", [message(1, "good"), message(2, "Note: good"), message(3, "good")])).kind,
    ).toBe("agent");
  });

  it("headings of many kinds are no speakers", () => {
    const headings = ["Note", "Warning", "Summary", "Plan", "Result", "Error"];
    const rows = headings.map((heading, at) => message(at, `${heading}: the loom`));
    expect(rank(inputOf("loom", rows)).kind).toBe("agent");
  });

  it("a message of the speaker who is asked about comes before one that mentions the name", () => {
    const rows = [
      ...speakers(),
      message(1, "Ben: Ana has a loom at home"),
      message(2, "Ana: I have a loom at home"),
    ];
    expect(order("What does Ana have at home?", rows)[0]).toBe(2);
  });

  it("with two names in the question, no author is preferred", () => {
    const rows = [...speakers(), message(1, "Ben: a loom"), message(2, "Ana: a loom")];
    const scores = new Map(
      rank(inputOf("Do Ana and Ben have a loom?", rows)).rows.map(({ row, score }) => [row.id, score]),
    );
    expect(scores.get(1)).toBeCloseTo(scores.get(2) ?? 0, 6);
  });
});

describe("time", () => {
  it("a message of a named time comes first, one of the ten days after it next", () => {
    const spans = [{ from: 100 * DAY, to: 101 * DAY }];
    const at = (id: number, days: number) => message(id, "my loom", { timestamp: days * DAY });
    const rows = [at(1, 50), at(2, 105), at(3, 100.5), at(4, 99.9), at(5, 200)];
    expect(order("loom", rows, { spans })).toEqual([3, 2, 1, 4, 5]);
  });

  it("the words of a named date count little, the time of the message more", () => {
    const rows = [
      message(1, "june june june"),
      message(2, "the loom", { timestamp: 50 }),
      message(3, "in june", { timestamp: 500 * DAY }),
    ];
    const terms = [term("loom"), term("june")];
    expect(order("loom in june", rows, { terms, spans: [{ from: 0, to: 100 }] })[0]).toBe(2);
  });
});

describe("people first", () => {
  const said = "the deployment failed because of the proxy";

  it.each<[string, Partial<RankRow>]>([
    ["tool output", { role: "tool" }],
    ["a tool call", { role: "assistant", said: "", did: `terminal ${said}` }],
    ["an earlier search", { role: "tool", isRecall: true }],
  ])("what a person or an assistant said comes before the same words in %s", (_, other) => {
    for (const role of ["user", "assistant"]) {
      const rows = [message(1, said, other), message(2, said, { role })];
      expect(order("deployment proxy", rows)).toEqual([2, 1]);
    }
  });
});

describe("scripts", () => {
  it("a Korean word, with or without a particle, counts for more than a longer word that begins with it", () => {
    const terms = [term("서버")];
    for (const whole of ["서버 재시작은 어떻게 하나요?", "서버는 어제 껐다", "서버들에서만 보인다"]) {
      const rows = [message(1, "서버실 온도"), message(2, whole)];
      expect(order("서버", rows, { terms })).toEqual([2, 1]);
    }
    const rows = [message(1, "웹서버실 온도"), message(2, "서버실 온도")];
    expect(order("서버", rows, { terms })).toEqual([2, 1]);
  });

  it("a Korean word counts for more at the beginning of a word than inside another", () => {
    const terms = [term("서울")];
    for (const whole of ["내일 서울 날씨", "어제 서울에서 만났다"]) {
      const rows = [message(1, "우리는 남서울역 앞에서"), message(2, whole)];
      expect(order("서울", rows, { terms })).toEqual([2, 1]);
    }
  });

  it("Devanagari words are compared with their vowel signs", () => {
    const rows = [message(1, "कल कब आओगे"), message(2, "नई किताब मिली"), message(3, "कुल कताब")];
    const { rows: ranked } = rank(inputOf("किताब", rows, { terms: [term("किताब")] }));
    expect(ranked.filter(({ matched }) => matched.length > 0).map(({ row }) => row.id)).toEqual([2]);
  });

  it.each([
    ["край", "Край"],
    ["cafe", "Café"],
    ["σοφοσ", "Σοφος"],
    ["bar", "foo_bar"],
    ["서울", "서울에서"],
  ])("%s is found in a long text that spells it %s", (word, spelling) => {
    const filler = "some other words — and more ".repeat(40);
    const rows = [message(1, filler), message(2, `${filler} ${spelling} ${filler}`)];
    const { rows: ranked } = rank(inputOf(word, rows, { terms: [term(word)] }));
    expect(ranked.filter(({ matched }) => matched.length > 0).map(({ row }) => row.id)).toEqual([2]);
  });

  it("scripts without blanks are counted by parts of the text", () => {
    const terms = [term("東京"), term("天気")];
    const rows = [
      message(1, "明日の東京について"),
      message(2, "明日の東京の天気は晴れ"),
      message(3, "なにもない"),
    ];
    const { rows: ranked } = rank(inputOf("東京 天気", rows, { terms }));
    expect(ranked.map(({ row, matched }) => [row.id, matched])).toEqual([
      [2, [0, 1]],
      [1, [0]],
      [3, []],
    ]);
  });

  it("Thai without blanks is found inside a sentence", () => {
    const rows = [message(1, "ไม่มีอะไร"), message(2, "วันนี้อากาศดีมาก")];
    expect(order("อากาศ", rows, { terms: [term("อากาศ")] })).toEqual([2, 1]);
  });
});

describe("confidence", () => {
  it("is full where one message says all, and weak where only a common word was found", () => {
    const rows = [message(1, "the loom is in the attic"), message(2, "in the attic")];
    expect(rank(inputOf("loom attic", rows)).confidence).toEqual({ score: 1, isWeak: false });
    const terms = [term("attic", { weight: 1 }), term("submarine", { weight: 7 })];
    expect(rank(inputOf("submarine attic", rows, { terms })).confidence.isWeak).toBe(true);
  });

  it("lies between the two for a part, and more for a rare part", () => {
    const rows = [message(1, "the loom is in the attic")];
    const found = (weight: number) =>
      rank(inputOf("loom sold", rows, { terms: [term("loom", { weight }), term("sold")] })).confidence.score;
    expect(found(2)).toBeGreaterThan(0);
    expect(found(6)).toBeGreaterThan(found(2));
    expect(found(6)).toBeLessThan(1);
  });

  it("comes from the words of a tool call, together rather than scattered", () => {
    const call = (did: string) => [message(1, "", { role: "assistant", did })];
    const of = (did: string) => rank(inputOf("submarine colour", call(did))).confidence;
    expect(of("terminal command paint submarine colour")).toEqual({ score: 1, isWeak: false });
    expect(of(`write_file submarine ${"word ".repeat(100)} colour`).score).toBeLessThan(1);
  });

  it("does not come from earlier searches and their calls, which repeat the question", () => {
    const rows = [
      message(1, 'no results for "submarine colour"', { role: "tool", isRecall: true }),
      message(2, "", { role: "assistant", did: "session_search submarine colour" }),
    ];
    expect(rank(inputOf("submarine colour", rows)).confidence).toEqual({ score: 0, isWeak: true });
  });

  it("falls where someone else than the named speaker said it", () => {
    const rows = (author: string) => [...speakers(), message(1, `${author}: the charity race was great`)];
    const sureOf = (author: string) =>
      rank(inputOf("What did Ana say about the charity race?", rows(author))).confidence.score;
    expect(sureOf("Ben")).toBeLessThan(sureOf("Ana"));
  });

  it("falls more for a name that was not found than for another word", () => {
    const rows = [message(1, "my loom is in the attic")];
    const sureOf = (query: string) =>
      rank(inputOf(query, rows, { terms: [term("loom"), term("miller")] })).confidence.score;
    expect(sureOf("the loom of Miller")).toBeLessThan(sureOf("the loom of miller"));
  });

  it("counts a named date as found where a message is of that time", () => {
    const rows = [message(1, "my loom", { timestamp: 50 })];
    const terms = [term("loom"), term("dress"), term("june")];
    const sureOf = (from: number) =>
      rank(inputOf("loom dress in june", rows, { terms, spans: [{ from, to: from + 100 }] })).confidence
        .score;
    expect(sureOf(0)).toBeGreaterThan(sureOf(900 * DAY));
  });
});

describe("conversations", () => {
  it("the best message speaks for its conversation, and a share of the second best", () => {
    for (const kind of ["speakers", "agent"] as const) {
      expect(groupScore([], kind)).toBe(0);
      expect(groupScore([4], kind)).toBe(4);
      expect(groupScore([1, 4, 2], kind)).toBe(groupScore([4, 2, 1], kind));
      expect(groupScore([4, 2], kind)).toBeGreaterThan(4);
      expect(groupScore(Array<number>(1000).fill(1), kind)).toBe(groupScore([1, 1], kind));
    }
  });
});

describe("the weight of a word", () => {
  it("falls with the number of messages that hold it, and is never negative", () => {
    const weights = [0, 1, 10, 500, 999, 1000, 2000].map((holders) => rarity(holders, 1000));
    expect(weights).toEqual([...weights].sort((a, b) => b - a));
    for (const weight of weights) expect(weight).toBeGreaterThanOrEqual(0);
    expect(rarity(1, 1000)).toBeGreaterThan(rarity(500, 1000));
  });
});

describe("any messages", () => {
  const words = [
    "loom",
    "wool",
    "attic",
    "Ana:",
    "Ben:",
    "?",
    "the",
    "off",
    "서울",
    "東京",
    "2023",
    "Monday",
    "\0",
  ];
  const text = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => parts.join(" "));
  const rowsOf = fc
    .array(
      fc.record({
        said: text,
        did: fc.oneof(fc.constant(""), text),
        role: fc.constantFrom("user", "assistant", "tool", "system"),
        isRecall: fc.boolean(),
        session: fc.constantFrom("a", "b", "c"),
        timestamp: fc.integer({ min: 0, max: 1000 }),
        before: fc.array(fc.option(fc.nat(20), { nil: undefined }), { maxLength: 3 }),
        after: fc.array(fc.option(fc.nat(20), { nil: undefined }), { maxLength: 2 }),
      }),
      { maxLength: 20 },
    )
    .map((rows) => rows.map((row, at) => message(at, row.said, row)));
  const query = text.filter((typed) => tokenize(typed).length > 0);

  it("the order does not depend on the order in which they come", () => {
    fc.assert(
      fc.property(query, rowsOf, (asked, rows) => {
        const forwards = rank(inputOf(asked, rows));
        const backwards = rank({ ...inputOf(asked, rows), rows: [...rows].reverse() });
        expect(backwards.rows.map(({ row }) => row.id)).toEqual(forwards.rows.map(({ row }) => row.id));
        expect(backwards.confidence).toEqual(forwards.confidence);
      }),
    );
  });

  it("each is there once, scores are finite and not negative, the best first, equal ones by id", () => {
    fc.assert(
      fc.property(query, rowsOf, (asked, rows) => {
        const { rows: ranked, confidence } = rank(inputOf(asked, rows));
        expect(ranked.map(({ row }) => row.id).sort((a, b) => a - b)).toEqual(rows.map(({ id }) => id));
        for (const { score, group } of ranked) {
          expect(Number.isFinite(score) && score >= 0).toBe(true);
          expect(Number.isFinite(group) && group >= 0).toBe(true);
        }
        ranked.slice(1).forEach((each, at) => {
          const ahead = ranked[at];
          const isInOrder =
            ahead !== undefined &&
            (ahead.score > each.score || (ahead.score === each.score && ahead.row.id < each.row.id));
          expect(isInOrder).toBe(true);
        });
        expect(confidence.score).toBeGreaterThanOrEqual(0);
        expect(confidence.score).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("in agent chats, one more message of average length that holds no term changes no order and no confidence", () => {
    const plain = fc.array(fc.constantFrom("loom", "wool", "attic", "the"), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(plain, { minLength: 1, maxLength: 12 }), (texts) => {
        const rows = texts.map((parts, at) => message(at, parts.join(" ")));
        const before = rank(inputOf("loom wool", rows));
        const terms = termsOf("loom wool", rows);
        const after = rank(inputOf("loom wool", [...rows, message(99, "nothing of the kind")], { terms }));
        expect(after.rows.map(({ row }) => row.id).filter((id) => id !== 99)).toEqual(
          before.rows.map(({ row }) => row.id),
        );
        expect(after.confidence).toEqual(before.confidence);
      }),
    );
  });

  it("a copy of a message with one more of the words does not rank below it", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("loom", "the", "attic"), { maxLength: 10 }), (parts) => {
        const rows = [message(1, ["filler", ...parts].join(" ")), message(2, ["wool", ...parts].join(" "))];
        const ids = order("wool loom attic", rows, {
          terms: ["wool", "loom", "attic"].map((word) => term(word)),
        });
        expect(ids[0]).toBe(2);
      }),
    );
  });
});
