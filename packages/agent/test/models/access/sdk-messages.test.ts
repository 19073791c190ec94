// Converting messages to the SDK's and back.
import type { LanguageModelV4Message, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type OpenAiMessage, parseMessages } from "@hermes-memory/core/internal/message";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Collector } from "../../../src/models/access/collect-reply.ts";
import { toAssistantMessage, toSdkPrompt, wireTraits } from "../../../src/models/access/sdk-messages.ts";
import type { ApiMode } from "../../../src/models/index.ts";
import { type ChatRow, chatRow } from "../../messages.ts";

const MODES: readonly ApiMode[] = ["anthropic_messages", "chat_completions", "responses", "google"];

function wire(apiMode: ApiMode, model = "m") {
  return wireTraits({ model, provider: "custom", apiMode, baseUrl: "" });
}

function prompt(rows: readonly ChatRow[], apiMode: ApiMode = "chat_completions") {
  return toSdkPrompt(parseMessages(rows).messages, wire(apiMode));
}

type Assistant = Extract<LanguageModelV4Message, { role: "assistant" }>;

/** The stream of a server that replied with exactly these parts. */
function streamOf({ content }: Assistant, cut: number): LanguageModelV4StreamPart[] {
  const parts = content.flatMap((part, index): LanguageModelV4StreamPart[] => {
    const id = String(index);
    const meta = { ...("providerOptions" in part ? { providerMetadata: part.providerOptions ?? {} } : {}) };
    if (part.type === "tool-call") {
      const input = typeof part.input === "string" ? part.input : JSON.stringify(part.input);
      return [{ type: "tool-call", toolCallId: part.toolCallId, toolName: part.toolName, input, ...meta }];
    }
    if (part.type !== "text" && part.type !== "reasoning") return [];
    const [head, tail] = [part.text.slice(0, cut), part.text.slice(cut)];
    const end = { type: `${part.type}-end` as const, id, ...meta };
    const deltas = [head, tail].map((delta) => ({ type: `${part.type}-delta` as const, id, delta }));
    return [{ type: `${part.type}-start`, id }, ...deltas, end] as LanguageModelV4StreamPart[];
  });
  return parts;
}

function heard(parts: readonly LanguageModelV4StreamPart[], apiMode: ApiMode): OpenAiMessage {
  const collector = new Collector(wire(apiMode));
  const none = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
  for (const part of parts) collector.add(part);
  collector.add({
    type: "finish",
    finishReason: { unified: "stop", raw: "stop" },
    usage: { inputTokens: none, outputTokens: none },
  });
  return chatRow(toAssistantMessage(collector.reply(), wire(apiMode)));
}

const word = fc.stringMatching(/^[a-z][a-z0-9 ]{0,12}$/);
const opaque = fc.stringMatching(/^[A-Za-z0-9+/]{4,12}$/);
const prose = fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => text.replaceAll("<", ""));
const call = fc.record({
  id: fc.stringMatching(/^call_[a-z0-9]{4}$/),
  name: fc.stringMatching(/^[a-z_]{1,8}$/),
  args: fc.dictionary(word, fc.jsonValue()),
});

/** A stored reply with details of every wire at once: a session may have changed its model. */
const stored: fc.Arbitrary<ChatRow> = fc
  .record({
    content: prose,
    thinking: fc.array(fc.record({ thinking: prose, signature: opaque }), { maxLength: 2 }),
    redacted: fc.option(opaque, { nil: undefined }),
    items: fc.uniqueArray(
      fc.record({ id: opaque, encrypted: opaque, texts: fc.array(word, { maxLength: 2 }) }),
      {
        maxLength: 2,
        selector: ({ id }) => id,
      },
    ),
    signature: fc.option(opaque, { nil: undefined }),
    calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
  })
  .map(({ content, thinking, redacted, items, signature, calls }) => ({
    role: "assistant",
    content,
    reasoning_details: [
      ...thinking.map((entry) => ({ type: "thinking", ...entry })),
      ...(redacted === undefined ? [] : [{ type: "redacted_thinking", data: redacted }]),
      ...(signature === undefined
        ? []
        : [{ type: "google.thought_signature", part: "text", thought_signature: signature }]),
    ],
    codex_reasoning_items: items.map(({ id, encrypted, texts }) => ({
      type: "reasoning",
      id,
      encrypted_content: encrypted,
      summary: texts.map((text) => ({ type: "summary_text", text })),
    })),
    tool_calls: calls.map(({ id, name, args }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
      extra_content: signature === undefined ? undefined : { google: { thought_signature: signature } },
    })),
  }));

describe.each(MODES)("over %s", (apiMode) => {
  it("what came back and is sent again gives the same parts", () => {
    fc.assert(
      fc.property(stored, fc.nat({ max: 20 }), (message, cut) => {
        const [sent] = prompt([message], apiMode);
        if (sent?.role !== "assistant") return; // the message is not sent
        const again = prompt([heard(streamOf(sent, cut), apiMode)], apiMode);
        expect(again).toEqual([sent]);
      }),
    );
  });

  it("takes whatever a message may hold", () => {
    const anything = fc.record(
      {
        role: fc.constantFrom(
          "system",
          "user",
          "assistant",
          "tool",
          "function",
          "developer",
          "session_meta",
          "",
        ),
        content: fc
          .oneof(fc.anything({ withBigInt: false }), fc.string())
          .filter((value) => typeof value !== "symbol"),
        tool_calls: fc.anything(),
        tool_call_id: fc.oneof(fc.string(), fc.integer()),
        reasoning_details: fc.anything(),
        codex_reasoning_items: fc.array(fc.jsonValue()),
        codex_message_items: fc.array(fc.jsonValue()),
        cache_control: fc.anything(),
      },
      { requiredKeys: ["role"] },
    );
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 4 }), (messages) => {
        const once = JSON.stringify(prompt(messages, apiMode));
        expect(JSON.stringify(prompt(messages, apiMode))).toBe(once);
      }),
    );
  });
});

describe("the prompt", () => {
  it("keeps a later system message where the wire has a place for it; elsewhere it becomes the user's", () => {
    const messages = ["system", "user", "system"].map((role, index) => ({ role, content: `${index}` }));
    const roles = (mode: ApiMode) => prompt(messages, mode).map(({ role }) => role);
    const keeping: readonly ApiMode[] = ["chat_completions", "responses"];
    for (const mode of MODES)
      expect(roles(mode), mode).toEqual(["system", "user", keeping.includes(mode) ? "system" : "user"]);
  });

  it("knows images by address and inline, and shows other parts as text", () => {
    const content = [
      { type: "text", text: "See" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image_url", image_url: { url: "https://example.com/a.webp?x=1" } },
      { type: "image_url", image_url: { url: "not an address" } },
      { type: "strange", value: 1 },
    ];
    const [message] = prompt([{ role: "user", content }]);
    expect(message?.content).toEqual([
      { type: "text", text: "See" },
      { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
      {
        type: "file",
        mediaType: "image/webp",
        data: { type: "url", url: new URL("https://example.com/a.webp?x=1") },
      },
      { type: "text", text: JSON.stringify(content[3]) },
      { type: "text", text: '{"type":"strange","value":1}' },
    ]);
  });

  it("gives Anthropic ids it takes, for call and result alike", () => {
    const calls = [{ id: "functions.measure:0", function: { name: "measure", arguments: "{}" } }];
    const messages = [
      { role: "assistant", content: "", tool_calls: calls },
      { role: "tool", tool_call_id: "functions.measure:0", content: "40 m" },
    ];
    const ids = (mode: ApiMode) =>
      prompt(messages, mode).map(({ content }) => (content[0] as { toolCallId: string }).toolCallId);
    expect(ids("anthropic_messages")).toEqual(["functions_measure_0", "functions_measure_0"]);
    expect(ids("chat_completions")).toEqual(["functions.measure:0", "functions.measure:0"]);
  });

  it("keeps the phases of a reply apart, unless its text was changed since", () => {
    const items = [
      { type: "message", id: "m1", phase: "commentary", content: [{ type: "output_text", text: "I look." }] },
      { type: "message", id: "m2", phase: "final_answer", content: [{ type: "output_text", text: "40 m" }] },
    ];
    const sent = (content: string) =>
      prompt([{ role: "assistant", content, codex_message_items: items }], "responses")[0]?.content;
    expect(sent("I look.\n\n40 m")).toEqual([
      { type: "text", text: "I look.", providerOptions: { openai: { itemId: "m1", phase: "commentary" } } },
      { type: "text", text: "40 m", providerOptions: { openai: { itemId: "m2", phase: "final_answer" } } },
    ]);
    expect(sent("40 m")).toEqual([{ type: "text", text: "40 m" }]);
  });
});

describe("what vouches for a thought", () => {
  it("is sent exactly as it is stored", () => {
    const details = [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "redacted_thinking", data: "aGlkZGVu" },
    ];
    const [sent] = prompt(
      [{ role: "assistant", content: "hi", reasoning_details: details }],
      "anthropic_messages",
    );
    expect(sent?.content).toEqual([
      { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "c2ln" } } },
      { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "aGlkZGVu" } } },
      { type: "text", text: "hi" },
    ]);
  });

  it("is not taken back by a later part that has none", () => {
    const meta = (value: string | null) => ({ openai: { itemId: "rs_1", reasoningEncryptedContent: value } });
    const parts: LanguageModelV4StreamPart[] = [
      { type: "reasoning-start", id: "rs_1:0", providerMetadata: meta(null) },
      { type: "reasoning-delta", id: "rs_1:0", delta: "Hm.", providerMetadata: meta("c2ln") },
      { type: "reasoning-end", id: "rs_1:0", providerMetadata: meta(null) },
    ];
    expect(heard(parts, "responses").codex_reasoning_items).toEqual([
      {
        type: "reasoning",
        id: "rs_1",
        encrypted_content: "c2ln",
        summary: [{ type: "summary_text", text: "Hm." }],
      },
    ]);
  });
});

it("an id of two halves is a call's and an item's", () => {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "tool-call", toolCallId: "call_1|fc_1", toolName: "f", input: "{}" },
  ];
  expect(heard(parts, "responses").tool_calls).toEqual([
    {
      id: "call_1",
      call_id: "call_1",
      response_item_id: "fc_1",
      type: "function",
      function: { name: "f", arguments: "{}" },
    },
  ]);
});
