// Reading replies off the bytes of vendors. The samples are hand-written after the vendors' references; the random ones are what our own
// writers write.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatWire } from "../../src/wires/chat.ts";
import { messagesWire } from "../../src/wires/messages.ts";
import { responsesWire } from "../../src/wires/responses.ts";
import type { ReplyEvent, Wire } from "../../src/wires/wire.ts";
import { joined, METADATA, readBody, reading, requestOf, START, streamed, USAGE } from "./wire-server.ts";

const WIRES: readonly (readonly [string, Wire, object])[] = [
  [
    "chat",
    chatWire,
    { messages: [{ role: "user", content: "hi" }], stream_options: { include_usage: true } },
  ],
  ["responses", responsesWire, { input: "hi" }],
  ["messages", messagesWire, { messages: [{ role: "user", content: "hi" }] }],
];

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function readAll(wire: Wire, text: string | readonly Uint8Array[], isStream = true) {
  const chunks = typeof text === "string" ? [bytes(text)] : text;
  if (!isStream) return readBody(wire, Buffer.concat(chunks));
  const reader = reading(wire);
  for (const chunk of chunks) reader.push(chunk);
  return reader.end();
}

function lines(...events: readonly (object | string)[]): string {
  return events
    .map((event) => (typeof event === "string" ? `data: ${event}\n\n` : `data: ${JSON.stringify(event)}\n\n`))
    .join("");
}

const call = fc.record({
  type: fc.constant("tool-call" as const),
  id: fc.uuid(),
  name: fc.stringMatching(/^[a-z]{1,8}$/),
  arguments: fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
});
const words = fc
  .string({ unit: "binary", minLength: 1, maxLength: 12 })
  .filter((text) => text.isWellFormed());
const event = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text: words }),
  fc.record({ type: fc.constant("reasoning" as const), text: words }),
  fc.constant({ type: "ping" as const }),
  call,
);

describe.each(WIRES)("the %s wire", (name, wire, body) => {
  const request = requestOf(wire, { model: "m", ...body });
  const wholeOf = (events: readonly Exclude<ReplyEvent, { type: "end" }>[], id: string): string =>
    JSON.stringify(
      wire.render(
        { ...START, id, ...joined(events), finish: "stop", usage: USAGE, metadata: METADATA },
        request,
      ),
    );

  it("reads what it writes, however the bytes are split, as a stream and as a body", () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 8 }),
        fc.array(fc.nat()),
        fc.boolean(),
        (events, cuts, isStream) => {
          const id = wire.newReplyId();
          const text = isStream ? streamed(wire, request, { events, usage: USAGE, id }) : wholeOf(events, id);
          const all = bytes(text);
          const places = [0, ...cuts.map((cut) => cut % (all.length + 1)), all.length].sort((a, b) => a - b);
          const pieces = places.slice(1).map((end, index) => all.slice(places[index], end));
          const [split, whole] = [readAll(wire, pieces, isStream), readAll(wire, text, isStream)];
          const plain = (reply: typeof split) =>
            reply && { ...reply, message: { ...reply.message, meta: undefined } };
          expect(plain(split)).toEqual(plain(whole));
          const { text: said, reasoning, toolCalls } = joined(events);
          const isKept = said.trim() !== "" || toolCalls.length > 0;
          if (!isKept) return;
          expect(whole).toMatchObject({ usage: USAGE });
          const message = whole?.message;
          const content = typeof message?.content === "string" ? message.content : "";
          // Several texts of one response are joined by a blank line.
          if (name === "responses") expect(content.replaceAll("\n\n", "")).toBe(said.replaceAll("\n\n", ""));
          else expect(content).toBe(said);
          if (name === "chat" && reasoning !== "") expect(message?.vendor?.reasoning_content).toBe(reasoning);
          const calls = message?.role === "assistant" ? message.toolCalls : [];
          expect(
            calls.map((each) => ({ ...each, arguments: JSON.parse(each.arguments), vendor: undefined })),
          ).toEqual(
            toolCalls.map((each) => ({ ...each, arguments: JSON.parse(each.arguments), vendor: undefined })),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  it("keeps the text of a reply that broke off, and not half of a call", () => {
    const writer = wire.writer({ ...START, id: wire.newReplyId() }, request);
    const text = writer.open() + writer.write({ type: "text", text: "Hel" });
    expect(readAll(wire, text)).toMatchObject({
      message: { content: "Hel", toolCalls: [] },
      finish: "interrupted",
    });
    const problem = { status: 502, code: "x", message: "It broke." } as const;
    expect(readAll(wire, text + writer.write({ type: "problem", problem }))).toMatchObject({
      message: { content: "Hel" },
      finish: "interrupted",
    });
  });

  it.each([true, false])("keeps nothing of an error, of garbage and of nothing (stream: %s)", (isStream) => {
    const error = JSON.stringify(wire.renderProblem({ status: 400, code: "x", message: "No." }));
    for (const text of [
      error,
      lines(error),
      "",
      "data: {",
      "[1]",
      "null",
      "<html>",
      "data: [DONE]\n\n",
      "\u0000",
    ])
      expect(readAll(wire, text, isStream)).toBeUndefined();
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.string(), (values, rest) => {
        readAll(wire, lines(...values.map((value) => JSON.stringify(value))) + rest);
        readAll(wire, JSON.stringify(values[0] ?? rest), false);
      }),
    );
  });
});

it("a chat reply of OpenRouter keeps its reasoning entries whole", () => {
  const chunk = (delta: object, finish: string | null = null): object => ({
    id: "gen-1",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const entry = { type: "reasoning.text", index: 0, format: "anthropic-claude-v1" };
  const reply = readAll(
    chatWire,
    lines(
      chunk({ role: "assistant", reasoning: "I ", reasoning_details: [{ ...entry, text: "I " }] }),
      chunk({ reasoning: "look.", reasoning_details: [{ ...entry, text: "look." }] }),
      chunk({ reasoning_details: [{ ...entry, signature: "sig" }] }),
      chunk({
        tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "look", arguments: "{" } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }),
      chunk({
        tool_calls: [{ index: 0, id: "b", type: "function", function: { name: "look", arguments: "{}" } }],
      }),
      chunk({}, "tool_calls"),
      "[DONE]",
    ),
  );
  expect(reply).toMatchObject({
    finish: "tool_calls",
    message: {
      toolCalls: [
        { id: "a", arguments: "{}" },
        { id: "b", arguments: "{}" },
      ],
      vendor: {
        reasoning: "I look.",
        reasoning_details: [{ type: "reasoning.text", text: "I look.", signature: "sig" }],
      },
    },
  });
});

it("a response with an empty last event is read from its items", () => {
  const item = {
    type: "message",
    id: "msg_1",
    role: "assistant",
    content: [{ type: "output_text", text: "Hello." }],
  };
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc" };
  const reply = readAll(
    responsesWire,
    lines(
      { type: "response.created", response: { id: "resp_1", model: "gpt" } },
      { type: "response.output_item.done", output_index: 1, item },
      { type: "response.output_item.done", output_index: 0, item: reasoning },
      {
        type: "response.completed",
        response: {
          id: "resp_1",
          status: "completed",
          output: [],
          usage: { input_tokens: 5, output_tokens: 2 },
        },
      },
    ),
  );
  expect(reply).toMatchObject({
    finish: "stop",
    itemIds: ["rs_1", "msg_1"],
    usage: { input: 5, output: 2 },
    message: {
      content: "Hello.",
      vendor: { codex_reasoning_items: [{ id: "rs_1", encrypted_content: "enc" }] },
    },
  });
});

it("a reply of Anthropic keeps its thinking with the signature, and the figures of its first and last event", () => {
  const reply = readAll(
    messagesWire,
    lines(
      {
        type: "message_start",
        message: { id: "msg_1", model: "c", usage: { input_tokens: 5, cache_read_input_tokens: 9 } },
      },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "thinking", thinking: "", signature: "" },
      },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "I look." } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig" } },
      { type: "content_block_stop", index: 0 },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "tool_use", id: "toolu_1", name: "look", input: {} },
      },
      { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a":' } },
      { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: "1}" } },
      { type: "content_block_stop", index: 1 },
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use" },
        usage: { output_tokens: 7, input_tokens: null },
      },
      { type: "message_stop" },
    ),
  );
  expect(reply).toMatchObject({
    finish: "tool_calls",
    usage: { input: 5, cacheRead: 9, output: 7 },
    message: {
      toolCalls: [{ id: "toolu_1", name: "look", arguments: '{"a":1}' }],
      vendor: { reasoning_details: [{ type: "thinking", thinking: "I look.", signature: "sig" }] },
    },
  });
});
