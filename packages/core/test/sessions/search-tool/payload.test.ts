import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolMessage } from "../../../src/sessions/search-tool/answer-parts.ts";
import { cutterFor, levelFor } from "../../../src/sessions/search-tool/answer-parts.ts";

function message(content: unknown, more: Partial<ToolMessage> = {}): ToolMessage {
  return { id: 1, role: "user", content, timestamp: 1, ...more };
}

function cutAll(messages: readonly ToolMessage[], maxResultChars: number, maxMessageChars = 0) {
  return messages.map((each) => cutterFor(messages, { maxResultChars, maxMessageChars })(each));
}

describe("the size of an answer", () => {
  it("is left alone when it fits", () => {
    const messages = [message("a".repeat(40)), message(null), message([{ type: "text", text: "b" }])];
    expect(cutAll(messages, 100)).toEqual(messages);
  });

  it("is kept by cutting the longest messages first, all to the same length", () => {
    const cut = cutAll([message("a".repeat(10)), message("b".repeat(500)), message("c".repeat(900))], 210);
    expect(cut).toEqual([
      message("a".repeat(10)),
      message(`${"b".repeat(99)}…`, { content_truncated: true, original_content_chars: 500 }),
      message(`${"c".repeat(99)}…`, { content_truncated: true, original_content_chars: 900 }),
    ]);
  });

  it("has a limit of its own for each message when that is set", () => {
    expect(cutAll([message("abcdef"), message("ab")], 1000, 3)).toEqual([
      message("ab…", { content_truncated: true, original_content_chars: 6 }),
      message("ab"),
    ]);
  });

  it("counts code points and cuts no character in two", () => {
    const [cut] = cutAll([message("😀".repeat(50))], 10);
    expect(cut?.content).toBe(`${"😀".repeat(9)}…`);
    expect(cut?.original_content_chars).toBe(50);
  });

  it("keeps the structure of structured content and of tool calls, with shorter strings", () => {
    const picture = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "x".repeat(5000) } },
    ];
    const calls = [{ id: "c1", function: { name: "write_file", arguments: "y".repeat(5000) } }];
    const [first, second] = cutAll([message(picture), message(null, { tool_calls: calls })], 1000);
    expect(first).toMatchObject({
      content: [{ text: "look" }, { type: "image_url" }],
      content_truncated: true,
    });
    expect(second).toMatchObject({
      tool_calls: [{ id: "c1", function: { name: "write_file" } }],
      content_truncated: true,
    });
    expect(JSON.stringify([first, second]).length).toBeLessThan(1300);
  });

  it("turns content that is all structure into text", () => {
    const [cut] = cutAll([message(Array.from({ length: 1000 }, (_, index) => index))], 100);
    expect(cut?.content).toBe(JSON.stringify(Array.from({ length: 1000 }, (_, i) => i)).slice(0, 100));
  });

  it("shows the part of a long message that matched", () => {
    const text = `${"before ".repeat(2000)}the needle is here ${"after ".repeat(2000)}`;
    const cut = cutterFor([message(text)], { maxResultChars: 400, maxMessageChars: 0 });
    const shownAt = (at: number) => String(cut(message(text), at).content);
    expect(shownAt(text.indexOf("needle"))).toContain("the needle is here after");
    expect(shownAt(text.indexOf("needle"))).toHaveLength(400);
    expect(shownAt(text.indexOf("needle"))).toMatch(/^….*…$/);
    expect(shownAt(0)).toBe(`${text.slice(0, 399)}…`);
    expect(shownAt(300)).toBe(`${text.slice(0, 399)}…`);
    expect(shownAt(text.length - 1)).toBe(`…${text.slice(-399)}`);
  });

  it("never exceeds the budget and never cuts what is shorter than something left whole", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3000), { maxLength: 40 }), fc.nat(5000), (sizes, budget) => {
        const level = levelFor(sizes, budget);
        const total = sizes.reduce((sum, size) => sum + Math.min(size, level), 0);
        expect(total).toBeLessThanOrEqual(budget);
        // As much as possible: one more character for each cut message would be too much.
        const cutCount = sizes.filter((size) => size > level).length;
        if (cutCount > 0) expect(total + cutCount).toBeGreaterThan(budget);
      }),
    );
  });

  it("holds for any mixture of messages", () => {
    const content = fc.oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text)),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(content, fc.option(fc.json())), { maxLength: 12 }),
        fc.integer({ min: 200, max: 900 }),
        (parts, budget) => {
          const messages = parts.map(([text, calls]) =>
            message(text, calls === null ? {} : { tool_calls: [calls] }),
          );
          const size = (value: unknown) =>
            value == null ? 0 : [...(typeof value === "string" ? value : JSON.stringify(value))].length;
          const total = cutAll(messages, budget).reduce(
            (sum, cut) => sum + size(cut.content) + size(cut.tool_calls),
            0,
          );
          expect(total).toBeLessThanOrEqual(budget);
        },
      ),
    );
  });
});
