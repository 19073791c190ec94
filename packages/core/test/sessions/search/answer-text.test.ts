import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SearchAnswer, SearchHit } from "../../../src/sessions/search/types.ts";
import {
  cleanSnippet,
  cleanText,
  foldedSearch,
  isEarlierSearch,
  leftOutField,
  leftOutRemark,
  notSearchedRemark,
  orderRemark,
  shownConfidence,
  weakRemark,
} from "../../../src/sessions/search-tool/answer-parts.ts";

const hit = { id: 7, session_id: "s1", role: "tool", tool_name: "session_search" } as SearchHit;
const answer = (more: Partial<SearchAnswer>): SearchAnswer => ({ hits: [hit], stage: "widened", ...more });

describe("what an answer says about itself", () => {
  it("is a fixed sentence when nothing clearly answers the question", () => {
    expect(weakRemark(answer({ confidence: { score: 0.1, isWeak: true } }))).toBe(
      "Nothing that clearly answers this; nearest:",
    );
    expect(weakRemark(answer({ confidence: { score: 0.9, isWeak: false } }))).toBeUndefined();
    expect(weakRemark(answer({}))).toBeUndefined();
    expect(weakRemark(answer({ hits: [], confidence: { score: 0, isWeak: true } }))).toBeUndefined();
  });

  it("gives the confidence with two decimals", () => {
    expect(shownConfidence(answer({ confidence: { score: 0.456, isWeak: false } }))).toBe(0.46);
    expect(shownConfidence(answer({}))).toBeUndefined();
  });

  it("names how many words of the query were left out", () => {
    expect(leftOutRemark(answer({ termsLeftOut: 1203 }))).toBe(
      "The query is too long: at least 1,203 words at its end were neither searched for nor, after NOT, excluded. Ask with fewer words.",
    );
    expect(leftOutRemark(answer({}))).toBeUndefined();
    expect(leftOutField(answer({ termsLeftOut: 1 }))).toMatchObject({ terms_left_out: { terms: 1 } });
    expect(leftOutField(answer({}))).toEqual({});
  });

  it("names how many messages were not searched, why, and what to do", () => {
    const of = (messages: number, reason = "the index is being built.") =>
      notSearchedRemark(answer({ notSearched: { messages, reason } }));
    expect(of(1204)).toBe(
      "1,204 messages are not indexed yet and were not searched (the index is being built). Run 'hermes sessions optimize', or ask again in a moment.",
    );
    expect(of(1, "")).toMatch(/^1 message is not indexed yet and was not searched\. /);
    expect(of(0)).toBeUndefined();
    expect(notSearchedRemark(answer({}))).toBeUndefined();
  });
});

it("an answer whose matches were not all compared says so", () => {
  expect(orderRemark(answer({ isPartlyRanked: true }))).toContain("not all of them were compared");
  expect(orderRemark(answer({}))).toBeUndefined();
});

describe("the output of an earlier search", () => {
  it("is known by the name of its tool, also behind the name of a server", () => {
    for (const tool_name of ["session_search", "mcp__hermes__session_search", "hermes.session_search"])
      expect(isEarlierSearch({ role: "tool", tool_name }), tool_name).toBe(true);
    for (const tool_name of ["terminal", "session_search_old", null])
      expect(isEarlierSearch({ role: "tool", tool_name }), String(tool_name)).toBe(false);
    expect(isEarlierSearch({ role: "user", tool_name: "session_search" })).toBe(false);
  });

  it("is one line that names the query, the session and the message, and none of its snippets", () => {
    const text = JSON.stringify({
      success: true,
      query: "kiln glaze",
      results: [{ snippet: "blue >>>kiln<<<" }],
    });
    const line = foldedSearch(hit, text);
    expect(line).toContain('earlier session_search for "kiln glaze"');
    expect(line).toContain("session s1, message 7");
    expect(line).not.toContain("blue");
    expect(foldedSearch(hit)).not.toContain(" for ");
  });
});

describe("a snippet", () => {
  it("has no terminal sequences, zero bytes or control characters; its marks stay", () => {
    expect(cleanSnippet("\u001b[31mred\u001b[0m >>>kiln<<<\u0000\u0007 \u001b]0;title\u0007end\u0085")).toBe(
      "red >>>kiln<<<  end ",
    );
    expect(cleanSnippet("\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\ and \u009b1mbold")).toBe(
      "link and bold",
    );
  });

  it("of structured content and of tool calls is text, not JSON", () => {
    const calls =
      '[{"id": "call_v079", "type": "function", "function": {"name": "terminal", "arguments": "{\\"command\\": \\"cat >>>lanternmoss<<<.log\\"}"}}]';
    expect(cleanSnippet(calls, null)).toBe("name: terminal, command: cat >>>lanternmoss<<<.log");
    expect(cleanSnippet(calls)).toBe("name: terminal, command: cat >>>lanternmoss<<<.log");
    const parts = [{ type: "text", text: "the kiln is hot" }];
    expect(cleanSnippet('[{"type": "text", "text": "the >>>kiln<<< is hot"}]', parts)).toBe(
      "the >>>kiln<<< is hot",
    );
  });

  it("of a message that quotes JSON shows what was written", () => {
    const content = 'set {"type": "kiln", "arguments": 3} in the file';
    expect(cleanSnippet('set {"type": ">>>kiln<<<", "arguments": 3} in the file', content)).toBe(
      'set {"type": ">>>kiln<<<", "arguments": 3} in the file',
    );
  });

  it("of any text keeps its marks and has no character that a terminal obeys", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (before, after) => {
        const plain = (text: string) => text.replace(/[\u001b\u0080-\u009f]/g, "");
        const clean = cleanText(`${plain(before)}>>>word<<<${plain(after)}`);
        expect(clean).toContain(">>>word<<<");
        expect(cleanText(before + after)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
    );
  });
});
