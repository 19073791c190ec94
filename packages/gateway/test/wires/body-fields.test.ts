// The table of fields against the vendors' own types: a field that a newer client knows and the table does not fails the type check.
import type Anthropic from "@anthropic-ai/sdk";
import fc from "fast-check";
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { BODY_FIELDS } from "../../src/wires/body-fields.ts";
import { chatWire } from "../../src/wires/chat.ts";
import { messagesWire } from "../../src/wires/messages.ts";
import { responsesWire } from "../../src/wires/responses.ts";
import { attempt } from "../attempt.ts";

type KeysOf<T> = T extends unknown ? keyof T : never;

type Words<S extends string> = S extends `${infer First} ${infer Rest}` ? Words<Rest> | First : S;

/** Fields that are read, or harmless to leave out. */
const named = <S extends string>(text: S) =>
  Object.fromEntries(text.split(" ").map((name) => [name, true])) as Record<Words<S>, unknown>;

const EVERY_FIELD = {
  chat: {
    ...BODY_FIELDS.chat,
    ...named(
      "model messages stream stream_options tools functions max_tokens max_completion_tokens temperature user prompt_cache_key top_p frequency_penalty presence_penalty seed prediction reasoning_effort verbosity metadata store service_tier safety_identifier prompt_cache_options prompt_cache_retention",
    ),
  } satisfies Record<KeysOf<OpenAI.ChatCompletionCreateParams>, unknown>,
  responses: {
    ...BODY_FIELDS.responses,
    ...named(
      "model input instructions stream tools max_output_tokens temperature user conversation previous_response_id prompt_cache_key max_tool_calls truncation context_management reasoning top_p metadata store stream_options service_tier safety_identifier prompt_cache_options prompt_cache_retention access_programs",
    ),
  } satisfies Record<KeysOf<OpenAI.Responses.ResponseCreateParams>, unknown>,
  messages: {
    ...BODY_FIELDS.messages,
    ...named(
      "model messages system stream tools max_tokens temperature metadata thinking top_p top_k cache_control compaction context_management diagnostics fallbacks fallback_credit_token service_tier speed user_profile_id workspace_id betas",
    ),
  } satisfies Record<
    KeysOf<Anthropic.MessageCreateParams> | KeysOf<Anthropic.Beta.MessageCreateParams>,
    unknown
  >,
};

describe.each([
  ["chat", chatWire],
  ["responses", responsesWire],
  ["messages", messagesWire],
] as const)("a body on the %s wire", (name, wire) => {
  const least = name === "responses" ? { input: "hi" } : { messages: [{ role: "user", content: "hi" }] };

  it("loses nothing by fields that are null or have their default", () => {
    const nulls = Object.fromEntries(Object.keys(EVERY_FIELD[name]).map((field) => [field, null]));
    expect(attempt(() => wire.parse({ ...nulls, model: "m", ...least }))).toMatchObject({
      ok: true,
      value: { unsupported: [] },
    });
  });

  it("never makes the parser throw, and is refused with 400 only", () => {
    const anything = fc.jsonValue({ maxDepth: 1, stringUnit: "grapheme-ascii" });
    const fields = fc.constantFrom(...Object.keys(EVERY_FIELD[name]));
    const block = fc.record(
      {
        type: fc.constantFrom(
          "text",
          "tool_use",
          "tool_result",
          "function_call",
          "reasoning",
          "item_reference",
          "message",
          "x",
        ),
        role: fc.constantFrom("user", "assistant", "tool", "system", "x"),
        content: fc.oneof(fc.string(), anything),
        text: anything,
        id: anything,
        call_id: anything,
        tool_calls: anything,
        output: anything,
      },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      fc.dictionary(fields, anything),
      fc.record({ model: fc.constant("m"), messages: fc.array(block), input: fc.array(block) }),
      fc.record({
        model: fc.constant("m"),
        messages: fc.array(
          fc.record({ role: fc.constantFrom("user", "assistant"), content: fc.array(block) }),
        ),
      }),
    );
    fc.assert(
      fc.property(body, (given) => {
        const parsed = attempt(() => wire.parse(given));
        if (!parsed.ok) expect(parsed.error.status).toBe(400);
      }),
      { numRuns: 300 },
    );
  });
});
