import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type HermesConfig, loadConfig } from "@hermes-memory/core/internal/config";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../../core/test/fakes/temp-directory.ts";
import { isLoopback, parseBaseUrl } from "../../../src/models/base-url.ts";
import { rememberWindow } from "../../../src/models/context-window/window-cache.ts";
import { resolveContextWindow } from "../../../src/models/index.ts";
import { type Answers, modelServer, ollamaAnswers } from "../../fakes/model-server.ts";

const REMOTE = "https://models.example/v1";

async function configOf(text: string): Promise<HermesConfig> {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), text);
  const config = await loadConfig(home);
  if (!config.ok) throw new Error(config.error.message);
  return config.value;
}

/** Records every call; nothing leaves this process. */
function recordingFetch(body: object): { readonly fetch: typeof fetch; readonly calls: string[] } {
  const calls: string[] = [];
  const send: typeof fetch = async (input) => {
    calls.push(String(input));
    const isList = String(input) === `${REMOTE}/models`;
    return isList ? Response.json(body) : new Response("", { status: 404 });
  };
  return { fetch: send, calls };
}

describe("the window of a model", () => {
  it("is what config says, before any server is asked", async () => {
    const { url, asked } = await modelServer(ollamaAnswers("m", { loaded: 4096 }));
    const config = await configOf("model: {default: m, context_length: 50000}\n");
    expect(await resolveContextWindow({ model: "m", baseUrl: url }, { config })).toEqual({
      tokens: 50_000,
      source: "config",
      isProvisional: false,
    });
    expect(asked).toEqual([]);
  });

  it("is what the entry of a custom provider says, found by its address or its name", async () => {
    const config = await configOf(
      "custom_providers:\n  - {name: Lab, base_url: 'https://models.example/v1/', models: {big: {context_length: 77000}, odd: {context_length: 1M}}}\n",
    );
    const tokens = async (model: string, more: object) =>
      (await resolveContextWindow({ model, ...more }, { config })).tokens;
    expect(await tokens("big", { baseUrl: REMOTE })).toBe(77_000);
    expect(await tokens("big", { provider: "custom:lab" })).toBe(77_000);
    expect(await tokens("big", { baseUrl: "https://other.example/v1", provider: "lab" })).toBe(256_000);
    expect(await tokens("odd", { baseUrl: REMOTE })).toBe(256_000);
  });

  it.each([
    ["claude-sonnet-4-20250514", 200_000],
    ["anthropic/claude-opus-4.7", 1_000_000],
    ["claude-sonnet-4-6", 1_000_000],
    ["openai/gpt-5-mini", 400_000],
    ["GPT-5.4", 1_050_000],
    ["gpt-5.4-mini", 400_000],
    ["gpt-4.1-nano", 1_047_576],
    ["gpt-4o", 128_000],
    ["gemini-3-pro", 1_048_576],
    ["deepseek-r1", 128_000],
    ["deepseek-chat", 1_000_000],
    ["Qwen3-235B", 131_072],
    ["glm-4.7", 202_752],
    ["kimi-k2", 262_144],
    ["MiniMax-M2", 204_800],
    ["grok-4-fast", 256_000],
    ["openai:gpt-4.1", 1_047_576],
  ])("is known of %s", async (model, tokens) => {
    expect(await resolveContextWindow({ model })).toMatchObject({ tokens, source: "table" });
  });

  it("comes from the catalogue when the table has nothing, and is a default for an unknown model", async () => {
    expect(await resolveContextWindow({ model: "gpt-3.5-turbo", provider: "openai" })).toMatchObject({
      tokens: 16_385,
      source: "catalogue",
    });
    expect(await resolveContextWindow({ model: "gpt" })).toMatchObject({
      tokens: 256_000,
      source: "default",
    });
    expect(await resolveContextWindow({ model: "" })).toMatchObject({ source: "default" });
  });
});

describe("a server beyond this machine", () => {
  it("is not asked unless config allows it", async () => {
    const { fetch: send, calls } = recordingFetch({ data: [{ id: "m", context_length: 64_000 }] });
    const config = await configOf("model: m\n");
    const question = { model: "m", baseUrl: REMOTE };
    expect(await resolveContextWindow(question, { config, fetch: send })).toMatchObject({
      source: "default",
    });
    expect(calls).toEqual([]);
  });

  it("is asked once with permission; the cache knows from then on", async () => {
    const home = tempDirectory();
    const { fetch: send, calls } = recordingFetch({ data: [{ id: "m", context_length: 64_000 }] });
    const config = await configOf("model: {default: m, probe_remote: true}\n");
    const question = { model: "m", baseUrl: REMOTE };
    const options = { config, home, fetch: send };
    expect(await resolveContextWindow(question, options)).toMatchObject({ tokens: 64_000, source: "server" });
    const count = calls.length;
    expect(await resolveContextWindow(question, options)).toMatchObject({ tokens: 64_000, source: "cache" });
    expect(calls).toHaveLength(count);
    expect(readFileSync(join(home, "context_length_cache.yaml"), "utf8")).toBe(
      `context_lengths:\n  m@${REMOTE}: 64000\n`,
    );
  });

  it("that is Anthropic's gets the key in its own way", async () => {
    const headers: Record<string, string>[] = [];
    const send: typeof fetch = async (input, init) => {
      if (String(input) !== "https://api.anthropic.com/v1/models?limit=1000")
        return new Response("", { status: 404 });
      headers.push(Object.fromEntries(new Headers(init?.headers)));
      return Response.json({ data: [{ id: "claude-x", type: "model", max_input_tokens: 555_000 }] });
    };
    const config = await configOf("model: {probe_remote: true}\n");
    const question = { model: "claude-x", baseUrl: "https://api.anthropic.com", apiKey: "k" };
    expect(await resolveContextWindow(question, { config, fetch: send })).toMatchObject({ tokens: 555_000 });
    expect(headers).toMatchObject([{ "x-api-key": "k", "anthropic-version": "2023-06-01" }]);
    expect(headers[0]).not.toHaveProperty("authorization");
  });

  it.each([
    ["http://localhost:11434/v1", true],
    ["127.0.0.1:8000", true],
    ["http://127.8.9.1", true],
    ["http://[::1]:1234", true],
    ["http://[::ffff:127.0.0.1]/", true],
    ["http://0.0.0.0:8000/v1", true],
    ["http://api.localhost", true],
    ["http://2130706433/", true],
    ["http://192.168.1.5:11434", false],
    ["http://localhost.example.com", false],
    ["http://127.0.0.1.example.com", false],
    ["https://user:localhost@example.com", false],
    ["http://example.com/localhost", false],
    ["http://[::2]", false],
  ])("is told from one on it: %s", (address, expected) => {
    const url = parseBaseUrl(address);
    expect(url && isLoopback(url)).toBe(expected);
  });

  it("needs an address that makes sense", () => {
    for (const text of ["", "  ", "ftp://localhost", "http://", "file:///etc"])
      expect(parseBaseUrl(text)).toBeUndefined();
  });
});

describe("the cache of windows", () => {
  const key = { model: "m", provider: "", baseUrl: REMOTE };

  function homeWith(text: string): string {
    const home = tempDirectory();
    writeFileSync(join(home, "context_length_cache.yaml"), text);
    return home;
  }

  async function cached(home: string, question: { model: string; provider?: string; baseUrl: string }) {
    const { source, tokens } = await resolveContextWindow(question, { home });
    return source === "cache" ? tokens : undefined;
  }

  it("is shared with the Python edition, whichever way it wrote the address", async () => {
    for (const written of [`m@${REMOTE}`, `m@${REMOTE}/`]) {
      const home = homeWith(`context_lengths:\n  ${written}: 54321\n`);
      expect(await cached(home, { model: "m", baseUrl: REMOTE })).toBe(54_321);
      expect(await cached(home, { model: "m", baseUrl: `${REMOTE}/` })).toBe(54_321);
      expect(await cached(home, { model: "m", baseUrl: "https://other.example" })).toBeUndefined();
    }
  });

  it("comes after what a server on this machine says now, and helps when that is silent", async () => {
    const { url } = await modelServer(ollamaAnswers("m", { loaded: 8192 }));
    const home = homeWith(`context_lengths:\n  m@${url}/v1: 131072\n`);
    const ask = (model: string) => resolveContextWindow({ model, baseUrl: `${url}/v1` }, { home });
    expect(await ask("m")).toMatchObject({ tokens: 8192, source: "server" });
    const silent = await modelServer({});
    const other = homeWith(`context_lengths:\n  n@${silent.url}/v1: 9000\n`);
    expect(await cached(other, { model: "n", baseUrl: `${silent.url}/v1` })).toBe(9000);
  });

  it("keeps a limit that a server on this machine stated, against a list that promises more", async () => {
    const list = (entry: object) => ({ "/v1/models": { data: [{ id: "m", ...entry }] } });
    const windowAfter = async (limit: number, answers: Answers) => {
      const { url } = await modelServer(answers);
      const home = tempDirectory();
      await rememberWindow(home, { model: "m", provider: "custom", baseUrl: `${url}/v1` }, limit);
      const { tokens, source, isProvisional } = await resolveContextWindow(
        { model: "m", provider: "custom", baseUrl: `${url}/v1` },
        { home },
      );
      return { tokens, source, isProvisional };
    };
    const stated = { tokens: 20_000, source: "cache", isProvisional: false };
    expect(await windowAfter(20_000, list({ context_length: 200_000 }))).toEqual(stated);
    expect(await windowAfter(20_000, list({}))).toEqual(stated);
    expect(await windowAfter(20_000, list({ context_length: 8192 }))).toMatchObject({
      tokens: 8192,
      source: "server",
    });
    // Not loaded yet, so the server is asked again later.
    const idle = ollamaAnswers("m", { most: 131_072 });
    expect(await windowAfter(20_000, idle)).toEqual({ ...stated, isProvisional: true });
  });

  it("is as good as none when it is damaged, and is not written over", async () => {
    for (const text of ["context_lengths: [1", "- a\n", "context_lengths: 5\n"]) {
      const home = homeWith(text);
      expect(await cached(home, { model: "m", baseUrl: REMOTE })).toBeUndefined();
      expect(await rememberWindow(home, key, 70_000)).toMatchObject({
        ok: false,
        error: expect.stringContaining("damaged"),
      });
      expect(readFileSync(join(home, "context_length_cache.yaml"), "utf8")).toBe(text);
    }
    const odd = homeWith(`context_lengths:\n  m@${REMOTE}: lots\n  n@${REMOTE}: 12\n`);
    expect(await cached(odd, { model: "m", baseUrl: REMOTE })).toBeUndefined();
    expect(await cached(odd, { model: "n", baseUrl: REMOTE })).toBeUndefined();
  });

  it("is passed over for Codex above its limit, for LM Studio and for Nous", async () => {
    const home = homeWith(
      `context_lengths:\n  gpt-5@${REMOTE}: 400000\n  m@${REMOTE}: 50000\n  m@https://inference-api.nousresearch.com/v1: 50000\n`,
    );
    const codex = { model: "gpt-5", provider: "openai-codex", baseUrl: REMOTE };
    expect(await cached(home, codex)).toBeUndefined();
    expect(await cached(home, { ...codex, provider: "openai" })).toBe(400_000);
    expect(await cached(home, { model: "m", provider: "lmstudio", baseUrl: REMOTE })).toBeUndefined();
    const nous = { model: "m", baseUrl: "https://inference-api.nousresearch.com/v1" };
    expect(await cached(home, nous)).toBeUndefined();
  });

  it("takes a new window and keeps everything else that is in the file", async () => {
    const home = homeWith(`# mine\ncontext_lengths:\n  a@x: 5000\nconfirmed: {a: 1}\n`);
    expect(await rememberWindow(home, key, 70_000)).toEqual({ ok: true, value: { changed: true } });
    expect(await rememberWindow(home, key, 70_000)).toEqual({ ok: true, value: { changed: false } });
    expect(readFileSync(join(home, "context_length_cache.yaml"), "utf8")).toBe(
      `# mine\ncontext_lengths:\n  a@x: 5000\n  m@${REMOTE}: 70000\nconfirmed: { a: 1 }\n`,
    );
    expect(await cached(home, { model: "m", baseUrl: REMOTE })).toBe(70_000);
  });

  it.each([
    ["kimi-k2", 32_768, 32_769],
    ["MiniMax-M3", 204_800, 300_000],
    ["x-ai/grok-4.3", 256_000, 256_001],
  ])("forgets what older versions wrote down wrongly of %s", async (model, wrong, right) => {
    const file = (tokens: number) => `context_lengths:\n  ${model}@${REMOTE}: ${tokens}\n`;
    expect(await cached(homeWith(file(wrong)), { model, baseUrl: REMOTE })).toBeUndefined();
    expect(await cached(homeWith(file(right)), { model, baseUrl: REMOTE })).toBe(right);
  });
});
