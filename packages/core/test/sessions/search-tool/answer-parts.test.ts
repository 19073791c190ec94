import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { SearchAnswer, SearchHit } from "../../../src/sessions/search/types.ts";
import {
  cleanText,
  cutTogether,
  cutterFor,
  foldedSearch,
  isEarlierSearch,
  leftOutField,
  leftOutRemark,
  levelFor,
  notSearchedRemark,
  shownConfidence,
  type ToolMessage,
  weakRemark,
  when,
} from "../../../src/sessions/search-tool/answer-parts.ts";
import { DEFAULT_SESSION_SEARCH_SETTINGS } from "../../../src/sessions/search-tool/request.ts";

describe("when", () => {
  it.each([
    [1_700_000_000, "November 14, 2023 at 10:13 PM"],
    ["1700000000", "November 14, 2023 at 10:13 PM"],
    [1_767_225_600, "January 01, 2026 at 12:00 AM"],
    [1_767_268_800, "January 01, 2026 at 12:00 PM"],
    [0, "January 01, 1970 at 12:00 AM"],
    [null, "unknown"],
    [undefined, "unknown"],
    ["last week", "last week"],
    ["", ""],
    [1e300, "1e+300"],
  ])("%j is %s in UTC", (value, expected) => {
    vi.stubEnv("TZ", "UTC");
    expect(when(value)).toBe(expected);
    vi.unstubAllEnvs();
  });
});

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
    expect(cleanText("\u001b[31mred\u001b[0m >>>kiln<<<\u0000\u0007 \u001b]0;title\u0007end\u0085")).toBe(
      "red >>>kiln<<<  end ",
    );
    expect(cleanText("\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\ and \u009b1mbold")).toBe(
      "link and bold",
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

function message(content: unknown, more: Partial<ToolMessage> = {}): ToolMessage {
  return { id: 1, role: "user", content, timestamp: 1, ...more };
}

function cutAll(messages: readonly ToolMessage[], maxResultChars: number) {
  return cutTogether(messages, { ...DEFAULT_SESSION_SEARCH_SETTINGS, maxResultChars });
}

describe("the size of an answer", () => {
  it("is left alone when it fits", () => {
    const messages = [message("a".repeat(40)), message(null), message([{ type: "text", text: "b" }])];
    expect(cutAll(messages, 100)).toEqual(messages);
  });

  it("is kept by cutting the longest messages first, all to the same length", () => {
    const cut = cutAll([message("a".repeat(10)), message("b".repeat(500)), message("c".repeat(900))], 210);
    expect(cut).toEqual([
      message("a".repeat(10)),
      message(`${"b".repeat(99)}…`, { content_truncated: true, original_content_chars: 500 }),
      message(`${"c".repeat(99)}…`, { content_truncated: true, original_content_chars: 900 }),
    ]);
  });

  it("counts code points and cuts no character in two", () => {
    const [cut] = cutAll([message("😀".repeat(50))], 10);
    expect(cut?.content).toBe(`${"😀".repeat(9)}…`);
    expect(cut?.original_content_chars).toBe(50);
  });

  it("keeps the structure of structured content and of tool calls, with shorter strings", () => {
    const picture = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "x".repeat(5000) } },
    ];
    const calls = [{ id: "c1", function: { name: "write_file", arguments: "y".repeat(5000) } }];
    const [first, second] = cutAll([message(picture), message(null, { tool_calls: calls })], 1000);
    expect(first).toMatchObject({
      content: [{ text: "look" }, { type: "image_url" }],
      content_truncated: true,
    });
    expect(second).toMatchObject({
      tool_calls: [{ id: "c1", function: { name: "write_file" } }],
      content_truncated: true,
    });
    expect(JSON.stringify([first, second]).length).toBeLessThan(1300);
  });

  it("turns content that is all structure into text", () => {
    const [cut] = cutAll([message(Array.from({ length: 1000 }, (_, index) => index))], 100);
    expect(cut?.content).toBe(JSON.stringify(Array.from({ length: 1000 }, (_, i) => i)).slice(0, 100));
  });

  it("shows the part of a long message that matched", () => {
    const text = `${"before ".repeat(2000)}the needle is here ${"after ".repeat(2000)}`;
    const sized = { message: message(text) };
    const { cut } = cutterFor([sized], { maxResultChars: 400, maxMessageChars: 0 });
    const shownAt = (at: number) => String(cut(sized, at).content);
    expect(shownAt(text.indexOf("needle"))).toContain("the needle is here after");
    expect(shownAt(text.indexOf("needle"))).toHaveLength(400);
    expect(shownAt(text.indexOf("needle"))).toMatch(/^….*…$/);
    expect(shownAt(0)).toBe(`${text.slice(0, 399)}…`);
    expect(shownAt(300)).toBe(`${text.slice(0, 399)}…`);
    expect(shownAt(text.length - 1)).toBe(`…${text.slice(-399)}`);
  });

  it("never exceeds the budget and never cuts a text that is shorter than one left whole", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3000), { maxLength: 40 }), fc.nat(5000), (sizes, budget) => {
        const level = levelFor(sizes, budget);
        const total = sizes.reduce((sum, size) => sum + Math.min(size, level), 0);
        expect(total).toBeLessThanOrEqual(budget);
        // The limit is used fully: one more character for each cut message would be too much.
        const cutCount = sizes.filter((size) => size > level).length;
        if (cutCount > 0) expect(total + cutCount).toBeGreaterThan(budget);
      }),
    );
  });
});
