// Calls that no model API takes: they must not survive a compaction, and neither may the list break on them.
import { describe, expect, it } from "vitest";
import { repairPairs } from "../../../src/context/compressor/pairs.ts";
import type { ContextMessage } from "../../../src/context/message.ts";

const sound = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
const result = { role: "tool", tool_call_id: "a", content: "done" };

describe("calls that cannot be answered", () => {
  it.each<[string, unknown]>([
    ["an empty list", []],
    ["no list", "calls"],
    ["entries without an id", [{ type: "function", function: { name: "f" } }, null, 7]],
  ])("%s: the message stays without them", (_name, tool_calls) => {
    const message: ContextMessage = { role: "assistant", content: null, tool_calls };
    expect(repairPairs([message])).toEqual([{ role: "assistant", content: "" }]);
    expect(repairPairs([{ ...message, content: "hello" }])).toEqual([
      { role: "assistant", content: "hello" },
    ]);
  });

  it("a sound call beside a broken one stays with its result", () => {
    const broken: ContextMessage = { role: "assistant", content: "", tool_calls: [{}, sound] };
    expect(repairPairs([broken, result])).toEqual([
      { role: "assistant", content: "", tool_calls: [sound] },
      result,
    ]);
  });

  it("a list that is in order is the same list", () => {
    const messages = [{ role: "assistant", content: "", tool_calls: [sound] }, result];
    expect(repairPairs(messages)).toBe(messages);
    const none = [{ role: "assistant", content: "hi", tool_calls: null }];
    expect(repairPairs(none)).toBe(none);
  });
});
