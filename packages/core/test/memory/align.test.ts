// Which messages of a caller's list are new, for every kind of list.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { align, commonStart, exchangeId, responseId } from "../../src/memory/align.ts";
import { type Message, newMessage, withMeta } from "../../src/message/index.ts";

/** Turns of a chat; texts repeat often, ids of calls do not. */
const turns = fc.array(
  fc.record({
    asked: fc.constantFrom("yes", "no", "go on", "why?"),
    hasCall: fc.boolean(),
    answer: fc.constantFrom("fine", "done", "because"),
  }),
  { minLength: 1, maxLength: 8 },
);

type Turn = { readonly asked: string; readonly hasCall: boolean; readonly answer: string };

function chat(list: readonly Turn[], start = 0): Message[] {
  return list.flatMap(({ asked, hasCall, answer }, at) => {
    const id = `call-${start + at}`;
    const call = [
      newMessage({
        role: "assistant",
        content: null,
        toolCalls: [{ id, name: "look", arguments: '{"a":1, "b":[2]}' }],
      }),
      newMessage({ role: "tool", content: '{"x": 1}', toolCallId: id }),
    ];
    return [
      newMessage({ role: "user", content: asked }),
      ...(hasCall ? call : []),
      newMessage({ role: "assistant", content: answer, toolCalls: [] }),
    ];
  });
}

/** As another process or program has it: other ids, times, vendor fields, spelling of JSON, and parts instead of text. */
function rewritten(messages: readonly Message[]): Message[] {
  return messages.map((message): Message => {
    const meta = { ...newMessage({ role: "user", content: "" }).meta, atSeconds: 77, rowId: undefined };
    const vendor = { seen: true };
    if (message.role === "assistant" && message.toolCalls.length > 0)
      return {
        ...message,
        meta,
        vendor,
        content: [],
        toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: '{ "b": [2], "a": 1 }', vendor })),
      };
    if (message.role === "tool") return { ...message, meta, content: '{"x":1}' };
    return { ...message, meta, vendor, content: [{ type: "text", text: ` ${String(message.content)}\n` }] };
  });
}

function stored(messages: readonly Message[]): Message[] {
  return messages.map((message, at) => withMeta(message, { rowId: at + 1, atSeconds: at + 1 }));
}

describe("align", () => {
  it("finds what a whole list adds to the chat", () => {
    fc.assert(
      fc.property(turns, fc.nat(8), (all, cut) => {
        const known = chat(all.slice(0, cut));
        const list = chat(all);
        fc.pre(known.length > 0);
        // Equal turns at the end of the chat may also be read as its end; nothing that differs is ever lost.
        const { fresh } = align(stored(known), rewritten(list));
        const result = [...known, ...list.slice(fresh)];
        expect(commonStart(result, list)).toBe(list.length);
        expect(result).toHaveLength(Math.max(known.length, list.length));
      }),
    );
  });

  it("stores a repeated list nothing, and the end of the chat nothing", () => {
    fc.assert(
      fc.property(turns, fc.nat(30), (all, from) => {
        const list = chat(all);
        expect(align(stored(list), rewritten(list)).fresh).toBe(list.length);
        const end = list.slice(from % list.length);
        expect(align(stored(list), rewritten(end)).fresh).toBe(end.length);
      }),
    );
  });

  it("adds what follows the end of the chat", () => {
    fc.assert(
      fc.property(turns, turns, fc.nat(30), (before, after, from) => {
        const known = chat(before);
        const start = from % known.length;
        const more = chat(after, 100).map((message, at) =>
          message.role === "user" ? { ...message, content: `new ${at}` } : message,
        );
        const { fresh } = align(stored(known), rewritten([...known.slice(start), ...more]));
        expect(fresh).toBe(known.length - start);
      }),
    );
  });

  it("takes a list without anything in common as new", () => {
    fc.assert(
      fc.property(turns, turns, (before, after) => {
        const more = chat(after, 100).map((message, at) =>
          message.role === "user" ? { ...message, content: `new ${at}` } : message,
        );
        expect(align(stored(chat(before)), rewritten(more))).toMatchObject({ fresh: 0, isAnchored: false });
      }),
    );
  });

  it("never loses a message: what is not new is in the chat, in order", () => {
    fc.assert(
      fc.property(turns, turns, fc.boolean(), (before, after, isExchange) => {
        const known = chat(before);
        const list = chat(after, 50);
        const { fresh } = align(stored(known), rewritten(list), { isExchange });
        let at = 0;
        for (const message of list.slice(0, fresh)) {
          while (at < known.length && commonStart([known[at] as Message], [message]) === 0) at += 1;
          expect(at).toBeLessThan(known.length);
          at += 1;
        }
      }),
    );
  });

  it("stores a changed turn again as a whole, so that no reply follows a reply", () => {
    const list = chat([
      { asked: "a", hasCall: false, answer: "b" },
      { asked: "c", hasCall: false, answer: "d" },
    ]);
    const regenerated = list.with(3, newMessage({ role: "assistant", content: "e", toolCalls: [] }));
    expect(align(stored(list), regenerated).fresh).toBe(2);
    const edited = list.with(2, newMessage({ role: "user", content: "f" }));
    expect(align(stored(list), edited).fresh).toBe(2);
  });

  it("knows an older state of the chat, but takes a repeated first exchange as a new one", () => {
    const list = chat([
      { asked: "a", hasCall: false, answer: "b" },
      { asked: "c", hasCall: false, answer: "d" },
      { asked: "e", hasCall: false, answer: "f" },
    ]);
    expect(align(stored(list), list.slice(0, 4)).fresh).toBe(4);
    expect(align(stored(list), list.slice(0, 2)).fresh).toBe(0);
    expect(align(stored(list), list.slice(4), { isExchange: true }).fresh).toBe(2);
    expect(align(stored(list), list.slice(0, 2), { isExchange: true }).fresh).toBe(0);
    expect(align(stored(list), list, { isNew: true }).fresh).toBe(4);
  });

  it("tells messages apart by ids of the same kind only", () => {
    const [user, reply] = chat([{ asked: "a", hasCall: false, answer: "b" }]) as [Message, Message];
    const named = (id: string) => [user, withMeta(reply, { platformMessageId: id })];
    expect(align(stored(named(responseId("1"))), named(responseId("1"))).fresh).toBe(2);
    expect(align(stored(named(responseId("1"))), named(responseId("2"))).fresh).toBe(0);
    expect(align(stored(named(responseId("1"))), named(exchangeId("2"))).fresh).toBe(2);
    expect(align(stored(named("m1")), named("m2")).fresh).toBe(0);
    expect(align(stored(named("m1")), [user, reply]).fresh).toBe(2);
  });

  it("knows a result that a compaction shortened by the id of its call", () => {
    const list = chat([{ asked: "a", hasCall: true, answer: "b" }]);
    const copies = stored(list).map((message, at) =>
      message.role === "tool"
        ? { ...withMeta(message, { originId: at }), content: "[shortened]" }
        : withMeta(message, { originId: at }),
    );
    expect(align(copies, rewritten(list)).fresh).toBe(4);
  });
});
