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
      insert("responses", JSON.stringify(body), { ...NOTHING, block: BLOCK }, { isBlockMessage: true }),
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
  const put = (wire: WireName, list: readonly JsonObject[], round: Partial<HiddenRounds>) => {
    const whole = { before: [], shown: [], calls: [], results: [], ...round };
    const body = wire === "responses" ? { input: list } : { messages: list };
    const [stretch] = stretchesOf(wire, body);
    if (stretch === undefined) throw new Error("no reply");
    return listOf(wire, inserted(wire, body, { rounds: [{ ...stretch, round: whole }] }));
  };
  const json = (value: unknown) => JSON.stringify(value);

  it("stand in front of the reply, which loses what they showed", () => {
    const call = { role: "assistant", content: "Let me look.", tool_calls: [{ id: "c1" }] };
    const result = { role: "tool", tool_call_id: "c1", content: "{}" };
    const list = [
      { role: "user", content: "Q" },
      { role: "assistant", content: "Let me look.\n\nIt is blue." },
      { role: "user", content: "R" },
    ];
    const shown = [json({ type: "text", text: "Let me look." })];
    expect(put("chat", list, { before: [json(call), json(result)], shown })).toEqual([
      list[0],
      call,
      result,
      { role: "assistant", content: "It is blue." },
      list[2],
    ]);
  });

  it("take reasoning out of Anthropic's blocks by its signature, and out of joined texts", () => {
    const thinking = (words: string) => ({ type: "thinking", thinking: words, signature: `sig-${words}` });
    const text = (words: string) => ({ type: "text", text: words });
    const before = [
      json({ role: "assistant", content: [thinking("a"), text("A"), { type: "tool_use", id: "t1" }] }),
      json({ role: "user", content: [] }),
    ];
    const shown = [json(thinking("a")), json(text("A"))];
    const reply = (content: unknown) =>
      put(
        "messages",
        [
          { role: "user", content: "Q" },
          { role: "assistant", content },
        ],
        { before, shown },
      ).at(-1);
    expect(reply([thinking("a"), text("A"), thinking("b"), { ...text("B"), cache_control: {} }])).toEqual({
      role: "assistant",
      content: [thinking("b"), { ...text("B"), cache_control: {} }],
    });
    expect(reply([text("A"), text("B")])).toEqual({ role: "assistant", content: [text("B")] });
    expect(reply([text("AB")])).toEqual({ role: "assistant", content: [text("B")] });
    expect(reply("A\nB")).toEqual({ role: "assistant", content: "B" });
    expect(reply("A")).toEqual({ role: "assistant", content: "A" });
  });

  it("take items of the Responses API out by their ids", () => {
    const reasoning = (id: string) => ({ type: "reasoning", id, summary: [] });
    const said = (id: string, text: string) => ({
      type: "message",
      role: "assistant",
      id,
      content: [{ type: "output_text", text }],
    });
    const list = [
      { role: "user", content: "Q" },
      reasoning("r1"),
      said("m1", "A"),
      reasoning("r2"),
      said("m2", "B"),
      { role: "user", content: "R" },
    ];
    const call = { type: "function_call", call_id: "c1", name: "memory", arguments: "{}" };
    const out = { type: "function_call_output", call_id: "c1", output: "{}" };
    const before = [reasoning("r1"), said("m1", "A"), call, out].map(json);
    expect(put("responses", list, { before, shown: [json(reasoning("r1")), json(said("m1", "A"))] })).toEqual(
      [list[0], reasoning("r1"), said("m1", "A"), call, out, reasoning("r2"), said("m2", "B"), list[5]],
    );
  });

  it("join our calls and results with the client's", () => {
    const use = (id: string) => ({ type: "tool_use", id, name: id, input: {} });
    const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "1" });
    const list = [
      { role: "user", content: "Q" },
      { role: "assistant", content: [use("theirs")] },
      { role: "user", content: [result("theirs")] },
    ];
    const round = { calls: [json(use("ours"))], results: [json(result("ours"))] };
    expect(put("messages", list, round).slice(1)).toEqual([
      { role: "assistant", content: [use("theirs"), use("ours")] },
      { role: "user", content: [result("ours"), result("theirs")] },
    ]);
    // Without the client's results the batch is not complete: then it is sent as the client tells it.
    expect(
      put("messages", [...list.slice(0, 2), { role: "user", content: "Never mind" }], round).slice(1, 2),
    ).toEqual(list.slice(1, 2));
    const chat = [
      { role: "assistant", content: null, tool_calls: [{ id: "theirs" }] },
      { role: "tool", tool_call_id: "theirs", content: "1" },
    ];
    expect(
      put("chat", chat, {
        calls: [json({ id: "ours" })],
        results: [json({ role: "tool", tool_call_id: "ours" })],
      }),
    ).toEqual([
      { role: "assistant", content: null, tool_calls: [{ id: "theirs" }, { id: "ours" }] },
      { role: "tool", tool_call_id: "ours" },
      chat[1],
    ]);
  });
});
