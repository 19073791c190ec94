import { describe, expect, it } from "vitest";
import { oneLiner, pruneToolResults, shrinkArguments } from "../../../src/context/compressor/prune.ts";
import type { Message } from "../../../src/message/index.ts";
import { alternating, frozen, toolRounds, user } from "../../../testing/context-engine/lists.ts";
import { asMessage } from "../messages.ts";

const RULES = { tailTokens: 20_000, protectLastN: 20, headEnd: 0 };
const DUPLICATE = "[Duplicate tool output — same content as a more recent call]";

function call(id: string, name: string, given: string): Message {
  return asMessage({
    role: "assistant",
    content: "",
    tool_calls: [{ id, type: "function", function: { name, arguments: given } }],
  });
}
function result(id: string, content: unknown): Message {
  return asMessage({ role: "tool", tool_call_id: id, content });
}

describe("pruning", () => {
  it("replaces long results outside the budget and the newest messages, and does not touch its input", () => {
    const messages = frozen([user(), ...toolRounds(40, 8000)]);
    const pruned = pruneToolResults(messages, RULES);
    expect(pruned.results).toBe(30);
    expect(pruned.messages).toHaveLength(messages.length);
    expect(pruned.messages.slice(-20)).toEqual(messages.slice(-20));
    expect(String(pruned.messages[2]?.content)).toMatch(
      /^\[read_file\] read src\/call_\d+\.ts from line 1 \(8,000 chars\)$/,
    );
  });

  it("keeps the newest of equal results, in the tail too, but none in the head is touched", () => {
    const same = "the same long text ".repeat(20);
    const messages = ["a", "b", "c"].flatMap((id) => [call(id, "t", "{}"), result(id, same)]);
    expect(pruneToolResults(messages, RULES).messages.map(({ content }) => content)).toEqual([
      "",
      DUPLICATE,
      "",
      DUPLICATE,
      "",
      same,
    ]);
    const headExempt = pruneToolResults(messages, { ...RULES, headEnd: 2 });
    expect(headExempt.messages[1]).toBe(messages[1]);
    expect(headExempt.results).toBe(1);
  });

  it("never makes a result longer", () => {
    const long = call("x", "read_file", JSON.stringify({ path: "p".repeat(900) }));
    const messages = [long, result("x", "r".repeat(400)), ...alternating(30, 40)];
    const { messages: pruned } = pruneToolResults(messages, { ...RULES, tailTokens: 0 });
    expect(pruned[1]?.content).toBe("r".repeat(400));
  });
});

describe("one line for a result", () => {
  const long = "x".repeat(1234);
  it.each([
    [
      "terminal",
      '{"command":"make ship"}',
      '{"exit_code": -2}\nmore',
      "[terminal] ran `make ship` -> exit -2, 2 lines output",
    ],
    [
      "terminal",
      `{"command":"${"c".repeat(90)}"}`,
      "",
      `[terminal] ran \`${"c".repeat(77)}...\` -> exit ?, 0 lines output`,
    ],
    ["read_file", "{}", long, "[read_file] read ? from line 1 (1,234 chars)"],
    [
      "browser_navigate",
      '{"url":"http://a.example"}',
      long,
      "[browser_navigate] http://a.example (1,234 chars)",
    ],
    ["browser_snapshot", "{}", long, "[browser_snapshot] (1,234 chars)"],
    ["browser_other", "{}", long, "[browser_other] (1,234 chars result)"],
    ["web_extract", "{}", long, "[web_extract] ? (1,234 chars)"],
    ["skill_view", '{"name":"pots"}', long, "[skill_view] name=pots (1,234 chars)"],
    ["skills_list", "{}", long, "[skills_list] name=? (1,234 chars)"],
    [
      "vision_analyze",
      `{"question":"${"q".repeat(60)}"}`,
      long,
      `[vision_analyze] '${"q".repeat(50)}' (1,234 chars)`,
    ],
    ["text_to_speech", "{}", long, "[text_to_speech] generated audio (1,234 chars)"],
    ["memory", '{"action":"add"}', long, "[memory] add on ?"],
    ["clarify", "{}", long, "[clarify] asked user a question"],
    ["cronjob", '{"action":"list"}', long, "[cronjob] list"],
    ["process", '{"action":"kill","session_id":"p1"}', long, "[process] kill session=p1"],
    [
      "weird",
      `{"a":"${"v".repeat(50)}","b":[1],"c":2}`,
      long,
      `[weird] a=${"v".repeat(40)} b=[1] (1,234 chars result)`,
    ],
    ["toString", "not json", long, "[toString] (1,234 chars result)"],
    ["__proto__", "[]", long, "[__proto__] (1,234 chars result)"],
  ])("%s %s", (tool, given, output, line) => {
    expect(oneLiner(tool, given, output)).toBe(line);
  });
});

describe("shorter arguments", () => {
  it("are the same text when they are short, no JSON, or have nothing to cut", () => {
    for (const text of [
      '{"a":"b"}',
      `path=a ${"clay ".repeat(200)}`,
      JSON.stringify(Array.from({ length: 400 }, (_, at) => at)),
    ])
      expect(shrinkArguments(text)).toBe(text);
  });

  it("of megabytes of escapes are cut too", () => {
    const shorter = shrinkArguments(`{"a":"${"\\n".repeat(3_000_000)}"}`);
    expect(JSON.parse(shorter).a).toBe(`${"\n".repeat(200)}...[truncated]`);
  });
});
