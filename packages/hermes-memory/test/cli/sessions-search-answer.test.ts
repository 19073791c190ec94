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
