import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyPromptCaching, cacheTtl, cachingPolicy, type Endpoint } from "../../src/context/caching.ts";
import { type OpenAiMessage, toOpenAi } from "../../src/message/index.ts";
import { asMessage } from "./messages.ts";

const native = { enabled: true, native: true };
const envelope = { enabled: true, native: false };
const off = { enabled: false };

const ROWS: readonly [string, Partial<Endpoint>, object][] = [
  ["Anthropic by provider", { apiMode: "anthropic_messages", provider: "anthropic" }, native],
  ["Anthropic by host", { apiMode: "anthropic_messages", baseUrl: "https://api.anthropic.com/v1" }, native],
  [
    "a host that only looks like it",
    { apiMode: "anthropic_messages", baseUrl: "https://api.anthropic.com.evil.example" },
    off,
  ],
  [
    "Claude on OpenRouter",
    { baseUrl: "https://openrouter.ai/api/v1", model: "anthropic/Claude-sonnet" },
    envelope,
  ],
  ["another model on OpenRouter", { baseUrl: "https://openrouter.ai/api/v1", model: "gpt-5" }, off],
  [
    "openrouter.ai as a part of a path",
    { baseUrl: "https://proxy.example/openrouter.ai", model: "claude" },
    off,
  ],
  ["Claude at Nous", { baseUrl: "https://inference.nousresearch.com", model: "claude-4" }, envelope],
  ["Qwen at Nous", { baseUrl: "https://inference.nousresearch.com", model: "Qwen3" }, envelope],
  [
    "Claude on another Anthropic wire",
    { apiMode: "anthropic_messages", provider: "custom", model: "claude-x" },
    native,
  ],
  ["MiniMax by provider", { apiMode: "anthropic_messages", provider: "minimax-cn", model: "m2" }, native],
  [
    "MiniMax by host",
    { apiMode: "anthropic_messages", baseUrl: "https://api.minimax.io/anthropic", model: "m2" },
    native,
  ],
  ["Qwen at OpenCode", { provider: "opencode-zen", model: "qwen3-coder" }, envelope],
  ["Qwen elsewhere", { provider: "custom", model: "qwen3-coder" }, off],
  [
    "a Claude name on a custom chat endpoint",
    { provider: "custom", baseUrl: "http://127.0.0.1:9/v1", model: "claude" },
    off,
  ],
];

describe("which models take cache markers", () => {
  it.each(ROWS)("%s", (_name, endpoint, expected) => {
    const whole = {
      apiMode: "chat_completions",
      provider: "",
      baseUrl: "",
      model: "some-model",
      ...endpoint,
    };
    expect(cachingPolicy(whole)).toEqual(expected);
  });

  it("an unknown time to live means five minutes", () => {
    expect([cacheTtl("1h"), cacheTtl("5m"), cacheTtl("2h"), cacheTtl(undefined)]).toEqual([
      "1h",
      "5m",
      "5m",
      "5m",
    ]);
  });
});

const content = fc.oneof(
  fc.constantFrom(null, "", "a text", "  spaced  "),
  fc.array(
    fc.oneof(
      fc.constant("bare text"),
      fc.record({ type: fc.constant("text"), text: fc.string() }),
      fc.constant({ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }),
    ),
    { maxLength: 3 },
  ),
);
const message = fc.record(
  { role: fc.constantFrom("system", "user", "assistant", "tool"), content, tool_call_id: fc.constant("c1") },
  { requiredKeys: ["role"] },
);
const options = fc.record({ ttl: fc.constantFrom("5m", "1h"), native: fc.boolean() } as const);

describe("cache markers", () => {
  it("are at most four, and taking them away gives back the messages", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), options, (messages, given) => {
        const marked = applyPromptCaching(deepFreeze(messages as OpenAiMessage[]), given);
        expect(marked).toHaveLength(messages.length);
        expect(JSON.stringify(marked).split('"cache_control"').length - 1).toBeLessThanOrEqual(4);
        expect(marked.map(unmarked)).toEqual((messages as OpenAiMessage[]).map(asParts));
      }),
    );
  });

  it("never stand on a second system message or, outside Anthropic's wire, on a tool result", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const marked = applyPromptCaching(messages as OpenAiMessage[]);
        for (const [index, each] of marked.entries())
          if (each.role === "tool" || (each.role === "system" && index > 0))
            expect(each).toBe(messages[index]);
      }),
    );
  });

  it("pass over entries that are no messages", () => {
    const odd = [null, undefined, 5, "text", [], { role: "user", content: "x" }, null];
    const marked = applyPromptCaching(odd as unknown as OpenAiMessage[]);
    expect(marked.filter((_, at) => at !== 5)).toEqual(odd.filter((_, at) => at !== 5));
    expect(JSON.stringify(marked[5])).toContain("cache_control");
  });

  it("pass over a message that ends with a thought, which has to go back untouched", () => {
    const thought = {
      role: "assistant",
      content: [{ type: "thinking", thinking: "hm", signature: "s" }],
    } as unknown as OpenAiMessage;
    const marked = applyPromptCaching([{ role: "user", content: "a" }, thought], { native: true });
    expect(marked[1]).toBe(thought);
    expect(JSON.stringify(marked[0])).toContain("cache_control");
  });

  it("stand on messages where they stand on their rows", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), options, (rows, given) => {
        const plain = rows.map(
          (row) => ({ ...row, content: withoutBareTexts(row.content) }) as OpenAiMessage,
        );
        const messages = plain.map((row) => asMessage(row));
        const marked = applyPromptCaching(deepFreeze(messages), given);
        expect(marked.map((each) => toOpenAi(each))).toEqual(
          applyPromptCaching(plain, given).map((row) => toOpenAi(asMessage(row))),
        );
      }),
    );
  });
});

/** Removes markers; a string becomes the single part that a marker turns it into. */
function unmarked(each: OpenAiMessage): unknown {
  return JSON.parse(
    JSON.stringify(asParts(each), (key, value) => (key === "cache_control" ? undefined : value)),
  );
}

function asParts(each: OpenAiMessage): OpenAiMessage {
  const isText = typeof each.content === "string" && each.content !== "";
  return JSON.parse(
    JSON.stringify(isText ? { ...each, content: [{ type: "text", text: each.content }] } : each),
  ) as OpenAiMessage;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}

/** A part that is a bare string can carry no marker; as a part of a message it is an object and can. */
function withoutBareTexts(content: unknown): unknown {
  return Array.isArray(content) ? content.filter((part) => typeof part !== "string") : (content ?? null);
}
