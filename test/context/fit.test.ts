import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { handoffText } from "../../src/context/compressor/handoff.ts";
import { type ContextMessage, estimateMessages, fitMessages } from "../../src/context/index.ts";
import { alternating } from "./lists.ts";
import { expectPairs } from "./valid-list.ts";

const user = (content: string): ContextMessage => ({ role: "user", content });
const whereIs = ({ _row_id }: ContextMessage): string => `It is in row ${String(_row_id)}.`;
const call = (id: string, args = "{}"): ContextMessage => ({
  role: "assistant",
  content: "",
  tool_calls: [{ id, type: "function", function: { name: "read_log", arguments: args } }],
});
const result = (id: string, content: unknown, row = 7): ContextMessage => ({
  role: "tool",
  tool_call_id: id,
  content,
  _row_id: row,
});

describe("a list that must cost less", () => {
  it("stays as it is when it fits", () => {
    const list = [user("hello"), call("a"), result("a", "x".repeat(4_000))];
    expect(fitMessages(list, 2_000, whereIs)).toEqual({ messages: list, shortened: 0 });
    expect(fitMessages(list, 2_000, whereIs).messages).toBe(list);
  });

  it("loses the middle of its longest results, and says how much and where it is", () => {
    const long = `BEGIN ${"harbour ".repeat(8_000)} END`;
    const list = [user("read"), call("a"), result("a", "short"), call("b"), result("b", long, 42)];
    const { messages, shortened } = fitMessages(list, 1_000, whereIs);
    expect(shortened).toBe(1);
    expect(estimateMessages(messages)).toBeLessThanOrEqual(1_000);
    expect(estimateMessages(messages)).toBeGreaterThan(800);
    const text = String(messages[4]?.content);
    expect(text).toMatch(/^BEGIN harbour /);
    expect(text).toMatch(/ END$/);
    const left = Number(/\[\.\.\. ([\d,]+) characters are left out/.exec(text)?.[1]?.replaceAll(",", ""));
    const note = /\n\[\.\.\. .*\]\n/.exec(text)?.[0] ?? "";
    expect(left).toBe(long.length - (text.length - note.length));
    expect(text).toContain("It is in row 42.");
    expect(messages.slice(0, 4)).toEqual(list.slice(0, 4));
  });

  it("has one note about both cuts when a text is cut twice", () => {
    const long = "港口今天早上很安静。".repeat(2_000);
    const list = [user("read"), call("a"), result("a", long, 42)];
    const once = fitMessages(list, 5_000, whereIs).messages;
    const twice = fitMessages(
      once.map((message) => ({ ...message, _row_id: 99 })),
      1_000,
      whereIs,
    ).messages;
    const text = String(twice[2]?.content);
    expect(text.match(/are left out here/g)).toHaveLength(1);
    expect(text).toContain("It is in row 42.");
    const left = Number(/\[\.\.\. ([\d,]+)/.exec(text)?.[1]?.replaceAll(",", ""));
    expect(left).toBe(long.length - text.replace(/\n\[\.\.\. .*\]\n/, "").length);
  });

  it("cuts several results to the same size", () => {
    const list = [
      user("read"),
      call("a"),
      result("a", "x".repeat(40_000)),
      call("b"),
      result("b", "y".repeat(20_000)),
      call("c"),
      result("c", "z".repeat(400)),
    ];
    const sizes = fitMessages(list, 2_000, whereIs).messages.map(({ content }) => String(content).length);
    expect(Math.abs((sizes[2] ?? 0) - (sizes[4] ?? 0))).toBeLessThan(50);
    expect(sizes[6]).toBe(400);
  });

  it("then loses images, long arguments, older texts and the handoff, but never the newest user message", () => {
    const asked = user(`newest ${"w".repeat(2_000)}`);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const list: ContextMessage[] = [
      { role: "user", content: handoffText(`## Goal\n${"g".repeat(8_000)}`), _compressed_summary: true },
      { role: "assistant", content: "a".repeat(8_000) },
      asked,
      call("a", JSON.stringify({ text: "t".repeat(8_000) })),
      result("a", [{ type: "text", text: "seen" }, image]),
    ];
    const { messages, shortened } = fitMessages(list, 1_500, whereIs);
    expect(shortened).toBe(4);
    expect(messages[2]).toBe(asked);
    expect(JSON.stringify(messages)).not.toContain("base64");
    expect(estimateMessages(messages)).toBeLessThanOrEqual(1_500);
    expect(messages[0]?.content).toContain("[CONTEXT COMPACTION");
  });

  it("stays valid for a model, whatever the limit is, and never grows", () => {
    const messages = fc.array(
      fc.oneof(
        fc.nat(8_000).map((chars) => [user("港".repeat(chars))]),
        fc.nat(8_000).map((chars) => alternating(2, chars)),
        fc.nat(20_000).map((chars) => [call("c"), result("c", "{}".repeat(chars))]),
      ),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(messages, fc.nat(10_000), (groups, limit) => {
        const list = [user("first"), ...groups.flat()].map((message, at) => ({ ...message, _row_id: at }));
        const fitted = fitMessages(list, limit, whereIs);
        expect(fitted.messages).toHaveLength(list.length);
        expect(estimateMessages(fitted.messages)).toBeLessThanOrEqual(
          Math.max(limit, estimateMessages(list)),
        );
        expectPairs(fitted.messages);
        expect(fitted.messages.findLast(({ role }) => role === "user")).toBe(
          list.findLast(({ role }) => role === "user"),
        );
      }),
      { numRuns: 60 },
    );
  });
});
