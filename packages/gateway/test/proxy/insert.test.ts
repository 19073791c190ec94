// Named insertions into a client's body: nothing else of it changes, and a later request repeats them byte for byte.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listOf, prefixMarks, questionOf, saidIn, sentIn, stretchesOf } from "../../src/proxy/chain.ts";
import { type HiddenRounds, type Insertions, insert, NOTHING } from "../../src/proxy/insert.ts";
import type { JsonObject } from "../../src/types.ts";
import type { WireName } from "../../src/wires/wire.ts";

const chainOf = (...args: Parameters<typeof sentIn>) => sentIn(...args).map(({ hash }) => hash);
const BLOCK = '<memory>\nThe kiln is in "room 4".\n</memory>';
const RECALL = "<memory-context>\nQuoted: glaze №7\n</memory-context>";
const TOOL = { name: "memory", description: "Keeps notes.", parameters: { type: "object", properties: {} } };

function inserted(wire: WireName, body: unknown, insertions: Partial<Insertions>): JsonObject {
  return JSON.parse(insert(wire, JSON.stringify(body), { ...NOTHING, ...insertions })) as JsonObject;
}

describe("the memory block", () => {
  it("is a new text block at the end of Anthropic's system, however that is spelled", () => {
    const block = { type: "text", text: BLOCK };
    const own = { type: "text", text: "Be short.", cache_control: { type: "ephemeral" } };
    const system = (given: unknown) =>
      inserted(
        "messages",
        { model: "m", ...(given === undefined ? {} : { system: given }), messages: [] },
        { block: BLOCK },
      ).system;
    expect(system(undefined)).toEqual([block]);
    expect(system(null)).toEqual([block]);
    expect(system([])).toEqual([block]);
    expect(system("")).toBe(BLOCK);
    expect(system("Be short.")).toEqual([{ type: "text", text: "Be short." }, block]);
    expect(system([own])).toEqual([own, block]);
  });

  it("is added to the last instruction in front of a chat, or a message of its own", () => {
    const messages = (list: readonly unknown[]) =>
      inserted("chat", { messages: list }, { block: BLOCK }).messages;
    const user = { role: "user", content: "Hello" };
    expect(messages([user])).toEqual([{ role: "system", content: BLOCK }, user]);
    expect(messages([{ role: "system", content: "A" }, { role: "developer", content: "B" }, user])).toEqual([
      { role: "system", content: "A" },
      { role: "developer", content: `B\n\n${BLOCK}` },
      user,
    ]);
    expect(messages([{ role: "system", content: [{ type: "text", text: "A" }] }, user])).toEqual([
      {
        role: "system",
        content: [
          { type: "text", text: "A" },
          { type: "text", text: BLOCK },
        ],
      },
      user,
    ]);
    expect(messages([])).toEqual([{ role: "system", content: BLOCK }]);
    const empty = inserted(
      "chat",
      {
        messages: [
          { role: "system", content: [] },
          { role: "user", content: [] },
        ],
      },
      { block: BLOCK, recalls: [{ index: 1, text: RECALL }] },
    );
    expect(empty.messages).toEqual([
      { role: "system", content: [{ type: "text", text: BLOCK }] },
      { role: "user", content: [{ type: "text", text: RECALL }] },
    ]);
  });

  it("is appended to the instructions of the Responses API, and a developer message for Codex", () => {
    const body = { instructions: "Be short.", input: [{ role: "user", content: "Hello" }] };
    expect(inserted("responses", body, { block: BLOCK }).instructions).toBe(`Be short.\n\n${BLOCK}`);
    expect(inserted("responses", { input: "Hello" }, { block: BLOCK })).toEqual({
      instructions: BLOCK,
      input: "Hello",
    });
    const codex = JSON.parse(
      insert("responses", JSON.stringify(body), { ...NOTHING, block: BLOCK, isBlockMessage: true }),
    );
    expect(codex.instructions).toBe("Be short.");
    expect(codex.input).toEqual([
      { type: "message", role: "developer", content: [{ type: "input_text", text: BLOCK }] },
      { role: "user", content: "Hello" },
    ]);
  });
});

describe("recall", () => {
  it("is a text part at the end of its message, or the end of a chat's text", () => {
    const at = { recalls: [{ index: 0, text: RECALL }] };
    const said = (wire: WireName, content: unknown) => {
      const list = [{ role: "user", content }];
      const body = inserted(wire, wire === "responses" ? { input: list } : { messages: list }, at);
      return listOf(wire, body)[0]?.content;
    };
    expect(said("chat", "Hi")).toBe(`Hi\n\n${RECALL}`);
    const text = { type: "text", text: "Hi" };
    expect(said("chat", [text])).toEqual([text, { type: "text", text: RECALL }]);
    expect(said("messages", "Hi")).toEqual([text, { type: "text", text: RECALL }]);
    expect(said("messages", [text])).toEqual([text, { type: "text", text: RECALL }]);
    const input = { type: "input_text", text: "Hi" };
    expect(said("responses", "Hi")).toEqual([input, { type: "input_text", text: RECALL }]);
    expect(inserted("responses", { input: "Hi" }, at).input).toEqual([
      { type: "message", role: "user", content: [input, { type: "input_text", text: RECALL }] },
    ]);
  });

  it("belongs to the newest message only if the user wrote it", () => {
    const user = (content: unknown) => ({ role: "user", content });
    const text = (words: string) => ({ type: "text", text: words });
    expect(questionOf([user("One"), { role: "assistant", content: "Two" }, user("Three")])).toEqual({
      index: 2,
      text: "Three",
    });
    expect(questionOf([user("One"), { role: "system", content: "Today is Monday." }])).toEqual({
      index: 0,
      text: "One",
    });
    expect(
      questionOf([
        user("One"),
        { role: "assistant", content: null, tool_calls: [] },
        { role: "tool", content: "2" },
      ]),
    ).toBeUndefined();
    expect(
      questionOf([user([{ type: "tool_result", tool_use_id: "t", content: "2" }, text("and this")])]),
    ).toBeUndefined();
    expect(questionOf([user("<system-reminder>\nTodos are empty.\n</system-reminder>")])).toBeUndefined();
    expect(saidIn(user([text("<system-reminder>x</system-reminder>"), text("Fire the kiln")]))).toBe(
      "Fire the kiln",
    );
    expect(
      questionOf([
        user([{ type: "input_text", text: "<environment_context>\n<cwd>/x</cwd>\n</environment_context>" }]),
      ]),
    ).toBeUndefined();
    expect(questionOf([{ type: "function_call_output", call_id: "c", output: "2" }])).toBeUndefined();
    expect(questionOf([])).toBeUndefined();
  });
});

describe("our tools", () => {
  it("stand at the end of the client's tools", () => {
    const mine = { name: "look", input_schema: {}, cache_control: { type: "ephemeral" } };
    expect(inserted("messages", { tools: [mine], messages: [] }, { tools: [TOOL] }).tools).toEqual([
      mine,
      { name: "memory", description: "Keeps notes.", input_schema: TOOL.parameters },
    ]);
    expect(inserted("chat", { messages: [] }, { tools: [TOOL] }).tools).toEqual([
      { type: "function", function: TOOL },
    ]);
    expect(inserted("responses", { input: "", tools: null }, { tools: [TOOL] }).tools).toEqual([
      { type: "function", ...TOOL, strict: false },
    ]);
  });
});

// ---- Nothing else changes ----

const name = fc
  .string({ minLength: 1, maxLength: 6 })
  .filter((key) => key !== "cache_control" && key !== "__proto__");
const plain = fc.jsonValue({ maxDepth: 2 });
const extras = fc.dictionary(
  name.map((key) => `x_${key}`),
  plain,
  { maxKeys: 3 },
);
const marker = fc.constantFrom({}, { cache_control: { type: "ephemeral" } });
const textPart = fc
  .tuple(fc.string({ minLength: 1, unit: "grapheme" }), marker, extras)
  .map(([text, mark, rest]) => ({ type: "text", text, ...mark, ...rest }));
const content = fc.oneof(fc.string(), fc.array(textPart, { maxLength: 3 }), fc.constant(null));
const message = fc
  .tuple(fc.constantFrom("system", "user", "assistant"), content, extras)
  .map(([role, said, rest]) => ({ role, content: said, ...rest }));
const anyBody = fc
  .tuple(fc.array(message, { maxLength: 5 }), fc.option(content), extras, extras)
  .map(([list, system, before, after]) => ({ list, system, before, after }));

function bodyText(
  wire: WireName,
  { list, system, before, after }: { list: unknown; system: unknown; before: object; after: object },
  space: number | undefined,
): string {
  const key = wire === "responses" ? "input" : "messages";
  const top =
    wire === "chat" || system === null ? {} : { [wire === "messages" ? "system" : "instructions"]: system };
  // A number that no double holds, and one that is written differently.
  const text = JSON.stringify(
    { ...before, big: "a BIG number", one: "a NUMBER", ...top, [key]: list, ...after },
    undefined,
    space,
  );
  return text.replace('"a BIG number"', "12345678901234567890123").replace('"a NUMBER"', "1.0e2");
}

function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (let index = 0; index < whole.length && at < part.length; index += 1)
    if (whole[index] === part[at]) at += 1;
  return at === part.length;
}

describe.each(["chat", "messages", "responses"] as const)("any body of %s", (wire) => {
  it("is the body again when the insertions are taken out", () => {
    fc.assert(
      fc.property(anyBody, fc.constantFrom(undefined, 1), fc.nat(4), (given, space, index) => {
        const text = bodyText(wire, given, space);
        const body = JSON.parse(text) as JsonObject;
        const isUsers = listOf(wire, body)[index]?.role === "user";
        const recalls = isUsers ? [{ index, text: RECALL }] : [];
        const out = insert(wire, text, { ...NOTHING, block: BLOCK, recalls, tools: [TOOL] });
        expect(isSubsequence(text, out)).toBe(true);
        expect(out).toContain("12345678901234567890123");
        expect(out).toContain("1.0e2");
        expect(out.split('"cache_control"').length).toBe(text.split('"cache_control"').length);
        const parsed = JSON.parse(out) as Record<string, unknown>;
        const { tools: _, system: __, instructions: ___, messages: ____, input: _____, ...rest } = parsed;
        const { system, instructions, messages, input, ...own } = body;
        expect(rest).toEqual(own);
        expect(Object.keys(rest)).toEqual(Object.keys(own));
      }),
      { numRuns: 150 },
    );
  });

  it("has hashes that cache markers and the spelling of a content do not change", () => {
    fc.assert(
      fc.property(anyBody, (given) => {
        const body = JSON.parse(bodyText(wire, given, undefined)) as JsonObject;
        const moved = JSON.parse(JSON.stringify(body), (_, value: unknown) => {
          if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
          const { cache_control: _mark, ...rest } = value as Record<string, unknown>;
          const said = rest.content;
          return typeof said === "string" && said !== ""
            ? { ...rest, content: [{ type: "text", text: said, cache_control: {} }] }
            : rest;
        }) as JsonObject;
        expect(chainOf(wire, moved)).toEqual(chainOf(wire, body));
      }),
      { numRuns: 100 },
    );
  });

  it("has the hashes of the shorter conversation at the beginning of its own", () => {
    fc.assert(
      fc.property(anyBody, fc.array(message, { maxLength: 3 }), (given, more) => {
        const body = JSON.parse(bodyText(wire, given, undefined)) as JsonObject;
        const longer = JSON.parse(
          bodyText(wire, { ...given, list: [...given.list, ...more] }, 2),
        ) as JsonObject;
        const chain = chainOf(wire, body);
        expect(chainOf(wire, longer).slice(0, chain.length)).toEqual(chain);
      }),
      { numRuns: 60 },
    );
  });
});

describe("hashes", () => {
  const user = (content: unknown) => ({ role: "user", content });
  it("tell conversations with other orders and ends apart", () => {
    const last = (body: JsonObject) => chainOf("messages", body).at(-1);
    const all = [
      { messages: [user("a"), user("b")] },
      { messages: [user("ab")] },
      { messages: [user("b"), user("a")] },
      { messages: [user("a"), { role: "assistant", content: "b" }] },
      { messages: [user([{ type: "image", source: { data: "x" } }])] },
    ];
    expect(new Set(all.map(last)).size).toBe(all.length);
  });

  it("are no marks before the first reply: many conversations begin alike", () => {
    expect(prefixMarks("chat", { messages: [{ role: "system", content: "S" }, user("hi")] })).toEqual([]);
    const marks = prefixMarks("chat", {
      messages: [user("hi"), { role: "assistant", content: "Hello" }, user("x")],
    });
    expect(marks).toHaveLength(2);
  });
});

// ---- Hidden rounds ----

describe("hidden rounds", () => {
  const json = (value: unknown) => JSON.stringify(value);
  const put = (
    wire: WireName,
    list: readonly JsonObject[],
    round: Partial<Record<keyof HiddenRounds, object[]>>,
  ) => {
    const { before = [], last = [], results = [] } = round;
    const body = wire === "responses" ? { input: list } : { messages: list };
    const [stretch] = stretchesOf(wire, body);
    if (stretch === undefined) throw new Error("no reply");
    const whole = { before: before.map(json), last: last.map(json), results: results.map(json) };
    return listOf(wire, inserted(wire, body, { rounds: [{ ...stretch, round: whole }] }));
  };
  const asked = { role: "user", content: "Q" };
  const next = { role: "user", content: "R" };

  it("stand in front of the last reply, which is the model's own instead of the client's copy", () => {
    const call = { role: "assistant", content: "Let me look.", tool_calls: [{ id: "c1" }] };
    const result = { role: "tool", tool_call_id: "c1", content: "{}" };
    const copy = { role: "assistant", content: "Let me look.\n\nIt is blue." };
    const last = { role: "assistant", content: "It is blue.", reasoning: "?" };
    const list = [asked, copy, next];
    expect(put("chat", list, { before: [call, result], last: [last] })).toEqual([
      asked,
      call,
      result,
      last,
      next,
    ]);
    // As 0.3.0 and before have kept them
    expect(put("chat", list, { before: [call, result] })).toEqual([asked, call, result, copy, next]);
    const item = (id: string, text: string) => ({
      type: "message",
      role: "assistant",
      id,
      content: [{ text }],
    });
    const reasoning = { type: "reasoning", id: "r2", summary: [] };
    const items = [asked, item("m1", "A"), item("m2", "B"), next];
    const round = { before: [item("m1", "A")], last: [reasoning, item("m2", "B")] };
    expect(put("responses", items, round)).toEqual([
      asked,
      item("m1", "A"),
      reasoning,
      item("m2", "B"),
      next,
    ]);
  });

  it("have the client's ids of its calls", () => {
    const use = (id: string, name: string) => ({ type: "tool_use", id, name, input: {} });
    const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "1" });
    const said = (...content: readonly object[]) => ({ role: "assistant", content });
    const list = [asked, said(use("new", "look")), { role: "user", content: [result("new")] }];
    const last = [said(use("c1", "memory"), use("c2", "look"))];
    const round = { last, results: [result("c1")] };
    expect(put("messages", list, round).slice(1)).toEqual([
      said(use("c1", "memory"), use("new", "look")),
      { role: "user", content: [result("c1"), result("new")] },
    ]);
    // Without the client's results the batch is not complete, and with other calls the copy is of another reply.
    const without = [asked, said(use("new", "look")), next];
    expect(put("messages", without, round)).toEqual(without);
    expect(put("messages", list, { last: [said(use("c2", "look"), use("c3", "look"))] })).toEqual(list);
    const chat = [
      { role: "assistant", content: null, tool_calls: [{ id: "theirs" }] },
      { role: "tool", tool_call_id: "theirs", content: "1" },
    ];
    const both = { role: "assistant", content: null, tool_calls: [{ id: "ours" }, { id: "theirs" }] };
    const ours = { role: "tool", tool_call_id: "ours", content: "2" };
    expect(put("chat", chat, { last: [both], results: [ours] })).toEqual([both, ours, chat[1]]);
  });
});
