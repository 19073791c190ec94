import { describe, expect, it } from "vitest";
import { cacheTtl, cachingPolicy, type Endpoint } from "../../../src/context/caching.ts";

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
