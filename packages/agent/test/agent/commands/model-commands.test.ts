import { promptHash } from "@hermes-memory/core/internal/prompt";
import { describe, expect, it } from "vitest";
import { openChat, textOf } from "./fake-agent.ts";

describe("/model", () => {
  it("shows the model, who serves it, and where the window's figure comes from", async () => {
    const chat = await openChat();
    const reply = await chat.expect("/model", "text");
    expect(textOf(reply)).toMatch(
      /Model +kiln-1\nProvider +custom, chat_completions, the vendor's own address/,
    );
    expect(textOf(reply)).toContain("32,000 tokens (given by the program)");
    expect(reply.json).toMatchObject({ model: "kiln-1", context_length: 32_000, context_source: "option" });
  });

  it.each([
    ["/model kiln-2", { model: "kiln-2" }],
    ["/model --provider openai kiln-2", { model: "kiln-2", provider: "openai" }],
    ["/model kiln-2 --provider=openai", { model: "kiln-2", provider: "openai" }],
    ["/model --base-url http://127.0.0.1:8080/v1", { baseUrl: "http://127.0.0.1:8080/v1" }],
  ])("%s switches", async (line, selection) => {
    const chat = await openChat();
    const reply = await chat.expect(line, "text");
    expect(chat.agent.selections).toEqual([selection]);
    expect(textOf(reply)).toContain(`Now with ${chat.agent.model.model} (${chat.agent.model.provider}, `);
  });

  it("takes no key and repeats none", async () => {
    const chat = await openChat();
    for (const line of [
      "/model --api-key=sk-Kq7Zr2Lm9Xw4 x",
      "/model --api-key sk-Kq7Zr2Lm9Xw4 x",
      "/model a b",
    ]) {
      const reply = await chat.expect(line, "error");
      expect(JSON.stringify(reply)).not.toContain("Kq7Zr2Lm9Xw4");
    }
    expect(textOf(await chat.expect("/model a b", "error"))).toBe(
      "Usage: /model [--provider name] [--base-url address] [model]",
    );
    expect(chat.agent.selections).toEqual([]);
  });

  it.each(["/model", "/provider", "/model kiln-2"])("%s shows no password of an address", async (line) => {
    const chat = await openChat();
    chat.agent.model = { ...chat.agent.model, baseUrl: "https://me:hidden@models.test/v1/?key=hidden" };
    const reply = await chat.expect(line, "text");
    expect(reply.json).toMatchObject({ base_url: "https://models.test/v1" });
    expect(JSON.stringify(reply)).not.toContain("hidden");
  });
});

describe("/provider", () => {
  it("names the external memory, or says how to get one", async () => {
    const chat = await openChat();
    expect(textOf(await chat.expect("/provider", "text"))).toContain("'hermes memory setup'");
    chat.agent.given = { memory: { memory: null, user: null, provider: "holographic" } };
    expect((await chat.expect("/provider", "text")).json).toMatchObject({ memory_provider: "holographic" });
  });
});

describe("/usage", () => {
  it("shows tokens, cost, savings and context", async () => {
    const chat = await openChat();
    chat.agent.given = {
      usage: { input: 1_000, cacheRead: 9_000, cacheWrite: 500, output: 700, reasoning: 200 },
      api_calls: 3,
      cost_usd: 0.01234,
      caching: { enabled: true, ttl: "1h" },
      savings: { hitRate: 0.857, saved: 1.5 },
      context: {
        ...(await chat.agent.status()).context,
        used_tokens: 8_000,
        percent: 25,
      },
    };
    const reply = await chat.expect("/usage", "text");
    const text = textOf(reply);
    expect(text).toContain("10,500 tokens: 1,000 sent, 9,000 read from cache, 500 written to cache");
    expect(text).toContain("700 tokens, 200 of them reasoning");
    expect(text).toContain("11,200 tokens");
    expect(text).toContain("about $0.0123");
    expect(text).toContain("on, kept 1h; 86% of the prompt came from it, $1.50 saved");
    expect(text).toContain("8,000 of 32,000 tokens (25%), compacts at 27,200 (compressor)");
    expect(reply.json).toMatchObject({
      usage: { cache_read_tokens: 9_000 },
      savings: { hit_rate: 0.857, saved_usd: 1.5 },
    });
  });
});

describe("/status", () => {
  it("shows session, model, context and memory", async () => {
    const chat = await openChat();
    await chat.agent.talk("one", "two");
    await chat.agent.setTitle("kiln");
    chat.agent.given = { memory: { memory: { used: 1_100, limit: 2_200 }, user: null, provider: null } };
    const reply = await chat.expect("/status", "text");
    expect(textOf(reply)).toContain(`${chat.agent.sessionId}  kiln`);
    expect(textOf(reply)).toContain("memory 50%, user off");
    expect(reply.json).toMatchObject({ session_id: chat.agent.sessionId, window: { source: "option" } });
  });
});

describe("/prompt", () => {
  it("shows size and hash, and never the prompt", async () => {
    const chat = await openChat();
    chat.agent.systemPrompt = "You are Köln. 🏺";
    const reply = await chat.expect("/prompt", "text");
    expect(reply.json).toEqual({
      system_prompt: { chars: 15, bytes: 19, tokens: 6, hash: promptHash("You are Köln. 🏺") },
    });
    expect(textOf(reply)).not.toContain("Köln");
  });
});
