// Cache markers in requests: where the vendor wants them, at most as many as it takes.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { RecordedRequest, Step } from "../fakes/wires/script.ts";
import { agentHome } from "./agent-home.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

const CALL = { name: "todo", arguments: {} };
const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };

/** Paths of everything that carries a marker, in the order of the body, each with the marker. */
function markers(request: RecordedRequest | undefined): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, item] of Object.entries(value)) {
      if (key === "cache_control") found[path] = item;
      else walk(item, path === "" ? key : `${path}.${key}`);
    }
  };
  walk(request?.body ?? {}, "");
  return found;
}

const SHORT = { type: "ephemeral" };

describe("cache markers on the Anthropic wire", () => {
  it("stand on the system prompt and on the last three messages", async () => {
    const { agent, wire } = await agentHome([{ text: "One." }, { text: "Two." }, { text: "Three." }], {
      kind: "anthropic",
    });
    for (const text of ["a", "b", "c"]) await agent.run(text);
    expect(markers(wire.requests[0])).toEqual({ "system.0": SHORT, "messages.0.content.0": SHORT });
    expect(markers(wire.requests[1])).toEqual({
      "system.0": SHORT,
      "messages.0.content.0": SHORT,
      "messages.1.content.0": SHORT,
      "messages.2.content.0": SHORT,
    });
    expect(markers(wire.requests[2])).toEqual({
      "system.0": SHORT,
      "messages.2.content.0": SHORT,
      "messages.3.content.0": SHORT,
      "messages.4.content.0": SHORT,
    });
  });

  it("stand on tool results and on replies that only call tools, never on a thought, and are never more than four", async () => {
    const steps: readonly Step[] = [
      { reasoning: "hm", signature: "s1", toolCalls: [CALL, { name: "session_search", arguments: {} }] },
      { reasoning: "hm", signature: "s2", toolCalls: [CALL] },
      { text: "Look.", reasoning: "hm", signature: "s3", toolCalls: [CALL] },
      { text: "Done." },
      { text: "Yes." },
    ];
    const { agent, wire } = await agentHome(steps, { kind: "anthropic" });
    await agent.run("go");
    await agent.run([{ type: "text", text: "and this?" }, IMAGE]);
    // user, [thought, call, call], [result, result], [thought, call], [result], [thought, text, call], [result], ...
    expect(markers(wire.requests[1])).toEqual({
      "system.0": SHORT,
      "messages.1.content.2": SHORT,
      "messages.2.content.0": SHORT,
      "messages.2.content.1": SHORT,
    });
    expect(markers(wire.requests[2])).toEqual({
      "system.0": SHORT,
      "messages.2.content.1": SHORT,
      "messages.3.content.1": SHORT,
      "messages.4.content.0": SHORT,
    });
    expect(markers(wire.requests[3])).toEqual({
      "system.0": SHORT,
      "messages.4.content.0": SHORT,
      "messages.5.content.1": SHORT,
      "messages.6.content.0": SHORT,
    });
    expect(markers(wire.requests[4])).toEqual({
      "system.0": SHORT,
      "messages.6.content.0": SHORT,
      "messages.7.content.0": SHORT,
      "messages.8.content.1": SHORT,
    });
  });

  it("say one hour where prompt_caching.cache_ttl does", async () => {
    const { agent, wire } = await agentHome([{ text: "One." }], {
      kind: "anthropic",
      config: { prompt_caching: { cache_ttl: "1h" } },
    });
    await agent.run("a");
    const long = { type: "ephemeral", ttl: "1h" };
    expect(markers(wire.requests[0])).toEqual({ "system.0": long, "messages.0.content.0": long });
    expect((await agent.status()).caching).toEqual({ enabled: true, ttl: "1h" });
  });

  it("move on while everything else stays: markers aside the second request begins with the first", async () => {
    const { agent, wire } = await agentHome([{ toolCalls: [CALL] }, { text: "One." }, { text: "Two." }], {
      kind: "anthropic",
    });
    await agent.run("a");
    await agent.run("b");
    const bare = (n: number): string[] => {
      const messages = wire.requests[n]?.body.messages as readonly unknown[];
      return messages.map((message) =>
        JSON.stringify(message).replaceAll(',"cache_control":{"type":"ephemeral"}', ""),
      );
    };
    expect(bare(1).slice(0, 1)).toEqual(bare(0));
    expect(bare(2).slice(0, 3)).toEqual(bare(1));
    expect(bare(2).join("")).not.toContain("cache_control");
  });
});

/** OpenRouter's address, answered by the fake server: everything but the host is as it would be. */
function routeToOpenRouter(url: string): void {
  const send = globalThis.fetch;
  vi.stubGlobal("fetch", (input: string | URL | Request, init?: RequestInit) => {
    const asked = String(input instanceof Request ? input.url : input);
    if (!asked.startsWith("https://openrouter.ai/api/v1/"))
      throw new Error(`an unexpected address: ${asked}`);
    return send(asked.replace("https://openrouter.ai/api/v1", url), init);
  });
}

async function openRouter(model: string, steps: readonly Step[]) {
  const made = await agentHome(steps, {
    config: {
      model: {
        default: model,
        provider: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        context_length: 200_000,
      },
    },
  });
  routeToOpenRouter(made.wire.url);
  return made;
}

describe("cache markers on the chat wire", () => {
  it("go to OpenRouter for a Claude model, in the finished body and not on tool results", async () => {
    const { agent, wire } = await openRouter("anthropic/claude-sonnet-4.5", [
      { text: "Look.", toolCalls: [CALL] },
      { text: "One." },
      { text: "Two." },
    ]);
    expect(await agent.run("a")).toMatchObject({ final_response: "One.", error: null });
    await agent.run("b");
    // system, user, assistant, tool, assistant, user
    expect(markers(wire.requests[0])).toEqual({
      "messages.0.content.0": SHORT,
      "messages.1.content.0": SHORT,
    });
    expect(markers(wire.requests[1])).toEqual({
      "messages.0.content.0": SHORT,
      "messages.1.content.0": SHORT,
      "messages.2.content.0": SHORT,
    });
    expect(markers(wire.requests[2])).toEqual({
      "messages.0.content.0": SHORT,
      "messages.2.content.0": SHORT,
      "messages.4.content.0": SHORT,
      "messages.5.content.0": SHORT,
    });
    expect(wire.wireMessages(2).slice(0, 3)).toEqual(wire.wireMessages(1));
    expect(wire.systemOf(2)).toBe(wire.systemOf(0));
    expect((await agent.status()).caching.enabled).toBe(true);
  });

  it("stay away for other models of OpenRouter, for other servers and for other vendors", async () => {
    const routed = await openRouter("openai/gpt-5", [{ text: "One." }]);
    await routed.agent.run("a");
    expect(markers(routed.wire.requests[0])).toEqual({});
    vi.unstubAllGlobals();
    for (const kind of ["chat", "responses", "google"] as const) {
      const { agent, wire } = await agentHome([{ toolCalls: [CALL] }, { text: "One." }], {
        kind,
        config: { model: { default: "claude-by-another-name" } },
      });
      await agent.run("a");
      expect(wire.requests, kind).toHaveLength(2);
      for (const { raw } of wire.requests) expect(raw, kind).not.toContain("cache_control");
      expect((await agent.status()).caching.enabled, kind).toBe(false);
    }
  });
});
