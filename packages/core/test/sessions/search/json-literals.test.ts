import { describe, expect, it } from "vitest";
import { textsOf, withLiteralsDecoded } from "../../../src/sessions/search/document.ts";
import { tokenize } from "../../../src/sessions/search/words.ts";
import { growthOf } from "./growth.ts";

const row = (content: string | null, tool_calls: string | null = null) => ({
  role: "tool",
  content,
  tool_name: null,
  tool_calls,
});
const termsOf = (content: string | null, calls: string | null = null): string[] => {
  const { said, did } = textsOf(row(content, calls));
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
    expect(termsOf(text)).toContain("quokka");
  });

  it("gives characters for their numbers, also where the text ends inside of one", () => {
    expect(textsOf(row('{"q": "\\u691c\\u7d22 caf\\u00e9 \\ud83d\\ude00", "r": "x\\u69')).said).toBe(
      '{"q": "\u691c\u7d22 caf\u00e9 \u{1f600}", "r": "x',
    );
    expect(textsOf(row('["\\ud83d", "a\\')).said).toBe('["\ufffd", "a');
  });

  it("drops terminal sequences that were escaped", () => {
    expect(textsOf(row(JSON.stringify({ out: "\u001b[31mred\u001b[0m\0 end" }))).said).toBe(
      '{"out":"red  end"}',
    );
  });

  it("is read the same way in arguments that cannot be parsed", () => {
    const call = { function: { name: "write", arguments: '{"text": "one\\nquokka' } };
    expect(termsOf(null, JSON.stringify([call]))).toContain("quokka");
    expect(
      termsOf(null, '[{"function": {"name": "write", "arguments": "{\\"text\\": \\"one\\\\nquokka'),
    ).toContain("quokka");
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
