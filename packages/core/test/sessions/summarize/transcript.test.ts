import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MessageRow } from "../../../src/sessions/index.ts";
import { cutAroundQuery, formatTranscript } from "../../../src/sessions/summarize/transcript.ts";

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
  it("contains no secrets, in messages of any role", () => {
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

const EARLIER = "...[earlier conversation truncated]...\n\n";
const LATER = "\n\n...[later conversation truncated]...";

/** Dots, with texts at given positions. */
function dots(length: number, texts: Readonly<Record<number, string>>): string {
  let line = ".".repeat(length);
  for (const [at, text] of Object.entries(texts))
    line = line.slice(0, Number(at)) + text + line.slice(Number(at) + text.length);
  return line;
}

describe("cutting a transcript around the query", () => {
  it("leaves a text within the budget as it is", () => {
    expect(cutAroundQuery("x".repeat(100), "query", { maxChars: 100 })).toBe("x".repeat(100));
    expect(cutAroundQuery("x".repeat(100_000), "query")).toHaveLength(100_000);
    expect(cutAroundQuery("x".repeat(100_001), "query")).toBe("x".repeat(100_000) + LATER);
  });

  it("shows a quarter before a match in the middle and three quarters after it", () => {
    const text = dots(10_000, { 5000: "Needle" });
    expect(cutAroundQuery(text, "needle", { maxChars: 400 })).toBe(EARLIER + text.slice(4900, 5300) + LATER);
  });

  it("stays inside the text at both ends", () => {
    const atStart = dots(1000, { 20: "needle" });
    expect(cutAroundQuery(atStart, "needle", { maxChars: 400 })).toBe(atStart.slice(0, 400) + LATER);
    const atEnd = dots(1000, { 980: "needle" });
    expect(cutAroundQuery(atEnd, "needle", { maxChars: 400 })).toBe(EARLIER + atEnd.slice(600));
  });

  it("shows the beginning when nothing matches, or the fallback", () => {
    const text = dots(1000, { 700: "[#7]" });
    expect(cutAroundQuery(text, "needle", { maxChars: 100 })).toBe(text.slice(0, 100) + LATER);
    expect(cutAroundQuery(text, "needle", { maxChars: 100, fallback: "[#7]" })).toBe(
      EARLIER + text.slice(675, 775) + LATER,
    );
    expect(cutAroundQuery(text, "", { maxChars: 100 })).toBe(text.slice(0, 100) + LATER);
  });

  it("prefers words close together to a word alone", () => {
    const text = dots(20_000, { 100: "kiln", 300: "kiln", 9000: "blue", 9150: "kiln", 15000: "blue" });
    const cut = cutAroundQuery(text, "kiln blue", { maxChars: 1000 });
    expect(cut).toBe(EARLIER + text.slice(8750, 9750) + LATER);
  });

  it("covers as many matches as one window can", () => {
    const text = dots(20_000, { 1000: "kiln", 9000: "kiln", 9200: "kiln", 9400: "kiln" });
    expect(cutAroundQuery(text, "kiln", { maxChars: 1000 })).toBe(EARLIER + text.slice(8750, 9750) + LATER);
  });

  it("keeps positions true where lower case is longer, and cuts no character in two", () => {
    const text = `${"İ".repeat(3000)}needle${"😀".repeat(3000)}`;
    expect(cutAroundQuery(text, "NEEDLE", { maxChars: 100 })).toContain("İneedle😀");
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 20, maxLength: 200 }), fc.string(), (any, query) => {
        const cut = cutAroundQuery(any.toWellFormed(), query, { maxChars: 15 });
        expect(cut.isWellFormed()).toBe(true);
      }),
    );
  });

  it("takes no longer than the text is long", () => {
    const text = "ab ".repeat(1_000_000);
    const started = performance.now();
    cutAroundQuery(text, "a b");
    cutAroundQuery(text, "ab zz");
    // Comparing every pair of a million matches would take hours.
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
