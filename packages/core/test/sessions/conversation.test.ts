// Stored rows come back decoded, or as the messages of a conversation in which nothing appears twice.
import { describe, expect, it } from "vitest";
import { joinLineage, toConversation, toMessageRow } from "../../src/sessions/conversation.ts";
import type { StoredMessageRow } from "../../src/sessions/rows.ts";

let lastId = 0;

function row(columns: Partial<StoredMessageRow>): StoredMessageRow {
  lastId += 1;
  return {
    id: lastId,
    session_id: "s1",
    role: "user",
    content: "hello",
    tool_call_id: null,
    tool_calls: null,
    tool_name: null,
    timestamp: 10,
    token_count: null,
    finish_reason: null,
    reasoning: null,
    reasoning_content: null,
    reasoning_details: null,
    codex_reasoning_items: null,
    codex_message_items: null,
    platform_message_id: null,
    observed: 0,
    active: 1,
    origin_id: null,
    ...columns,
  };
}

const FENCED = "question\n\n<memory-context>\nrecalled\n</memory-context>\n ";
const contentsOf = (messages: readonly { content: unknown }[]) => messages.map(({ content }) => content);

describe("a message row", () => {
  it("has its content and tool calls decoded, everything else as stored", () => {
    const stored = row({ content: '\u0000json:["a"]', tool_calls: '[{"id":"c"}]', reasoning_details: "[1]" });
    const { origin_id: _, ...columns } = stored;
    expect(toMessageRow(stored)).toEqual({ ...columns, content: ["a"], tool_calls: [{ id: "c" }] });
  });

  it("names its origin only when it is a copy", () => {
    expect(toMessageRow(row({}))).not.toHaveProperty("origin_id");
    expect(toMessageRow(row({ origin_id: 4 }))).toHaveProperty("origin_id", 4);
  });

  it("shows fences and blanks as they were stored", () => {
    expect(toMessageRow(row({ content: FENCED })).content).toBe(FENCED);
  });

  it("survives damaged JSON with a warning that names the message", () => {
    const warnings: string[] = [];
    const stored = row({ tool_calls: "[broken", content: "\u0000json:{" });
    const read = toMessageRow(stored, (message) => warnings.push(message));
    expect(read).toMatchObject({ tool_calls: [], content: "\u0000json:{" });
    expect(warnings).toHaveLength(2);
    for (const warning of warnings) expect(warning).toContain(`Message ${stored.id} of session s1`);
  });

  it("without tool calls has none", () => {
    expect(toMessageRow(row({})).tool_calls).toBeNull();
  });
});

describe("a conversation message", () => {
  const only = (columns: Partial<StoredMessageRow>) => toConversation([row(columns)])[0];

  it("has role, content and time, and no key without a value", () => {
    expect(only({})).toEqual({ role: "user", content: "hello", timestamp: 10 });
    expect(
      only({ content: null, timestamp: 0, tool_call_id: "", tool_name: "", platform_message_id: "" }),
    ).toEqual({
      role: "user",
      content: null,
    });
  });

  it("has the keys of a tool call and its result", () => {
    expect(only({ role: "assistant", content: "", tool_calls: '[{"id":"c"}]' })).toEqual({
      role: "assistant",
      content: "",
      timestamp: 10,
      tool_calls: [{ id: "c" }],
    });
    expect(only({ role: "tool", tool_call_id: "c", tool_name: "terminal" })).toEqual({
      role: "tool",
      content: "hello",
      timestamp: 10,
      tool_call_id: "c",
      tool_name: "terminal",
    });
  });

  it("has the platform's id and whether it was only overheard", () => {
    expect(only({ platform_message_id: "m1", observed: 1 })).toMatchObject({
      message_id: "m1",
      observed: true,
    });
    expect(only({})).not.toHaveProperty("observed");
  });

  const thoughts = {
    finish_reason: "stop",
    reasoning: "why",
    reasoning_content: "chain",
    reasoning_details: '[{"type":"t"}]',
    codex_reasoning_items: "[1]",
    codex_message_items: "[2]",
  };

  it("has the assistant's reasoning, parsed", () => {
    expect(only({ role: "assistant", ...thoughts })).toEqual({
      role: "assistant",
      content: "hello",
      timestamp: 10,
      finish_reason: "stop",
      reasoning: "why",
      reasoning_content: "chain",
      reasoning_details: [{ type: "t" }],
      codex_reasoning_items: [1],
      codex_message_items: [2],
    });
  });

  it("has no reasoning of anybody else", () => {
    expect(only({ role: "user", ...thoughts })).toEqual({ role: "user", content: "hello", timestamp: 10 });
  });

  it("keeps an empty reasoning_content, which some models want back, but no other empty reasoning", () => {
    expect(only({ role: "assistant", reasoning: "", reasoning_content: "", finish_reason: "" })).toEqual({
      role: "assistant",
      content: "hello",
      timestamp: 10,
      reasoning_content: "",
    });
  });

  it("has null for reasoning and an empty list for tool calls that are no JSON", () => {
    const warnings: string[] = [];
    const [message] = toConversation(
      [row({ role: "assistant", reasoning_details: "{", codex_message_items: "x", tool_calls: "[" })],
      (warning) => warnings.push(warning),
    );
    expect(message).toMatchObject({ reasoning_details: null, codex_message_items: null, tool_calls: [] });
    expect(warnings).toHaveLength(3);
  });

  it("is cleaned of recalled memory and blanks when a person or a model wrote it", () => {
    expect(only({ role: "user", content: FENCED })?.content).toBe("question");
    expect(only({ role: "assistant", content: ` \u001c${FENCED}` })?.content).toBe("question");
    expect(only({ role: "user", content: Buffer.from(FENCED) })?.content).toBe("question");
  });

  it("is left alone when a tool or the system wrote it, and when it has structure", () => {
    expect(only({ role: "tool", content: FENCED })?.content).toBe(FENCED);
    expect(only({ role: "system", content: FENCED })?.content).toBe(FENCED);
    const parts = [{ type: "text", text: FENCED }];
    expect(only({ content: `\u0000json:${JSON.stringify(parts)}` })?.content).toEqual(parts);
  });
});

describe("a lineage", () => {
  it("is told from the root on, in the order of its rows", () => {
    const root = [row({ content: "1" }), row({ role: "assistant", content: "2" })];
    const child = [
      row({ session_id: "s2", content: "3" }),
      row({ session_id: "s2", role: "assistant", content: "4" }),
    ];
    expect(contentsOf(joinLineage([root, child]))).toEqual(["1", "2", "3", "4"]);
  });

  it("shows a copied row once, also a copy of a copy", () => {
    const first = row({ content: "1" });
    const answer = row({ role: "assistant", content: "2" });
    const copies = [
      row({ content: "1", origin_id: first.id }),
      row({ role: "assistant", content: "2", origin_id: answer.id }),
      row({ content: "3" }),
    ];
    const grandchild = [
      row({ content: "1", origin_id: first.id }),
      row({ role: "assistant", content: "2", origin_id: answer.id }),
      row({ content: "4" }),
    ];
    expect(contentsOf(joinLineage([[first, answer], copies, grandchild]))).toEqual(["1", "2", "3", "4"]);
  });

  it("shows the first copy of a row that is not there itself", () => {
    const copy = row({ role: "assistant", content: "kept", origin_id: 9_999 });
    const again = row({ role: "assistant", content: "kept", origin_id: 9_999 });
    expect(contentsOf(joinLineage([[copy], [again]]))).toEqual(["kept"]);
  });

  it("drops a prompt that was given again before anybody answered", () => {
    const root = [row({ content: "go on" }), row({ role: "tool", content: "output" })];
    const child = [row({ content: " go on " }), row({ role: "assistant", content: "yes" })];
    expect(contentsOf(joinLineage([root, child]))).toEqual(["go on", "output", "yes"]);
  });

  it("drops it over other prompts and empty answers in between, with structure too", () => {
    const picture = `\u0000json:${JSON.stringify([{ type: "image", url: "x" }])}`;
    const rows = [
      row({ content: picture }),
      row({ content: "other" }),
      row({ role: "assistant", content: "" }),
      row({ role: "assistant", content: null }),
      row({ content: picture }),
    ];
    expect(joinLineage([rows])).toHaveLength(4);
  });

  it.each([
    ["words", { content: "done" }],
    ["a tool call", { content: "", tool_calls: '[{"id":"c"}]' }],
  ])("keeps a prompt that is repeated after an answer with %s", (_, answer) => {
    const rows = [
      row({ content: "again" }),
      row({ role: "assistant", ...answer }),
      row({ content: "again" }),
    ];
    expect(joinLineage([rows])).toHaveLength(3);
  });

  it("leaves a single session's repeated prompts to whoever reads that session alone", () => {
    expect(toConversation([row({ content: "same" }), row({ content: "same" })])).toHaveLength(2);
  });
});
