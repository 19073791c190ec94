import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { handoffText } from "../../src/context/compressor/handoff.ts";
import { fitMessages } from "../../src/context/fit.ts";
import { estimateMessages } from "../../src/context/tokens.ts";
import { type Message, newMessage, withMeta } from "../../src/message/index.ts";
import { notedResult, resultNote } from "../../src/sessions/index.ts";
import { alternating } from "../../testing/context-engine/lists.ts";
import { asMessage } from "./messages.ts";
import { expectNoNewRuns, expectPairs } from "./valid-list.ts";

const user = (content: string): Message => newMessage({ role: "user", content });
const reply = (content: string): Message => newMessage({ role: "assistant", content, toolCalls: [] });
/** A user message with words. An empty one asks for nothing, so it may leave the list like any other message. */
const isAsking = ({ role, content }: Message): boolean => role === "user" && content !== "";
const whereIs = ({ meta }: Message): string => `It is in row ${String(meta.rowId)}.`;
const call = (id: string, args = "{}"): Message =>
  newMessage({ role: "assistant", content: "", toolCalls: [{ id, name: "read_log", arguments: args }] });
const result = (id: string, content: unknown, row = 7): Message =>
  asMessage({ role: "tool", tool_call_id: id, content, _row_id: row });

describe("a list that must cost less", () => {
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

  it("then loses images, long arguments, older texts and the handoff, but never the newest user message", () => {
    const asked = user(`newest ${"w".repeat(2_000)}`);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const list: Message[] = [
      asMessage({
        role: "user",
        content: handoffText(`## Goal\n${"g".repeat(8_000)}`),
        _compressed_summary: true,
      }),
      reply("a".repeat(8_000)),
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

  const big = user(`newest ${"w".repeat(8_000)}`);
  const rounds = (count: number): Message[] =>
    Array.from({ length: count }, (_, at) => [
      call(`r${at}`),
      result(`r${at}`, "harbour ".repeat(900), at),
    ]).flat();
  const left = (list: readonly Message[]): string =>
    /\[\d+ messages? \(\d+ rounds? of tool calls\) left out here[^\]]*\]/.exec(JSON.stringify(list))?.[0] ??
    "";

  it("then loses the oldest rounds of the running turn, and says how many and where they are", () => {
    const list = [user("before"), reply("Yes."), big, ...rounds(20)];
    const once = fitMessages(list, 3_200, whereIs, { whereLeft: "Look in the archive." });
    expect(estimateMessages(once.messages)).toBeLessThanOrEqual(3_200);
    expect(once.messages).toContain(big);
    expect(once.leftOut).toBeGreaterThan(20);
    expect(once.messages.at(-1)).toMatchObject({ role: "tool", toolCallId: "r19" });
    expect(once.messages.length).toBeGreaterThan(6);
    expectPairs(once.messages);
    expect(left(once.messages)).toContain(`[${once.leftOut} messages (${once.leftOut / 2 - 1} rounds`);
    expect(left(once.messages)).toContain("Look in the archive.");
    // After a second cut, one note counts both.
    const more = [...once.messages, call("z"), result("z", "boat ".repeat(900))];
    const twice = fitMessages(more, 3_000, whereIs, { whereLeft: "Look in the archive." });
    expect(JSON.stringify(twice.messages).match(/left out here so that/g)?.length).toBeGreaterThan(0);
    expect(left(twice.messages)).toContain(`[${once.leftOut + twice.leftOut} messages `);
    expect(twice.messages.filter(({ meta }) => meta.isHandoff)).toHaveLength(1);
  });

  it("keeps the newest round, with little more than a note, and a brief handoff when a server has refused it", () => {
    const handoff = asMessage({
      role: "user",
      content: handoffText("g".repeat(2_000)),
      _compressed_summary: true,
    });
    const list = [handoff, reply("Yes."), big, ...rounds(5)];
    const { messages } = fitMessages(list, 0, whereIs, { isRefused: true });
    expect(messages.map(({ role }) => role)).toEqual(["assistant", "user", "assistant", "tool"]);
    expect(messages[1]).toBe(big);
    expect(messages[3]?.content).toBe("[Left out. It is in row 4.]");
    expect(estimateMessages(messages) - estimateMessages([big])).toBeLessThan(150);
    // Nothing is left to cut.
    expect(fitMessages(messages, 0, whereIs, { isRefused: true }).messages).toBe(messages);
  });

  it("cuts an older user message of several parts", () => {
    const parts = [
      { type: "text", text: "x".repeat(20_000) },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ];
    const list = [asMessage({ role: "user", content: parts }), reply("Seen."), big];
    const once = fitMessages(list, 4_000, whereIs);
    expect(once.leftOut).toBe(0);
    // The text that replaces the image is a separate part.
    const twice = fitMessages(once.messages, 2_400, whereIs);
    expect(twice.leftOut).toBe(0);
    expect(estimateMessages(twice.messages)).toBeLessThanOrEqual(2_400);
  });

  it("has one note when a result that is kept in a file is cut again and again", () => {
    const note = resultNote({ id: "a-0123abcd", chars: 60_000, shownChars: 8_000, reader: "read_result" });
    let list = [user("read"), call("a"), result("a", `${"rope ".repeat(1_600)}\n\n${note}`)];
    const whereKept = (message: Message): string =>
      `All of it is kept as result ${notedResult(message.content, "a")?.id}: read it in parts with read_result.`;
    for (const limit of [1_000, 500, 200, 0]) {
      list = [...fitMessages(list, limit, whereKept, { isRefused: true }).messages];
      const text = String(list[2]?.content);
      expect(text.match(/read_result/g)).toHaveLength(1);
      expect(text.match(/\[\.\.\. /g) ?? []).toHaveLength(limit > 0 ? 1 : 0);
      expect(text.replaceAll(/\[[^\]]*\]/g, "")).toMatch(/^[rope\s]*$/);
      expect(notedResult(text, "a")).toEqual({ id: "a-0123abcd", chars: 60_000 });
    }
  });

  it("keeps the newest message in which the user said something, not an empty one behind it", () => {
    const asked = user("Read the log.");
    const empty = user("");
    const list = [user("first"), reply("Yes."), asked, reply("Reading."), empty, ...rounds(3)].map(
      (message, at) => withMeta(message, { rowId: at }),
    );
    const { messages, leftOut } = fitMessages(list, 0, whereIs, { isRefused: true });
    expect(leftOut).toBeGreaterThan(0);
    expect(messages.findLast(isAsking)).toBe(list[2]);
    expect(messages.filter(({ role, content }) => role === "user" && content === "")).toEqual([]);
    expectNoNewRuns(list, messages);
    expectPairs(messages);
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
      fc.property(messages, fc.nat(10_000), fc.boolean(), (groups, limit, isRefused) => {
        const list = [user("first"), ...groups.flat()].map((message, at) => withMeta(message, { rowId: at }));
        const fitted = fitMessages(list, limit, whereIs, { isRefused });
        const handoffs = fitted.messages.filter(({ meta }) => meta.isHandoff).length;
        expect(handoffs).toBe(fitted.leftOut > 0 ? 1 : 0);
        expectNoNewRuns(list, fitted.messages);
        expect(estimateMessages(fitted.messages)).toBeLessThanOrEqual(
          Math.max(limit, estimateMessages(list)),
        );
        expectPairs(fitted.messages);
        expect(fitted.messages.findLast(isAsking)).toBe(list.findLast(isAsking));
      }),
      { numRuns: 60 },
    );
  });
});
