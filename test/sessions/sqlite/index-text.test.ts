// Which words of a message end up in the search index, whoever writes the message.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { openSessionStore } from "../../../src/sessions/index.ts";
import type { FtsTable } from "../../../src/sessions/sqlite/index-layout.ts";
import { complaints, hasPythonSqlite, newPath, openPython, termsOf } from "../../fakes/session-index.ts";

type Stored = {
  readonly content?: string | Uint8Array;
  readonly tool_name?: string;
  readonly tool_calls?: string;
};

let path: string;

beforeEach(async () => {
  path = await newFile();
});

async function newFile(): Promise<string> {
  const file = newPath();
  await using store = await openSessionStore({ path: file });
  await store.createSession("one", { source: "cli" });
  return file;
}

const INSERT =
  "INSERT INTO messages(session_id, role, content, tool_name, tool_calls, timestamp) VALUES ('one', 'user', ?, ?, ?, 1)";

function valuesOf({ content, tool_name, tool_calls }: Stored) {
  return [content ?? null, tool_name ?? null, tool_calls ?? null] as const;
}

/** Writes the row as any program would that knows nothing of us. */
function insert(row: Stored): number {
  using db = new DatabaseSync(path);
  return Number(db.prepare(INSERT).run(...valuesOf(row)).lastInsertRowid);
}

/** The terms of one row in the order of the text. */
function terms(table: FtsTable, id: number): string[] {
  return termsOf(path, table)
    .map((line) => /^(\d+) (\d+) (.*)$/s.exec(line) ?? [])
    .filter(([, doc]) => Number(doc) === id)
    .sort((a, b) => Number(a[2]) - Number(b[2]))
    .map(([, , , term]) => term ?? "");
}

function words(row: Stored): string {
  return terms("messages_fts", insert(row)).join(" ");
}

function isInTrigrams(row: Stored): boolean {
  return terms("messages_fts_trigram", insert(row)).length > 0;
}

const structured = (json: string): Stored => ({ content: `\0json:${json}` });
const calls = (...list: object[]): Stored => ({ tool_calls: JSON.stringify(list) });
const call = (name: string, args: string) => calls({ type: "function", function: { name, arguments: args } });

const LONG = "QUJD".repeat(64); // 256 characters
const ESCAPED_CHINESE = "\\u7425\\u73c0\\u706f\\u5854"; // as Python's json.dumps writes it

/** What is stored, and the words that are found in it. */
const CASES: Readonly<Record<string, readonly [row: Stored, words: string]>> = {
  "plain content": [{ content: "The Quartzwharf crane, slowly." }, "the quartzwharf crane slowly"],
  "diacritics, removed": [{ content: "Café Ångström" }, "cafe angstrom"],
  "a tool result with the name of the tool": [
    { content: "two files", tool_name: "read_file" },
    "two files read file",
  ],
  "an empty tool name": [{ content: "two files", tool_name: "" }, "two files"],
  "a function's name and its decoded arguments": [call("grep", '{"query": "mossbridge"}'), "grep mossbridge"],
  "numbers and nested arguments": [
    call("plan", '{"depth": 3, "in": {"list": ["fern", -2.5, true, null, ["loft"]]}}'),
    "plan 3 fern 2 5 loft",
  ],
  "arguments that are an object already": [
    calls({ function: { name: "grep", arguments: { query: "mossbridge", depth: 3 } } }),
    "grep mossbridge 3",
  ],
  "arguments that are no JSON": [call("shell", "ls harbour"), "shell ls harbour"],
  "several calls": [calls({ function: { name: "grep" } }, { function: { name: "cat" } }), "grep cat"],
  "no types and ids of calls": [
    calls({ id: "callzz", call_id: "fczz", type: "function", function: { name: "grep", arguments: "{}" } }),
    "grep",
  ],
  "an id that is an argument": [call("ticket", '{"id": "harbour77"}'), "ticket harbour77"],
  "content before tool name before calls": [
    { content: "first", tool_name: "second", tool_calls: '[{"name": "third"}]' },
    "first second third",
  ],
  "tool calls that are no JSON": [
    { content: "brittlefern", tool_calls: "{not json" },
    "brittlefern not json",
  ],
  "tool calls that are one string": [{ tool_calls: '"opalhinge"' }, "opalhinge"],
  "the text of structured content": [
    structured('[{"type": "text", "text": "velvet anchor"}, {"type": "text", "text": "in a list"}]'),
    "velvet anchor in a list",
  ],
  "no data: URLs": [
    structured(
      '[{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]',
    ),
    "see",
  ],
  "addresses of pictures": [structured('[{"image_url": {"url": "https://x.org/a"}}]'), "https x org a"],
  "no encoded data from 256 characters on": [structured(`[{"data": "${LONG}"}, {"text": "kept"}]`), "kept"],
  "encoded data up to 255 characters": [structured(`["${LONG.slice(1)}"]`), LONG.slice(1).toLowerCase()],
  "long text with a blank in it": [structured(`["${LONG} ${LONG}"]`), `${LONG} ${LONG}`.toLowerCase()],
  "no encoded data in arguments": [call("upload", `{"data": "${LONG}", "to": "harbour"}`), "upload harbour"],
  "structured content that is no JSON": [structured("[velvet"), "velvet"],
  "structured content that is a string": [structured('"one string"'), "one string"],
  "plain content up to a zero byte": [{ content: "before\0after" }, "before"],
  "a tool name up to a zero byte": [{ content: "x", tool_name: "grep\0after" }, "x grep"],
  "both sides of a zero in JSON": [structured('{"text": "left\\u0000right"}'), "left right"],
  "both sides of a zero in arguments": [call("grep", '{"q": "left\\u0000right"}'), "grep left right"],
  "an escape that is spelled out": [structured('"C:\\\\u0000dir"'), "c u0000dir"],
  "an escape that is spelled out in arguments": [call("cd", '{"to": "C:\\\\u0000dir"}'), "cd c u0000dir"],
  "a zero behind an escaped backslash": [structured('"left\\\\\\u0000right"'), "left right"],
  "a blob": [{ content: Buffer.from("bytes of opalhinge") }, "bytes of opalhinge"],
  "a blob up to a zero byte": [{ content: Buffer.from("before\0after") }, "before"],
  "a blob with structured content": [{ content: Buffer.from('\0json:["velvet"]') }, "velvet"],
  "an empty text": [{ content: "" }, ""],
  "nothing at all": [{}, ""],
  "words around emoji": [{ content: "ship 🚀 it 👩‍🚀 now" }, "ship it now"],
};

it.each(Object.entries(CASES))("indexes %s", (_name, [row, expected]) => {
  expect(words(row)).toBe(expected);
  expect(complaints(path)).toEqual([]);
});

describe("the trigram index", () => {
  it.each([
    ["Chinese", "昨天讨论了琥珀灯塔的部署方案"],
    ["Japanese Kana", "こんにちは"],
    ["half-width Kana", "ｶﾀｶﾅ"],
    ["Korean", "안녕하세요"],
    ["Thai", "ภาษาไทย"],
    ["Lao", "ພາສາລາວ"],
    ["Khmer", "ភាសាខ្មែរ"],
    ["Burmese", "မြန်မာ"],
    ["a rare character", "\u{20000}"],
    ["one Chinese character in an English sentence", "the word 灯 means lamp"],
  ])("holds %s", (_name, content) => {
    expect(isInTrigrams({ content })).toBe(true);
    expect(isInTrigrams(structured(JSON.stringify([{ type: "text", text: content }])))).toBe(true);
    expect(isInTrigrams(call("say", JSON.stringify({ text: content })))).toBe(true);
  });

  it.each([
    ["English", "the quartzwharf crane"],
    ["French", "déjà vu à l'œil"],
    ["Russian", "журавль"],
    ["Greek", "γερανός"],
    ["Arabic", "رافعة"],
    ["emoji", "🚀👩‍🚀🎉"],
    ["nothing", ""],
  ])("does not hold %s", (_name, content) => {
    expect(isInTrigrams({ content })).toBe(false);
  });

  it("ends the text in two blanks, so that its last characters begin trigrams as well", () => {
    const id = insert({ content: "琥珀灯塔" });
    expect(terms("messages_fts_trigram", id)).toEqual(["琥珀灯", "珀灯塔", "灯塔 ", "塔  "]);
    const short = insert({ content: "灯" });
    expect(terms("messages_fts_trigram", short)).toEqual(["灯  "]);
  });

  it("reads Chinese that the original wrote as escapes", () => {
    const text = insert(structured(`[{"type": "text", "text": "${ESCAPED_CHINESE}"}]`));
    expect(terms("messages_fts_trigram", text)).toContain("琥珀灯");
    const args = insert(call("say", `{"text": "${ESCAPED_CHINESE}"}`));
    expect(terms("messages_fts_trigram", args)).toContain("琥珀灯");
  });
});

it("finds what the store itself writes", async () => {
  const chinese = "琥珀灯塔";
  await using store = await openSessionStore({ path });
  const ids = await store.appendMany("one", [
    { role: "user", content: [{ type: "text", text: "velvet" }] },
    { role: "user", content: "left\0right" },
    { role: "assistant", toolCalls: [{ id: "c1", function: { name: "say", arguments: { chinese } } }] },
    { role: "tool", toolName: "say", content: "said" },
  ]);
  expect(ids.map((id) => terms("messages_fts", id).join(" "))).toEqual([
    "velvet",
    "left right",
    `say ${chinese}`,
    "said say",
  ]);
  expect(terms("messages_fts_trigram", ids[2] ?? 0)).toContain("琥珀灯");
});

it.skipIf(!hasPythonSqlite)("indexes the same words when Python's SQLite runs the triggers", async () => {
  const rows = [
    ...Object.values(CASES).map(([row]) => row),
    { content: "昨天讨论了琥珀灯塔的部署方案" },
    { content: "안녕하세요 and ภาษาไทย" },
    structured(`["${ESCAPED_CHINESE}"]`),
    { content: "half a pair", tool_calls: '["\\ud83d alone"]' },
  ];
  for (const row of rows) insert(row);
  const other = await newFile();
  const python = openPython(other);
  const value = (given: string | Uint8Array | null) =>
    given instanceof Uint8Array ? { base64: Buffer.from(given).toString("base64") } : given;
  await python.run(...rows.map((row) => ({ sql: INSERT, values: valuesOf(row).map(value) })));
  for (const table of ["messages_fts", "messages_fts_trigram"] as const) {
    const expected = termsOf(path, table);
    expect(expected.length).toBeGreaterThan(10);
    expect(termsOf(other, table)).toEqual(expected);
    expect(await python.terms(table)).toEqual(expected);
  }
  expect([...complaints(path), ...complaints(other), ...(await python.complaints())]).toEqual([]);
});
