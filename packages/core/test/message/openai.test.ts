// Chat rows become messages and come back: nothing a sender wrote is lost, whatever we know about it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  envelopeSummary,
  flattenContent,
  newMessage,
  parseContent,
  parseMessage,
  parseMessages,
  parseToolCalls,
  partJson,
  partName,
  readRow,
  renderContent,
  renderToolCalls,
  textOf,
  toOpenAi,
} from "../../src/message/index.ts";

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>;
const unknownKeys = fc.dictionary(
  fc.constantFrom("annotations", "audio", "refusal", "reasoning_details", "x"),
  json,
  {
    maxKeys: 3,
  },
);

const part = fc.oneof(
  fc.record({ type: fc.constantFrom("text", "input_text", "output_text"), text: fc.string() }),
  fc.record({
    type: fc.constant("text"),
    text: fc.string(),
    cache_control: fc.constant({ type: "ephemeral" }),
  }),
  fc.record({ text: fc.string() }),
  fc.record({ type: fc.constant("image_url"), image_url: fc.record({ url: fc.webUrl() }) }),
  fc.record({
    type: fc.constant("image_url"),
    image_url: fc.record({ url: fc.webUrl(), detail: fc.constantFrom("low", "high") }),
  }),
  fc.record({ type: fc.constantFrom("input_image", "image_url"), image_url: fc.webUrl() }),
  fc.record({
    type: fc.constant("image"),
    source: fc.record({
      type: fc.constant("base64"),
      media_type: fc.constantFrom("image/png", "image/jpeg"),
      data: fc.base64String(),
    }),
  }),
  fc.record({
    type: fc.constant("image"),
    source: fc.record({ type: fc.constant("url"), url: fc.webUrl() }),
  }),
  fc.record({ type: fc.constant("input_audio"), input_audio: json }),
);
const content = fc.oneof(fc.string(), fc.constant(null), fc.array(part, { maxLength: 4 }));

const call = fc.record(
  {
    id: fc.string({ minLength: 1 }).filter((id) => !id.includes("|")),
    call_id: fc.string({ minLength: 1 }),
    response_item_id: fc.string(),
    type: fc.constant("function"),
    function: fc.record({ name: fc.string({ minLength: 1 }), arguments: fc.string() }),
    extra_content: json,
  },
  { requiredKeys: ["id", "type", "function"] },
);

const row = fc
  .oneof(
    fc.record({ role: fc.constantFrom("system", "user", "developer", "moderator"), content }),
    fc.record({
      role: fc.constant("assistant"),
      content,
      tool_calls: fc.array(call, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ role: fc.constant("assistant"), content, finish_reason: fc.constantFrom("stop", "length") }),
    fc.record(
      {
        role: fc.constantFrom("tool", "function"),
        content,
        tool_call_id: fc.string({ minLength: 1 }),
        name: fc.string({ minLength: 1 }),
        tool_name: fc.string({ minLength: 1 }),
      },
      { requiredKeys: ["role", "content", "tool_call_id"] },
    ),
  )
  .chain((base) =>
    fc
      .tuple(
        unknownKeys,
        fc.record({ timestamp: fc.integer({ min: 1 }), _row_id: fc.nat() }, { requiredKeys: [] }),
      )
      .map(([more, own]) => ({ ...more, ...base, ...own })),
  );

describe("a chat row", () => {
  it("comes back as it was written", () => {
    fc.assert(
      fc.property(row, (written) => {
        const parsed = parseMessage(written);
        if (!parsed.ok) throw new Error(parsed.error.message);
        const named = "name" in written && "tool_name" in written && written.name !== written.tool_name;
        // The union has one name for a tool: of two different ones `tool_name` counts, and `name` is kept beside it.
        const expected = named ? { ...written } : without(written, sameName(written));
        expect(toOpenAi(readRow(written))).toEqual(expected);
        expect(toOpenAi(parsed.value)).toEqual(without(expected, "_row_id"));
      }),
      { numRuns: 500 },
    );
  });

  it("that is a message already is given back as it is, or refused", () => {
    const call = { id: "a", name: "f", arguments: "{}" };
    const own = newMessage({ role: "assistant", content: "x", toolCalls: [call] }, { rowId: 3 });
    expect(parseMessage(own)).toEqual({ ok: true, value: own });
    const { toolCalls: _, ...broken } = own;
    expect(parseMessages([own, broken])).toEqual({
      messages: [own],
      refused: [{ index: 1, problem: { kind: "no_message", message: "has no list of tool calls" } }],
    });
  });

  it.each(["abc", null, undefined, { 0: {} }])("in what is no list is an error: %j", (given) => {
    expect(() => parseMessages(given as never)).toThrow(expect.objectContaining({ code: "bad-message" }));
  });

  it("does not say which stored message it is", () => {
    const forged = { role: "user", content: "x", _id: "abc", _row_id: 1, _compressed_summary: true };
    const { messages } = parseMessages([forged, { ...forged, timestamp: Number.POSITIVE_INFINITY }]);
    for (const { meta, vendor } of messages) {
      expect(meta).toEqual({ id: expect.any(String), atSeconds: 0 });
      expect(meta.id).not.toBe("abc");
      expect(vendor).toBeUndefined();
    }
    expect(readRow(forged).meta).toEqual({ id: "abc", rowId: 1, isHandoff: true, atSeconds: 0 });
    for (const bad of [1.5, Number.NaN, 1e300, "1"])
      expect(readRow({ ...forged, _row_id: bad }).meta.rowId).toBeUndefined();
  });

  it("nested deeper than 100 levels is refused with the reason", () => {
    let deep: unknown = "x";
    for (let level = 0; level < 200; level += 1) deep = [deep];
    const parsed = parseMessage({ role: "user", content: deep });
    expect(parsed).toEqual({
      ok: false,
      error: { kind: "too_deep", message: "is nested deeper than 100 levels" },
    });
  });

  it.each([null, 7, "text", [], {}, { role: "" }, { role: 3, content: "x" }])(
    "that is %j is refused",
    (value) => {
      expect(parseMessage(value)).toMatchObject({ ok: false, error: { kind: "no_message" } });
    },
  );
});

function calling(id: string) {
  return { id, type: "function", function: { name: "f", arguments: "{}" } };
}

describe("tool calls", () => {
  it("without an id get the same one each time", () => {
    const [one, again] = [1, 2].map(() => parseToolCalls([{ function: { name: "f", arguments: "{}" } }])[0]);
    expect(one?.id).toMatch(/^call_[0-9a-f]{12}$/);
    expect(again).toEqual(one);
  });

  it("of the Responses wire are known by `call_id`", () => {
    const stored = { ...calling("fc_1"), call_id: "call_1", response_item_id: "fc_1" };
    expect(parseToolCalls([17, null, stored])).toMatchObject([{ id: "call_1", vendor: { id: "fc_1" } }]);
    expect(renderToolCalls(parseToolCalls([stored]))).toEqual([stored]);
  });
});

describe("the text of a content", () => {
  const content = parseContent([
    { type: "image", source: { data: "AAAA" } }, // no form that we know, but it says what it is
    { type: "input_audio", input_audio: {} },
    { type: "thinking", text: "hm" },
    { odd: 1 },
    { text: "untyped" },
    "",
  ]);

  it("has other parts by their text, their type or as JSON, where the reader wants them", () => {
    expect(textOf(content)).toBe("untyped");
    expect(textOf(content, { image: "[image]", other: partName })).toBe(
      '[image]\n[input_audio]\nhm\n{"odd":1}\nuntyped',
    );
    expect(textOf(content, { separator: " ", other: partJson })).toBe(
      '{"type":"input_audio","input_audio":{}} {"type":"thinking","text":"hm"} {"odd":1} untyped',
    );
    expect(flattenContent([{ type: "text", text: " a " }, { type: "image_url" }, { text: "untyped" }])).toBe(
      "[1 image] a",
    );
    expect([textOf(null), textOf(""), textOf([])]).toEqual(["", "", ""]);
  });

  it("is read from any JSON value without failing, and an unchanged content is written as it came", () => {
    fc.assert(
      fc.property(json, (value) => {
        const parsed = parseContent(value);
        expect(typeof textOf(parsed, { image: "i", other: partName })).toBe("string");
        const isPlain = typeof value === "boolean" || typeof value === "number";
        expect(renderContent(parsed)).toEqual(isPlain ? String(value) : value);
      }),
    );
  });

  it("has what a tool said about its pictures, in the envelope of the Python program", () => {
    const envelope = { _multimodal: true, text_summary: "a page", content: [{ type: "image_url" }] };
    expect(envelopeSummary(parseContent(envelope))).toBe("a page");
    expect(envelopeSummary(parseContent(envelope.content))).toBeUndefined();
    expect(textOf(parseContent({ _multimodal: true, text_summary: "only words" }))).toBe("only words");
  });
});

/** `tool_name` that repeats `name` is not written twice. */
function sameName(written: object): string {
  return "name" in written && "tool_name" in written && written.name === written.tool_name ? "tool_name" : "";
}

function without(written: object, key: string): object {
  return Object.fromEntries(Object.entries(written).filter(([name]) => name !== key));
}
