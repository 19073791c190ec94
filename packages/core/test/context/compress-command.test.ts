import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compressFeedback,
  parseCompressCommand,
  rejoin,
  splitForPartial,
} from "../../src/context/compress-command.ts";
import { handoffText } from "../../src/context/compressor/handoff.ts";
import type { Message } from "../../src/message/index.ts";
import { asMessage, withoutMeta } from "./messages.ts";

const user = (content: unknown, more: object = {}): Message =>
  asMessage({ role: "user", content, ...more }, { id: "u" });
const assistant = (content: unknown): Message => asMessage({ role: "assistant", content }, { id: "a" });

describe("/compress", () => {
  it.each([
    ["/compress", { kind: "full" }],
    ["  ", { kind: "full" }],
    ["here", { kind: "partial", keep: 2 }],
    ["/compress here", { kind: "partial", keep: 2 }],
    ["/COMPRESS Up To Here", { kind: "partial", keep: 2 }],
    ["/compact here 5", { kind: "partial", keep: 5 }],
    ["up to here 3", { kind: "partial", keep: 3 }],
    ["here 0", { kind: "partial", keep: 1 }],
    ["here -7", { kind: "partial", keep: 1 }],
    ["here 9999", { kind: "partial", keep: 100 }],
    ["here some", { kind: "partial", keep: 2 }],
    ["here 1.5", { kind: "partial", keep: 2 }],
    ["--keep 4", { kind: "partial", keep: 4 }],
    ["-k 4", { kind: "partial", keep: 4 }],
    ["--keep=4", { kind: "partial", keep: 4 }],
    ["--keep=", { kind: "partial", keep: 2 }],
    ["--keep many", { kind: "partial", keep: 2 }],
    ["the database schema", { kind: "focus", topic: "the database schema" }],
    ["/compress Harbour Crane ", { kind: "focus", topic: "Harbour Crane" }],
    ["here is what matters", { kind: "focus", topic: "here is what matters" }],
    ["hereditary rules", { kind: "focus", topic: "hereditary rules" }],
    ["--keep", { kind: "focus", topic: "--keep" }],
    ["/compressor", { kind: "focus", topic: "/compressor" }],
  ])("understands '%s'", (text, command) => {
    expect(parseCompressCommand(text)).toEqual(command);
  });
});

describe("compacting up to a point", () => {
  it("takes no handoff for a user message, unless the user's own text follows in it", () => {
    const handoff = user(handoffText("facts"), { _compressed_summary: true });
    const list = [assistant("0"), user("a"), assistant("1"), handoff, assistant("2"), user("b")];
    expect(splitForPartial(list, 2).tail).toEqual(list.slice(1));
    const merged = user(`${handoffText("facts")}\n\nand now?`, { _compressed_summary: true });
    const other = [assistant("0"), user("a"), assistant("1"), merged, assistant("2"), user("b")];
    expect(splitForPartial(other, 2).tail).toEqual(other.slice(3));
  });

  it("loses nothing, whatever the list looks like", () => {
    const message = fc.record({
      role: fc.constantFrom("user", "assistant", "tool", "system", "odd"),
      content: fc.oneof(fc.string(), fc.constant(null), fc.constant([{ type: "text", text: "t" }])),
    });
    fc.assert(
      fc.property(fc.array(message), fc.integer({ min: -3, max: 6 }), (rows, keep) => {
        const list = rows.map((row) => asMessage(row));
        const { head, tail } = splitForPartial(list, keep);
        expect([...head, ...tail]).toEqual(list);
        if (tail.length > 0) expect(tail[0]?.role).toBe("user");
        expect(head.length > 0 || list.length === 0).toBe(true);
      }),
    );
  });
});

describe("joining the compacted part and the rest", () => {
  it("changes nothing where the sides differ", () => {
    expect(rejoin([assistant("s")], [user("a"), assistant("1")])).toEqual([
      assistant("s"),
      user("a"),
      assistant("1"),
    ]);
    expect(rejoin([], [user("a")])).toEqual([user("a")]);
    expect(rejoin([user("a")], [])).toEqual([user("a")]);
    const results = [asMessage({ role: "tool", content: "1" })];
    expect(rejoin(results, results)).toHaveLength(2);
  });

  it("merges two texts of one side with a blank line, and keeps the mark of the handoff", () => {
    const handoff = user("summary", { _compressed_summary: true });
    expect(rejoin([assistant("0"), handoff], [user("now?", { _row_id: 7 }), assistant("1")])).toEqual([
      assistant("0"),
      user("summary\n\nnow?", { _compressed_summary: true, _row_id: 7 }),
      assistant("1"),
    ]);
  });

  it("merges lists of parts too, so that an image stays with its question", () => {
    const picture = [{ type: "text", text: "what is this?" }, { type: "image_url" }];
    expect(rejoin([user("summary")], [user(picture)])).toEqual([
      user([{ type: "text", text: "summary" }, ...picture]),
    ]);
  });

  it("puts an empty word of the other side between what cannot be merged", () => {
    const said = (messages: readonly Message[]) => messages.map(withoutMeta);
    expect(said(rejoin([user("a")], [user(null)]))).toEqual(said([user("a"), assistant(""), user(null)]));
    const calling = asMessage({ role: "assistant", content: "x", tool_calls: [{ id: "c", name: "f" }] });
    expect(said(rejoin([calling], [assistant("y")]))).toEqual(said([calling, user(""), assistant("y")]));
  });
});

describe("what the user is told", () => {
  it("says when nothing happened, and when fewer messages cost more", () => {
    const same = { messages: 8, tokens: 500 };
    expect(compressFeedback(same, same)).toMatchObject({ noop: true, note: null });
    expect(compressFeedback(same, { messages: 5, tokens: 700 })).toMatchObject({
      noop: false,
      note: expect.stringContaining("more tokens"),
    });
    expect(compressFeedback(same, { messages: 8, tokens: 300 })).toMatchObject({ noop: false, note: null });
  });
});
