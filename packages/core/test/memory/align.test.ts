// Which messages of a caller's list are new, for every kind of list.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { align, commonStart, inCallOrder } from "../../src/memory/align.ts";
import { exchangeId, responseId } from "../../src/memory/same-message.ts";
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
        const given = rewritten(list);
        const { fresh, late } = align(stored(known), given, { isExchange });
        let at = 0;
        for (const message of given.slice(0, fresh)) {
          if (late.includes(message)) continue;
          while (at < known.length && commonStart([known[at] as Message], [message]) === 0) at += 1;
          expect(at).toBeLessThan(known.length);
          at += 1;
        }
      }),
    );
  });

  it("knows a result by its call: a client may mask, reshape and reorder results", () => {
    const answers = fc.constantFrom("An error occurred.", "", '{"other":[1]}', "3 rows");
    const batches = fc.array(
      fc.record({ count: fc.integer({ min: 1, max: 4 }), order: fc.infiniteStream(fc.nat()), answers }),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(batches, fc.boolean(), (all, hasMore) => {
        const [chatList, client] = [[] as Message[], [] as Message[]];
        for (const [turn, { count, order, answers: text }] of all.entries()) {
          const ids = Array.from({ length: count }, (_, at) => `call-${turn}-${at}`);
          const asked = newMessage({ role: "user", content: "go on" });
          const toolCalls = ids.map((id) => ({ id, name: "look", arguments: "{}" }));
          const call = newMessage({ role: "assistant", content: null, toolCalls });
          const reply = newMessage({ role: "assistant", content: "done", toolCalls: [] });
          const result = (content: string) => (toolCallId: string) =>
            newMessage({ role: "tool", content, toolCallId });
          const mixed = ids
            .map((id) => [order.next().value as number, id] as const)
            .sort(([one], [other]) => one - other)
            .map(([, id]) => id);
          chatList.push(asked, call, ...ids.map(result("stored")), reply);
          client.push(asked, call, ...mixed.map(result(text)), reply);
        }
        const more = hasMore ? [newMessage({ role: "user", content: "and now?" })] : [];
        const given = [...client, ...more];
        expect(align(stored(chatList), given)).toMatchObject({ fresh: client.length, late: [] });
        expect(commonStart(inCallOrder(chatList), inCallOrder(given))).toBe(client.length);
      }),
    );
  });

  it("takes an exchange with another result as another one: some models use the same call ids in every turn", () => {
    const exchange = chat([{ asked: "go on", hasCall: true, answer: "done" }]);
    const other = exchange.map((message) =>
      message.role === "tool" ? { ...message, content: "2" } : message,
    );
    expect(align(stored(exchange), rewritten(exchange), { isExchange: true }).fresh).toBe(4);
    expect(align(stored(exchange), other, { isExchange: true }).fresh).toBe(0);
    expect(align(stored(exchange), other).fresh).toBe(4);
  });

  it("takes a result that came later than its call, and only that", () => {
    const [asked, call, result, reply] = chat([{ asked: "a", hasCall: true, answer: "b" }]) as [
      Message,
      Message,
      Message,
      Message,
    ];
    const next = newMessage({ role: "user", content: "c" });
    const list = [asked, call, result, reply, next];
    expect(align(stored([asked, call]), list)).toMatchObject({ fresh: 3, late: [result] });
    expect(align(stored([asked, call]), [result])).toMatchObject({ fresh: 1, late: [result] });
    expect(align(stored([asked, call]), [result, next])).toMatchObject({ fresh: 1, late: [result] });
    expect(align(stored([asked, call, result]), [result])).toMatchObject({ fresh: 1, late: [] });
    expect(align(stored([asked, call, reply]), list)).toMatchObject({ fresh: 4, late: [result] });
    const orphan = newMessage({ role: "tool", content: "x", toolCallId: "unknown" });
    expect(align(stored([asked, call]), [orphan])).toMatchObject({ fresh: 0, isAnchored: false });
  });

  it("goes on behind turns that were edited or left out in the middle", () => {
    const all = ["a", "b", "c", "d"].map((asked) => ({ asked, hasCall: true, answer: `${asked}!` }));
    const list = chat(all);
    const more = newMessage({ role: "user", content: "new" });
    for (let from = 1; from < all.length - 1; from += 1)
      for (let to = from + 1; to < all.length; to += 1) {
        const abridged = [...list.slice(0, from * 4), ...list.slice(to * 4)];
        const found = align(stored(list), rewritten([...abridged, more]));
        expect(found).toMatchObject({ fresh: abridged.length, late: [] });
      }
    const edited = list.with(4, newMessage({ role: "user", content: "b, but other" }));
    const found = align(stored(list), [...edited, more]);
    expect(found).toMatchObject({ fresh: list.length, late: edited.slice(4, 8) });
    // Stored as something said later, it is known from then on.
    const after = [...list, ...edited.slice(4, 8), more];
    const again = newMessage({ role: "user", content: "newer" });
    expect(align(stored(after), [...edited, more, again]).late).toEqual([]);
    expect(align(stored(after), [...edited, more, again]).fresh).toBe(edited.length + 1);
    // A turn that was put in is new, and so is what follows it.
    const between = [...list.slice(0, 12), ...chat([{ asked: "x", hasCall: false, answer: "y" }], 90)];
    expect(align(stored(list), [...between, ...list.slice(12)]).fresh).toBe(12);
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
    const [asked, reply] = list.slice(2) as [Message, Message];
    const other = newMessage({ role: "assistant", content: "e", toolCalls: [] });
    expect(align(stored([asked, reply]), [asked, other, asked, reply]).fresh).toBe(0);
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
});
