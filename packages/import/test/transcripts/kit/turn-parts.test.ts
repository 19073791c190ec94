// One answer with tool calls and results inside, as the messages a model API would have seen.
import { expect, it } from "vitest";
import { messagesOfTurn, type TurnPart } from "../../../src/transcripts/kit/turn-parts.ts";

const text = (value: string): TurnPart => ({ kind: "text", text: value });
const call = (name: string, id?: string): TurnPart => ({ kind: "call", id, name, arguments: "{}" });
const result = (value: string, id?: string): TurnPart => ({ kind: "result", id, text: value });
const turn = (...parts: TurnPart[]) => [
  ...messagesOfTurn("m", parts, { model: "x", usage: { outputTokens: 5 } }),
];

it("begins a new message after results, with ids that follow from the first", () => {
  expect(turn(text("a"), text("b"), call("f", "1"), result("r", "1"), text("c"))).toEqual([
    {
      id: "m",
      role: "assistant",
      text: "a\n\nb",
      model: "x",
      usage: { outputTokens: 5 },
      toolCalls: [{ id: "1", name: "f", arguments: "{}" }],
    },
    { id: "m#r1", role: "tool", text: "r", toolCallId: "1", toolName: "f" },
    { id: "m#1", role: "assistant", text: "c", model: "x" },
  ]);
});

it("pairs results without id in the order of their calls", () => {
  const names = turn(call("f"), call("g", "2"), result("1"), result("2"), result("3"))
    .filter(({ role }) => role === "tool")
    .map(({ toolName, toolCallId }) => [toolName, toolCallId]);
  expect(names).toEqual([
    ["f", "m#c1"],
    ["g", "2"],
    [undefined, undefined],
  ]);
});

it("keeps a result without call and a call without result, and gives nothing for nothing", () => {
  expect(turn(result("alone", "9"))).toEqual([{ id: "m#r1", role: "tool", text: "alone", toolCallId: "9" }]);
  expect(turn(call("f", "1"))).toHaveLength(1);
  expect(turn(text(" "), { kind: "reasoning", text: "" })).toEqual([]);
});
