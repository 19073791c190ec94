// How the command line renders an answer: confidence, what was not searched, and cleaned snippets.

import { answerJson, type NamedHit, type SearchAnswer } from "@hermes-memory/core/internal/sessions";
import { expect, it } from "vitest";
import { answerLines } from "../../src/cli/sessions/search-command.ts";

const hit: NamedHit = {
  id: 7,
  session_id: "s1",
  role: "user",
  snippet: "\u001b[31mthe >>>kiln<<<\u0000",
  timestamp: 1_700_000_000,
  tool_name: null,
  source: "cli",
  model: null,
  session_started: 1_700_000_000,
  context: [{ role: "user", content: "the kiln" }],
  score: 1,
  matched: ["kiln"],
  lineage_root: "s1",
  title: null,
};
const plain = (_style: unknown, text: string) => text;
const answer = (more: Partial<SearchAnswer> = {}): SearchAnswer => ({
  hits: [hit],
  stage: "widened",
  ...more,
});

it("an answer that is not sure of itself says so above its hits, and in its JSON", () => {
  const weak = answer({ confidence: { score: 0.126, isWeak: true } });
  expect(answerLines(weak, [hit], plain)[0]).toBe("Nothing that clearly answers this; nearest:");
  expect(answerJson("kiln", weak, [hit])).toMatchObject({
    confidence: 0.13,
    is_weak: true,
    message: "Nothing that clearly answers this; nearest:",
    hits: [{ id: 7 }],
  });
  const clear = answer({ confidence: { score: 0.8, isWeak: false } });
  expect(answerLines(clear, [hit], plain)[0]).toContain("s1");
  expect(answerJson("kiln", clear, [hit])).toHaveProperty("message", undefined);
  expect(answerJson("kiln", answer(), [hit])).toHaveProperty("confidence", undefined);
});

it("messages that were not searched are counted in the JSON", () => {
  const partly = answer({ notSearched: { messages: 12, reason: "the index is being built" } });
  expect(answerJson("kiln", partly, [hit])).toMatchObject({
    not_searched: {
      messages: 12,
      reason: "the index is being built",
      message: expect.stringMatching(/^12 messages are not indexed yet/),
    },
  });
});

it("a place is shown as clean text", () => {
  expect(answerLines(answer(), [hit], plain)[1]).toBe("  the >>>kiln<<<");
  expect(answerJson("kiln", answer(), [hit])).toMatchObject({ hits: [{ snippet: "the >>>kiln<<< " }] });
});

it("neither places nor what stands around them turn the direction of text or move the cursor", () => {
  const hostile: NamedHit = {
    ...hit,
    snippet: "a\u202e >>>kiln<<<\u2066 b\r\nc\rd",
    context: [{ role: "tool", content: "\u001b[2J\u202ex\u2069\ry\u001b]0;title\u0007" }],
  };
  expect(answerJson("kiln", answer(), [hostile])).toMatchObject({
    hits: [{ snippet: "a >>>kiln<<< b\nc\nd", context: [{ role: "tool", content: "x\ny" }] }],
  });
  expect(answerLines(answer(), [hostile], plain).join("\n")).not.toMatch(/[\u202a-\u202e\u2066-\u2069\r]/);
});

it("words of the query that were left out are counted in the JSON", () => {
  expect(answerJson("kiln", answer({ termsLeftOut: 3 }), [hit])).toMatchObject({
    terms_left_out: { terms: 3, message: expect.stringMatching(/3 words/) },
  });
});

it("the output of an earlier search is one line without its snippets", () => {
  const nested = '{"query": "glaze", "results": [{"snippet": "the secret kiln"}]}';
  const earlier: NamedHit = {
    ...hit,
    role: "tool",
    tool_name: "session_search",
    snippet: nested,
    context: [{ role: "tool", content: nested }],
  };
  const shown = [answerLines(answer(), [earlier], plain), answerJson("kiln", answer(), [earlier])];
  for (const each of shown) {
    expect(JSON.stringify(each)).toContain("an earlier session_search for");
    expect(JSON.stringify(each)).not.toContain("secret");
  }
});
