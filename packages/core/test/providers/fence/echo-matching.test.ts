// How a text is read as tags and words, and how far it repeats a recall.
import { describe, expect, it } from "vitest";
import { matchTag, NO_MATCHES, RecalledText, readToken } from "../../../src/providers/fence/echo-matching.ts";
import { buildMemoryContextBlock } from "../../../src/providers/fence/recall-fence.ts";

/** All tokens of a complete text; words as their text. */
function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (let at = 0; at < text.length; ) {
    const token = readToken(text, at, true);
    if (token === undefined) throw new Error("a complete text has no undecided token");
    if (token.kind !== "other") tokens.push(token.kind === "word" ? token.word : `<${token.kind}>`);
    at = token.end;
  }
  return tokens;
}

describe("a tag", () => {
  it.each([
    ..."<memory-context>|< MEMORY_CONTEXT >|&lt;memory-context&gt;|\\<memory-context\\>".split("|"),
    ...`[memory-context]|<memory-context source="notes">|<!-- memory-context -->`.split("|"),
    "<memory\u200b\u2010context>",
  ])("is an open tag in the form %j", (text) => {
    expect(matchTag(text, 0)).toEqual({ kind: "open", end: text.length });
  });

  it("is a close tag with a slash, undecided while it is incomplete, and no tag with another name", () => {
    expect(matchTag("</memory-context>", 0)).toEqual({ kind: "close", end: 17 });
    expect(matchTag("<memory-con", 0)).toBe("partial");
    expect(matchTag("<memory-cone>", 0)).toBeUndefined();
  });
});

describe("words", () => {
  it("are compared without case, punctuation, list numbers and entities", () => {
    expect(tokensOf("1. Likes **Green** tea&#44; &quot;very&quot; hot.")).toEqual([
      "likes",
      "green",
      "tea",
      "very",
      "hot",
    ]);
  });

  it("are undecided at the end of a text that may go on", () => {
    expect(readToken("tea", 0, false)).toBeUndefined();
    expect(readToken("tea ", 0, false)).toEqual({ kind: "word", word: "tea", end: 3 });
  });
});

describe("a recall", () => {
  const recalled = new RecalledText(buildMemoryContextBlock("The user drinks green tea every morning\nCats"));

  function repeatedBy(text: string): number {
    let matches = NO_MATCHES;
    for (const word of tokensOf(text)) matches = recalled.step(matches, word);
    return recalled.repeated(matches);
  }

  it.each([
    ["the user drinks green tea", 5],
    ["drinks green tea", 0],
    ["the user drinks green tea every morning", 7],
    ["user drinks black tea every morning", 0],
  ])("is repeated by %j in %d words", (text, words) => {
    expect(repeatedBy(text)).toBe(words);
  });
});
