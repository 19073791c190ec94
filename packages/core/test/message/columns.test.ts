// Messages of every shape become the same columns.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MessageInput, toMessageColumns } from "../../src/message/index.ts";

const NOW = 1_700_000_000.25;
const append = (input: object) => toMessageColumns(input as MessageInput, { now: NOW, mode: "append" });
const replace = (input: object) => toMessageColumns(input as MessageInput, { now: NOW, mode: "replace" });

describe("reasoning", () => {
  const message = {
    reasoning: "r",
    reasoningContent: "c",
    reasoningDetails: [1],
    codexReasoningItems: [2],
    codexMessageItems: [3],
  };
  const kept = {
    reasoning: "r",
    reasoning_content: "c",
    reasoning_details: "[1]",
    codex_reasoning_items: "[2]",
    codex_message_items: "[3]",
  };

  it("is the assistant's alone when a session is written anew", () => {
    expect(replace({ role: "assistant", ...message })).toMatchObject(kept);
    const none = Object.fromEntries(Object.keys(kept).map((column) => [column, null]));
    expect(replace({ role: "tool", finishReason: "stop", ...message })).toMatchObject({
      ...none,
      finish_reason: "stop",
    });
  });
});

describe("JSON columns", () => {
  it.each([[null], [undefined], [""], [[]], [{}], [0], [false], [Number.NaN]])(
    "%j is stored as NULL and counts nothing",
    (toolCalls) => {
      expect(append({ toolCalls })).toMatchObject({ tool_calls: null, toolCallCount: 0 });
    },
  );

  it.each([
    [[1, 2, 3], "[1,2,3]", 3],
    [{ name: "f" }, '{"name":"f"}', 1],
    [true, "true", 1],
    ['[ {"id": 12345678901234567890} ]', '[ {"id": 12345678901234567890} ]', 1],
    ["[1, 2]", "[1, 2]", 2],
    ['{"a": 1}', '{"a": 1}', 1],
    ["[1, 2", '"[1, 2"', 1],
    ["plain", '"plain"', 1],
    ["7", '"7"', 1],
    [["釉薬\u0000\ud83d"], '["釉薬\\u0000\\ud83d"]', 1],
    ['["\ud83d"]', '["\\ud83d"]', 1],
  ])("%j is stored as %j", (toolCalls, text, count) => {
    expect(append({ toolCalls })).toMatchObject({ tool_calls: text, toolCallCount: count });
  });

  it("keep what JSON cannot write as text", () => {
    const cycle: unknown[] = ["kiln"];
    cycle.push(cycle);
    expect(JSON.parse(append({ toolCalls: cycle }).tool_calls ?? "")).toContain("kiln");
  });
});

describe("timestamps", () => {
  it.each([
    [12.5, 12.5],
    [0, 0],
    [-3, -3],
    ["1700000000.5", 1_700_000_000.5],
    [" 1e3 ", 1000],
    [new Date(1500), 1.5],
  ])("%j is its own time", (timestamp, seconds) => {
    expect(append({ timestamp })).toMatchObject({ timestamp: seconds, hasOwnTimestamp: true });
  });
});

describe("text columns", () => {
  it("hold text whatever they are given", () => {
    expect(
      append({ role: 5, toolName: ["a"], toolCallId: 12n, finishReason: Buffer.from("stop") }),
    ).toMatchObject({
      role: "5",
      tool_name: '["a"]',
      tool_call_id: "12",
      finish_reason: "stop",
    });
  });

  it("never hold what a database cannot keep", () => {
    const nasty = fc.string({ unit: fc.constantFrom("\u0000", "\ud83d", "\ude00", "a", "😀") });
    fc.assert(
      fc.property(nasty, (text) => {
        const { tool_name, reasoning } = append({ toolName: text, reasoning: text });
        expect(tool_name).toBe(text.toWellFormed().replaceAll("\u0000", "\ufffd"));
        expect(reasoning).toBe(tool_name);
      }),
    );
  });
});

describe("numbers", () => {
  it.each([
    [5, 5],
    [0, 0],
    [6n, 6],
    [1.5, null],
    ["7", null],
    [Number.NaN, null],
    [null, null],
  ])("%o tokens are stored as %j", (tokenCount, stored) => {
    expect(append({ tokenCount }).token_count).toBe(stored);
  });
});

describe("what is no message", () => {
  it.each([
    [null, "null"],
    [undefined, "undefined"],
    ["hello", "string"],
    [[{ role: "user" }], "list"],
  ])("%j is refused with its kind", (input, kind) => {
    expect(() => append(input as unknown as object)).toThrow(
      expect.objectContaining({ code: "bad-message", message: expect.stringContaining(kind) }),
    );
  });
});

it.each([
  { role: "assistant", content: "y", meta: { id: "a", atSeconds: 1 } },
  { role: "user", content: 5, meta: { id: "a", atSeconds: 1 } },
  { content: "y", meta: { id: "a", atSeconds: 1 } },
  { role: "user", content: "y", meta: { id: "a", atSeconds: Number.NaN } },
  { role: "user", content: "y", meta: { id: "a", atSeconds: 1, rowId: "1" } },
])("an object that only looks like a message is refused: %j", (given) => {
  for (const mode of ["append", "replace"] as const)
    expect(() => toMessageColumns(given as never, { now: 0, mode })).toThrow(
      expect.objectContaining({ code: "bad-message" }),
    );
});
