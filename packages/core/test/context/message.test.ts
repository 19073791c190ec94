import { describe, expect, it } from "vitest";
import { ContextCompressor } from "../../src/context/compressor/compressor.ts";
import { toolCallsOf } from "../../src/context/message.ts";
import { alternating } from "../../testing/context-engine/lists.ts";
import { answering } from "../../testing/context-engine/summarisers.ts";
import { expectPairs } from "./valid-list.ts";

const holdsItself: Record<string, unknown> = {};
holdsItself.self = holdsItself;

describe("arguments of a call that are no text", () => {
  const callWith = (given: unknown) => ({
    role: "assistant",
    content: "",
    tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: given } }],
  });

  it("are read as the JSON they stand for", () => {
    expect(toolCallsOf(callWith({ path: "a" }))).toEqual([
      { id: "c1", name: "f", arguments: '{"path":"a"}' },
    ]);
    expect(toolCallsOf(callWith(null))[0]?.arguments).toBe("null");
    expect(toolCallsOf(callWith(undefined))[0]?.arguments).toBe("");
  });

  it.each([
    ["hold a bigint", { id: 1n }],
    ["hold themselves", holdsItself],
    ["are a function", () => 1],
  ])("are nothing when they %s, and the list is compacted all the same", async (_what, given) => {
    expect(toolCallsOf(callWith(given))[0]?.arguments).toBe("");
    const result = { role: "tool", tool_call_id: "c1", content: "done" };
    const list = [...alternating(20, 3_000), callWith(given), result, ...alternating(10, 3_000)];
    const compressor = new ContextCompressor({
      contextLength: 30_000,
      summarizer: answering("## Goal\nGo on."),
    });
    const outcome = await compressor.compress(list);
    expect(outcome.kind).toBe("compacted");
    expectPairs(outcome.messages);
  });
});
