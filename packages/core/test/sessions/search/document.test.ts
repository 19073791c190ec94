import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import {
  documentText,
  type IndexRow,
  MARK,
  markTokens,
  textsOf,
  withLiteralsDecoded,
} from "../../../src/sessions/search/document.ts";
import { indexTerms, phraseTerms, tokenize } from "../../../src/sessions/search/words.ts";
import { growthOf } from "./growth.ts";

const MARKS = { session: 71, source: 1, role: 2, user: null, person: null, isHidden: false };
const row = (content: IndexRow["content"], more: Partial<IndexRow> = {}): IndexRow => ({
  role: "user",
  content,
  tool_name: null,
  tool_calls: null,
  ...more,
});
const termsOf = (text: string): string[] => tokenize(text).map(({ term }) => term);
const searched = (given: IndexRow): string[] => {
  const { said, did } = textsOf(given);
  return [...termsOf(said), ...termsOf(did)];
};

describe("words", () => {
  it("are letters and digits, folded; an underscore separates", () => {
    expect(termsOf("Über sp_new, Σίσυφος v2.10 naïve e\u0301")).toEqual([
      "uber",
      "sp",
      "new",
      "σισυφοσ",
      "v2",
      "10",
      "naive",
      "e",
    ]);
  });

  it("keep Devanagari vowel signs and drop Hebrew points and Arabic harakat", () => {
    expect(termsOf("हिन्दी की")).toEqual(["हिन्दी", "की"]);
    expect(termsOf("शाम")).not.toEqual(termsOf("शम"));
    expect(termsOf("שָׁלוֹם")).toEqual(["שלום"]);
    expect(termsOf("مَرْحَبًا")).toEqual(["مرحبا"]);
  });

  it("take every emoji as one word, whatever its skin tone", () => {
    expect(termsOf("done👍🏽🎉ok")).toEqual(["done", "👍", "🎉", "ok"]);
    expect(termsOf("👩‍💻 ❤️")).toEqual(["👩", "💻", "❤"]);
  });

  it("split where a script without blanks begins, and give each run as one token with its place", () => {
    expect(tokenize("Docker容器。한국어ok")).toEqual([
      { term: "docker", start: 0, end: 6 },
      { term: "容器", start: 6, end: 8 },
      { term: "한국어", start: 9, end: 12 },
      { term: "ok", start: 12, end: 14 },
    ]);
  });
});

describe("terms of runs without blanks", () => {
  it("are overlapping pairs and the last character", () => {
    expect(indexTerms("记忆系统 ok 好")).toEqual(["记忆", "忆系", "系统", "统", "ok", "好"]);
    expect(indexTerms("𠮷野家")).toEqual(["𠮷野", "野家", "家"]);
  });

  it("are asked for as a prefix, a term or a phrase", () => {
    expect(phraseTerms(["记"], false)).toEqual({ terms: ["记"], isPrefix: true });
    expect(phraseTerms(["记忆"], false)).toEqual({ terms: ["记忆"], isPrefix: false });
    expect(phraseTerms(["记忆系统"], true)).toEqual({ terms: ["记忆", "忆系", "系统"], isPrefix: false });
    expect(phraseTerms(["记忆", "系统"], false)).toEqual({ terms: ["记忆", "忆", "系统"], isPrefix: false });
    expect(phraseTerms(["记", "ok"], true)).toEqual({ terms: ["记", "ok"], isPrefix: true });
  });
});

describe("the text of a message", () => {
  it("goes on behind a zero byte, stored as it is or as JSON", () => {
    expect(searched(row("before\0after"))).toEqual(["before", "after"]);
    expect(searched(row(`\0json:${JSON.stringify("before\0after")}`))).toEqual(["before", "after"]);
    expect(searched(row(new TextEncoder().encode("bytes\0too")))).toEqual(["bytes", "too"]);
  });

  it("leaves out long base64, and nothing around it", () => {
    const encoded = Buffer.from(
      Array.from({ length: 900 }, (_, at) => (at * 7919 + (at >> 3) * 31) & 255),
    ).toString("base64");
    expect(textsOf(row(`see data:image/png;base64,${encoded} here`)).said).toBe(
      "see data:image/png;base64,  here",
    );
    expect(textsOf(row(`x ${encoded}`.repeat(3))).said).not.toContain(encoded.slice(0, 40));
    expect(textsOf(row(encoded.slice(0, 500))).said).toBe(encoded.slice(0, 500));
  });

  it("holds text parts, file names and captions of structured content, without the envelope", () => {
    const parts = [
      { type: "text", text: "look at this" },
      {
        type: "image_url",
        id: "img_1",
        image_url: { url: "https://host.example/cat.png" },
        caption: "a cat",
      },
      { type: "tool_use", id: "toolu_1", name: "read_file", input: { id: 7, path: "notes.md" } },
    ];
    expect(textsOf(row(`\0json:${JSON.stringify(parts)}`))).toEqual({
      said: "look at this https://host.example/cat.png a cat",
      did: "read_file id 7 path notes.md",
    });
  });

  it("holds everything inside tool arguments, and not the envelope of a call", () => {
    const calls = [
      {
        id: "call_8f3a",
        call_id: "c9",
        type: "function",
        function: {
          name: "terminal",
          arguments: '{"id":"ticket-9","type":"bug","nested":{"urgent":true},"n":3}',
        },
      },
      { id: "x", type: "function", function: { name: "search", arguments: { query: "deploy" } } },
    ];
    expect(textsOf(row(null, { tool_name: "t1", tool_calls: JSON.stringify(calls) })).did).toBe(
      "t1 terminal id ticket-9 type bug nested urgent true n 3 search query deploy",
    );
  });

  it("falls back to the text as stored where JSON is broken or nested too deep", () => {
    expect(searched(row("\0json:{broken", { tool_calls: "[{also broken" }))).toEqual([
      "broken",
      "also",
      "broken",
    ]);
    const deep = `${"[".repeat(5000)}"needle"${"]".repeat(5000)}`;
    expect(searched(row(`\0json:${deep}`, { tool_calls: deep }))).toEqual(["needle", "needle"]);
    const cutOff = [{ function: { name: "write", arguments: '{"path": "a.txt", "content": "half' } }];
    expect(searched(row(null, { tool_calls: JSON.stringify(cutOff) }))).toContain("half");
  });

  it("is free of terminal sequences and control characters", () => {
    expect(textsOf(row("\x1b[31mErr\x1b[1mor\x1b[0m:\x1b[2Kgone\x07 a\tb\n")).said).toBe(
      "Error: gone  a\tb\n",
    );
  });
});

describe("the document", () => {
  it("begins with the filter tokens", () => {
    expect(markTokens({ ...MARKS, user: 40, person: 41, isHidden: true })).toEqual([
      `${MARK}n1z`,
      `${MARK}s1`,
      `${MARK}r2`,
      `${MARK}u14`,
      `${MARK}p15`,
      `${MARK}i`,
    ]);
    expect(documentText(row("Hello", { tool_name: "été" }), MARKS)).toBe(
      `${MARK}n1z ${MARK}s1 ${MARK}r2 Hello ete`,
    );
  });

  it("no text can imitate a filter token", () => {
    expect(searched(row(`${MARK}n1 ${MARK}i`))).toEqual(["n1", "i"]);
  });

  it("comes out of FTS5's ascii tokenizer as the terms that went in", () => {
    using db = new DatabaseSync(":memory:");
    db.exec("CREATE VIRTUAL TABLE t USING fts5(text, content='', contentless_delete=1, tokenize='ascii')");
    db.exec("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)");
    const texts = [
      "Plain ASCII, sp_new: it's v2.10 and A-B/C+D@e.f",
      "Über naïve 东京駅で会議 हिन्दी 👍🏽 한국어 ไทย ok",
      "שָׁלוֹם مَرْحَبًا Ἀθῆναι ЁЛКА ǅ İstanbul ﬁ",
    ];
    for (const text of texts) {
      db.exec("DELETE FROM t");
      db.prepare("INSERT INTO t(rowid, text) VALUES (1, ?)").run(documentText(row(text), MARKS));
      const stored = db
        .prepare("SELECT term FROM v ORDER BY offset")
        .all()
        .map(({ term }) => term);
      expect(stored).toEqual([...markTokens(MARKS), ...indexTerms(text)]);
    }
  });
});

const messageRow = (content: string | null, tool_calls: string | null = null) => ({
  role: "tool",
  content,
  tool_name: null,
  tool_calls,
});
const termsOfSaid = (content: string | null, calls: string | null = null): string[] => {
  const { said, did } = textsOf(messageRow(content, calls));
  return tokenize(`${said} ${did}`).map(({ term }) => term);
};

const OUTPUT = JSON.stringify({ content: "line one\nquokka sighting" });

describe("JSON that is stored as text", () => {
  it.each([
    ["a whole object", OUTPUT],
    ["one object a line", `{"a":1}\n${OUTPUT}\n${OUTPUT}\n`],
    ["text before it", `Exit code 0. Output: ${OUTPUT}`],
    ["only its first part", OUTPUT.slice(0, -5)],
    ["its first part and a note", `${OUTPUT.slice(0, -5)}\n\n[the rest is in a file]`],
    ["JSON in a string of JSON", JSON.stringify({ result: OUTPUT })],
    ["a single string", JSON.stringify("one\nquokka")],
    ["an indented list", JSON.stringify(["one\nquokka", "b"], null, 2)],
    ["a string after one that is none", `say "no\\q", [${JSON.stringify("x\nquokka")}]`],
  ])("is searched without its escapes: %s", (_name, text) => {
    expect(termsOfSaid(text)).toContain("quokka");
  });

  it("gives characters for their numbers, also where the text ends inside of one", () => {
    expect(textsOf(messageRow('{"q": "\\u691c\\u7d22 caf\\u00e9 \\ud83d\\ude00", "r": "x\\u69')).said).toBe(
      '{"q": "\u691c\u7d22 caf\u00e9 \u{1f600}", "r": "x',
    );
    expect(textsOf(messageRow('["\\ud83d", "a\\')).said).toBe('["\ufffd", "a');
  });

  it.each([
    "Open C:\\new\\test and run it",
    'The path is "C:\\new\\test" here',
    'Set the path: "C:\\new\\test", then go',
    "grep '\\bfoo\\b' and s/\\n/,/",
    'matches(r"\\bnew\\b", text)',
    'print("a\\nb")',
    '{"pattern": "\\d+\\s"}',
    "\\\\server\\new\\folder",
  ])("leaves other backslashes as they are: %s", (text) => {
    expect(withLiteralsDecoded(text)).toBe(text);
  });

  it.each([
    ["quotes", '"'],
    ["openings", ',"'],
    ["escaped quotes", ',"x\\"'],
    ["backslashes", "\\"],
    ["pairs", '"\\'],
    ["blanks between quotes", '  "  '],
    ["wrong escapes", ',"\\q'],
    ["strings", '"a\\n",'],
    ["numbers cut short", '["\\u12'],
  ])("takes time in proportion to a text full of %s", (_name, piece) => {
    const make = (size: number) => `{${piece.repeat(Math.ceil(size / piece.length))}`;
    expect(growthOf(make, withLiteralsDecoded, 130_000)).toBeLessThan(4);
  });
});
