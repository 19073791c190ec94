import { describe, expect, it } from "vitest";
import type { MessageRow } from "../../../src/sessions/index.ts";
import { formatTranscript } from "../../../src/sessions/summarize/transcript.ts";

function row(id: number, role: string, content: unknown, more: Partial<MessageRow> = {}): MessageRow {
  return {
    id,
    session_id: "s",
    role,
    content,
    tool_call_id: null,
    tool_calls: null,
    tool_name: null,
    timestamp: id,
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
    ...more,
  };
}

describe("a transcript", () => {
  it("holds no secrets, whoever said them", () => {
    const key = `sk-proj-${"a1B2".repeat(12)}`;
    const text = formatTranscript([
      row(1, "user", `use ${key}`),
      row(2, "assistant", `done with ${key}`),
      row(3, "tool", `${"x".repeat(240)} ${key} ${"y".repeat(600)}`, { tool_name: "env" }),
    ]);
    expect(text).not.toContain("a1B2");
    expect(text).toContain("[#1] [USER]: use sk-proj-***");
  });

  it("has a block for everything said and called, each with the id of its message", () => {
    const calls = [{ function: { name: "ls" } }, { name: "grep" }, { odd: 1 }, "text"];
    expect(
      formatTranscript([
        row(1, "user", "list the files"),
        row(2, "assistant", "sure", { tool_calls: calls }),
        row(3, "tool", "a.txt", { tool_name: "ls" }),
        row(4, "tool", "b.txt"),
        row(5, "assistant", null, { tool_calls: [{ name: "cat" }] }),
        row(6, "assistant", "done"),
        row(7, "system", "be kind"),
      ]),
    ).toBe(
      [
        "[#1] [USER]: list the files",
        "[#2] [ASSISTANT]: [Called: ls, grep]",
        "[#2] [ASSISTANT]: sure",
        "[#3] [TOOL:ls]: a.txt",
        "[#4] [TOOL:unknown]: b.txt",
        "[#5] [ASSISTANT]: [Called: cat]",
        "[#6] [ASSISTANT]: done",
        "[#7] [SYSTEM]: be kind",
      ].join("\n\n"),
    );
  });

  it("leaves out messages without text", () => {
    expect(formatTranscript([row(1, "user", ""), row(2, "assistant", null), row(3, "user", " \n ")])).toBe(
      "",
    );
  });

  it("shortens long tool output to its ends", () => {
    const output = `${"a".repeat(300)}${"b".repeat(300)}`;
    expect(formatTranscript([row(1, "tool", output, { tool_name: "cat" })])).toBe(
      `[#1] [TOOL:cat]: ${"a".repeat(250)}\n...[truncated]...\n${"b".repeat(250)}`,
    );
    const exact = "c".repeat(500);
    expect(formatTranscript([row(1, "tool", exact, { tool_name: "cat" })])).toBe(`[#1] [TOOL:cat]: ${exact}`);
    const astral = formatTranscript([row(1, "tool", "😀".repeat(600), { tool_name: "cat" })]);
    expect(astral).toBe(`[#1] [TOOL:cat]: ${"😀".repeat(250)}\n...[truncated]...\n${"😀".repeat(250)}`);
  });

  it("takes the text of structured content, and leaves out memory recalled at the time", () => {
    const picture = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ];
    const fenced = "question\n<memory-context>\n[System note: recalled]\n\nsecret fact\n</memory-context>";
    const text = formatTranscript([row(1, "user", picture), row(2, "user", fenced)]);
    expect(text).toContain("[#1] [USER]: look");
    expect(text).not.toContain("base64");
    expect(text).not.toContain("secret fact");
  });
});
