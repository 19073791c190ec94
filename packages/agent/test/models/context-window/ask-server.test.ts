import { describe, expect, it } from "vitest";
import { askServer } from "../../../src/models/context-window/ask-server.ts";
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

  it("that is Ollama will use what the model's file asks for, never more than the model has", async () => {
    expect(await windowOf("m", ollamaAnswers("m", { numCtx: 16_384 }))).toMatchObject({
      tokens: 16_384,
      isProvisional: false,
    });
    expect(await windowOf("m", ollamaAnswers("m", { most: 4096, numCtx: 16_384 }))).toMatchObject({
      tokens: 4096,
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

  it("that is Ollama is asked by the name with its tag, and 'latest' goes without saying", async () => {
    const answers = ollamaAnswers("qwen3:latest", { loaded: 12_288 });
    expect(await windowOf("qwen3", answers)).toMatchObject({ tokens: 12_288 });
    const { url, asked } = await modelServer(ollamaAnswers("deepseek:7b", { loaded: 5120 }));
    expect(await resolveContextWindow({ model: "deepseek:7b", baseUrl: url })).toMatchObject({
      tokens: 5120,
    });
    expect(asked.find(({ path }) => path === "/api/show")).toMatchObject({
      method: "POST",
      body: expect.stringContaining('"deepseek:7b"'),
    });
  });

  it("that has loaded the model is told apart from one that only could", async () => {
    const ask = async (answers: Answers) => {
      const { url } = await modelServer(answers);
      const base = new URL(`${url}/v1`);
      return askServer({ model: "m", provider: "", base, apiKey: "", timeoutMs: 2_000, fetch });
    };
    expect(await ask(ollamaAnswers("m", { loaded: 8192 }))).toMatchObject({ tokens: 8192, isLoaded: true });
    expect(await ask(ollamaAnswers("m", { most: 8192 }))).toMatchObject({ tokens: 8192, isLoaded: false });
    expect(await ask({})).toBeUndefined();
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

  it("with a single model serves that one under any name; with several it has to be named", async () => {
    const one = { id: "served", max_model_len: 9000 };
    expect(await windowOf("mine", { "/v1/models": { data: [one] } })).toMatchObject({ tokens: 9000 });
    const two = { "/v1/models": { data: [one, { id: "b", max_model_len: 8000 }] } };
    expect(await windowOf("mine", two)).toMatchObject({ source: "default" });
  });

  it("is found from an address without path, with a slash, and from Ollama's own", async () => {
    const answers = ollamaAnswers("m", { loaded: 6144 });
    for (const path of ["", "/", "/v1", "/v1/", "/api"])
      expect(await windowOf("m", answers, path), path).toMatchObject({ tokens: 6144 });
    const { url } = await modelServer({ "/v1/models": { data: [{ id: "m", max_model_len: 7000 }] } });
    expect(await resolveContextWindow({ model: "m", baseUrl: url.replace("http://", "") })).toMatchObject({
      tokens: 7000,
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
    expect(await resolveContextWindow(hanging, { loopbackTimeoutMs: 100 })).toMatchObject({
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
