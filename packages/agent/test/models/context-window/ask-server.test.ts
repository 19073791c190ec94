import { describe, expect, it } from "vitest";
import { resolveContextWindow } from "../../../src/models/context-window/resolve.ts";
import { type Answers, deadAddress, modelServer, ollamaAnswers } from "../../fakes/model-server.ts";

async function windowOf(model: string, answers: Answers, path = "/v1") {
  const { url } = await modelServer(answers);
  return resolveContextWindow({ model, baseUrl: `${url}${path}` });
}

describe("a model server on this machine", () => {
  it("that is Ollama tells the window it has loaded the model with, not the model's maximum", async () => {
    const answers = ollamaAnswers("llama3.1:8b", { most: 131_072, numCtx: 32_768, loaded: 8192 });
    expect(await windowOf("llama3.1:8b", answers)).toEqual({
      tokens: 8192,
      source: "server",
      server: "Ollama",
      isProvisional: false,
    });
  });

  it("that is Ollama and has not loaded the model can only tell its maximum, which is provisional", async () => {
    expect(await windowOf("m", ollamaAnswers("m", { most: 40_960 }))).toMatchObject({
      tokens: 40_960,
      source: "server",
      isProvisional: true,
    });
    expect(await windowOf("m:cloud", ollamaAnswers("m:cloud", {}))).toMatchObject({ isProvisional: false });
  });

  it("that is LM Studio tells the loaded window, else the maximum", async () => {
    const entry = { id: "Qwen/qwen3-4b", type: "llm", max_context_length: 32_768 };
    const loaded = {
      "/api/v0/models": { data: [{ ...entry, state: "loaded", loaded_context_length: 4096 }] },
    };
    expect(await windowOf("qwen/qwen3-4b", loaded)).toMatchObject({
      tokens: 4096,
      server: "LM Studio",
      isProvisional: false,
    });
    const idle = { "/api/v0/models": { data: [{ ...entry, state: "not-loaded" }] } };
    expect(await windowOf("qwen/qwen3-4b", idle)).toMatchObject({ tokens: 32_768, isProvisional: true });
  });

  it("that is llama.cpp tells the window of a slot, not what the model was trained for", async () => {
    const answers = {
      "/props": { default_generation_settings: { n_ctx: 16_384 }, total_slots: 4 },
      "/api/show": { model_info: { "llama.context_length": 131_072 } },
      "/v1/models": { data: [{ id: "/models/x.gguf", meta: { n_ctx_train: 131_072 } }] },
    };
    expect(await windowOf("anything", answers)).toMatchObject({ tokens: 16_384, server: "llama.cpp" });
  });

  it.each([
    ["max_model_len", { id: "org/m", max_model_len: 24_576 }],
    ["a field as text", { id: "org/m", context_window: "24576" }],
    ["a field further in", { id: "org/m", meta: { n_ctx_train: 24_576 } }],
    ["the served one before the trained one", { id: "org/m", n_ctx_train: 131_072, n_ctx: 24_576 }],
  ])("that is any other tells it in its list of models: %s", async (_what, entry) => {
    const answers = { "/v1/models": { data: [{ id: "other", context_length: 9999 }, entry] } };
    expect(await windowOf("ORG/m", answers)).toEqual({
      tokens: 24_576,
      source: "server",
      server: "OpenAI-compatible",
      isProvisional: false,
    });
  });

  it("gets the key, and a server that it redirects to does not", async () => {
    const elsewhere = await modelServer({ "/v1/models": { data: [{ id: "m", max_model_len: 1_000_000 }] } });
    const { url, asked } = await modelServer({ "/v1/models": new URL(`${elsewhere.url}/v1/models`) });
    const question = { model: "m", baseUrl: `${url}/v1`, apiKey: "k-123" };
    expect(await resolveContextWindow(question)).toMatchObject({ source: "default" });
    expect(asked.map(({ headers }) => headers.authorization)).toContain("Bearer k-123");
    expect(elsewhere.asked).toEqual([]);
  });

  it.each([
    [
      "nonsense",
      { "/api/ps": [1], "/api/show": { model_info: 5 }, "/props": {}, "/v1/models": { data: "x" } },
    ],
    [
      "absurd numbers",
      {
        "/props": { default_generation_settings: { n_ctx: 0 } },
        "/v1/models": { data: [{ id: "m", context_length: 512 }] },
      },
    ],
    ["errors", { "/v1/models": 500, "/api/ps": 401 }],
    ["nothing about the model", ollamaAnswers("m", { most: 1 })],
  ])("that answers %s is as good as none", async (_what, answers) => {
    expect(await windowOf("unheard-of", answers as Answers)).toMatchObject({
      tokens: 256_000,
      source: "default",
    });
  });

  it("that is not running, or never answers, costs no more than its deadline", async () => {
    const baseUrl = `${await deadAddress()}/v1`;
    expect(await resolveContextWindow({ model: "qwen3:8b", baseUrl })).toMatchObject({
      tokens: 131_072,
      source: "table",
    });
    const { url, asked } = await modelServer({
      "/api/ps": "hang",
      "/api/show": "hang",
      "/v1/models": "hang",
    });
    const hanging = { model: "qwen3:8b", baseUrl: `${url}/v1` };
    expect(await resolveContextWindow(hanging)).toMatchObject({
      source: "table",
    });
    expect(asked.length).toBeGreaterThan(0);
  });

  it("is no longer waited for when the caller gives up", async () => {
    const { url } = await modelServer({ "/api/ps": "hang" });
    const stop = new AbortController();
    const asked = resolveContextWindow({ model: "m", baseUrl: url }, { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(asked).rejects.toThrow("enough");
  });
});
