// Which model, at which address, with which key.
import { readFileSync } from "node:fs";
import type { CustomProvider, ModelConfig } from "@hermes-memory/core/internal/config";
import { describe, expect, it } from "vitest";
import { chooseModel, knownProviders, type ModelSelection } from "../../../src/models/index.ts";

type Settings = {
  readonly flags?: ModelSelection;
  readonly env?: Readonly<Record<string, string>>;
  readonly model?: Partial<ModelConfig>;
  readonly own?: readonly Partial<CustomProvider>[];
};

function choose({ flags = {}, env = {}, model = {}, own = [] }: Settings) {
  const customProviders = own.map((entry) => ({
    name: "",
    baseUrl: "",
    apiKey: "",
    apiMode: "",
    models: {},
    ...entry,
  }));
  const unset = { default: "", provider: "", baseUrl: "", apiKey: "", apiMode: "", probeRemote: false };
  return chooseModel({
    flags,
    env,
    config: { model: { ...unset, ...model }, models: { prices: {}, customProviders } },
  });
}

function chosen(settings: Settings) {
  const result = choose(settings);
  if (!result.ok) throw new Error(`${result.error.kind}: ${result.error.message}`);
  return result.value;
}

function refusal(settings: Settings) {
  const result = choose(settings);
  if (result.ok) throw new Error(`chose ${result.value.model}`);
  return result.error;
}

const KEYS = {
  ANTHROPIC_API_KEY: "key-anthropic",
  OPENAI_API_KEY: "key-openai",
  GEMINI_API_KEY: "key-gemini",
  OPENROUTER_API_KEY: "key-router",
};
const ANTHROPIC = { ANTHROPIC_API_KEY: KEYS.ANTHROPIC_API_KEY };
const ROUTER = { OPENROUTER_API_KEY: KEYS.OPENROUTER_API_KEY };

describe("the order", () => {
  it("is flags, environment, config", () => {
    const model = { default: "claude-c", provider: "anthropic" };
    expect(chosen({ env: KEYS, model }).model).toBe("claude-c");
    expect(chosen({ env: { ...KEYS, HERMES_MODEL: "claude-e" }, model }).model).toBe("claude-e");
    expect(
      chosen({ flags: { model: "claude-f" }, env: { ...KEYS, HERMES_MODEL: "claude-e" }, model }).model,
    ).toBe("claude-f");
    const named = { ...KEYS, HERMES_INFERENCE_PROVIDER: "openrouter", HERMES_MODEL: "anthropic/claude-e" };
    expect(chosen({ env: named, model })).toMatchObject({
      provider: "openrouter",
      model: "anthropic/claude-e",
    });
  });
});

describe("a model's name", () => {
  it.each([
    ["claude-sonnet-4-5", "anthropic", "anthropic_messages"],
    ["gpt-5.4", "openai", "responses"],
    ["o3-mini", "openai", "responses"],
    ["chatgpt-4o-latest", "openai", "responses"],
    ["gemini-3-pro-preview", "google", "google"],
    ["meta-llama/llama-3.3-70b", "openrouter", "chat_completions"],
  ])("%s tells its provider", (name, provider, apiMode) => {
    expect(chosen({ flags: { model: name }, env: KEYS })).toMatchObject({ model: name, provider, apiMode });
  });

  it.each([
    ["openai/gpt-5.4", "openai", "gpt-5.4"],
    ["anthropic:claude-x", "anthropic", "claude-x"],
    ["gemini/gemini-x", "google", "gemini-x"],
    ["ollama:qwen3:8b", "ollama", "qwen3:8b"],
    ["openrouter/anthropic/claude-x", "openrouter", "anthropic/claude-x"],
    ["openrouter/auto", "openrouter", "openrouter/auto"],
  ])("%s has a provider in front", (name, provider, model) => {
    expect(chosen({ flags: { model: name }, env: KEYS })).toMatchObject({ provider, model });
  });

  it("with a slash is OpenRouter's own when it serves the model", () => {
    const name = "anthropic/claude-x";
    const router = { provider: "openrouter", model: name };
    expect(chosen({ flags: router, env: KEYS })).toMatchObject(router);
    expect(chosen({ flags: { model: name }, env: KEYS, model: { provider: "openrouter" } })).toMatchObject(
      router,
    );
    expect(chosen({ flags: { model: name }, env: ROUTER })).toMatchObject(router);
  });

  it("of a flag chooses another provider than the configured one", () => {
    const model = { default: "claude-c", provider: "anthropic", apiKey: "configured" };
    expect(chosen({ flags: { model: "openai:gpt-x" }, env: KEYS, model })).toMatchObject({
      provider: "openai",
      model: "gpt-x",
      apiKey: KEYS.OPENAI_API_KEY,
    });
  });

  it("that says nothing goes to the only provider with a key", () => {
    expect(chosen({ flags: { model: "mystery" }, env: ANTHROPIC }).provider).toBe("anthropic");
    expect(refusal({ flags: { model: "mystery" }, env: KEYS })).toMatchObject({ kind: "unknown_provider" });
    expect(refusal({ flags: { model: "mystery" } })).toMatchObject({ kind: "no_key" });
  });
});

describe("addresses", () => {
  it("of local servers are known, and they need no key", () => {
    const addresses = ["ollama", "lmstudio", "llamacpp", "vllm"].map((provider) => {
      const { baseUrl, apiKey, keySource, apiMode } = chosen({ flags: { provider, model: "m" }, env: KEYS });
      expect({ apiKey, keySource, apiMode }).toEqual({
        apiKey: "",
        keySource: "none needed",
        apiMode: "chat_completions",
      });
      return baseUrl;
    });
    expect(addresses).toEqual([11434, 1234, 8080, 8000].map((port) => `http://127.0.0.1:${port}/v1`));
  });

  it("without a provider are a server of the user's own, unless they are a vendor's", () => {
    const at = (baseUrl: string) => chosen({ flags: { model: "m", baseUrl, apiKey: "k" } });
    expect(at("http://127.0.0.1:9/v1")).toMatchObject({ provider: "custom", apiMode: "chat_completions" });
    expect(at("localhost:9")).toMatchObject({ provider: "custom", baseUrl: "http://localhost:9" });
    expect(at("https://api.example.com/anthropic")).toMatchObject({
      provider: "custom",
      apiMode: "anthropic_messages",
    });
    expect(at("https://api.anthropic.com")).toMatchObject({ provider: "anthropic" });
    expect(at("https://openrouter.ai/api/v1")).toMatchObject({ provider: "openrouter" });
  });

  it("are checked", () => {
    expect(refusal({ flags: { model: "m", provider: "custom" } })).toMatchObject({ kind: "bad_address" });
    expect(refusal({ flags: { model: "m", baseUrl: "ftp://x" } })).toMatchObject({ kind: "bad_address" });
  });

  it("are the configured one only for the configured provider", () => {
    const model = { default: "m", provider: "ollama", baseUrl: "http://127.0.0.1:9999/v1" };
    expect(chosen({ flags: { model: "other" }, model }).baseUrl).toBe(model.baseUrl);
    expect(chosen({ flags: { model: "claude-x", provider: "anthropic" }, env: KEYS, model }).baseUrl).toBe(
      "",
    );
  });

  it("from OPENAI_BASE_URL count for OpenAI and when no provider is named, with OpenAI's key", () => {
    const env = { OPENAI_BASE_URL: "http://127.0.0.1:4000/v1", ...KEYS };
    const there = { baseUrl: env.OPENAI_BASE_URL, apiKey: KEYS.OPENAI_API_KEY };
    expect(chosen({ flags: { model: "m" }, env })).toMatchObject({ provider: "custom", ...there });
    expect(chosen({ flags: { model: "m", provider: "custom" }, env })).toMatchObject({
      provider: "custom",
      ...there,
    });
    const openai = { provider: "openai", apiMode: "chat_completions" };
    expect(chosen({ flags: { model: "m", provider: "openai" }, env })).toMatchObject({ ...openai, ...there });
    expect(chosen({ flags: { model: "claude-x", provider: "anthropic" }, env })).toMatchObject({
      baseUrl: "",
    });
    const model = { default: "m", provider: "custom", baseUrl: "http://127.0.0.1:5000/v1" };
    expect(chosen({ env, model })).toMatchObject({ baseUrl: model.baseUrl, apiKey: "" });
  });
});

describe("a key", () => {
  it("of config goes to no other server than the configured one", () => {
    const model = {
      default: "m",
      provider: "custom",
      baseUrl: "https://models.example.com/v1",
      apiKey: "configured",
    };
    expect(chosen({ model })).toMatchObject({ apiKey: "configured", keySource: "config" });
    expect(chosen({ flags: { model: "n" }, model })).toMatchObject({ apiKey: "configured" });
    const elsewhere: ModelSelection[] = [
      { baseUrl: "http://127.0.0.1:9/v1" },
      { provider: "ollama" },
      { provider: "anthropic", model: "claude-x" },
      { model: "openai:gpt-x" },
    ];
    for (const flags of elsewhere) {
      const result = choose({ flags: { model: "m", ...flags }, env: KEYS, model });
      expect(JSON.stringify(result)).not.toContain('configured"');
    }
    expect(refusal({ flags: { model: "m", baseUrl: "https://other.example.com/v1" }, model }).kind).toBe(
      "no_key",
    );
  });

  it("of the environment goes to its vendor, not to an address without a name", () => {
    const flags = { model: "gpt-x", baseUrl: "https://models.example.com/v1" };
    expect(refusal({ flags, env: KEYS })).toMatchObject({ kind: "no_key" });
    expect(chosen({ flags: { ...flags, provider: "openai" }, env: KEYS }).apiKey).toBe(KEYS.OPENAI_API_KEY);
  });

  it("of Google has three names", () => {
    const names = ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"];
    for (const name of names)
      expect(chosen({ flags: { model: "gemini-x" }, env: { [name]: "k" } })).toMatchObject({
        apiKey: "k",
        keySource: name,
      });
  });

  it("of the environment comes before config's at a vendor, and after it at the user's own server", () => {
    const model = { default: "claude-x", provider: "anthropic", apiKey: "key-config" };
    expect(chosen({ env: ANTHROPIC, model })).toMatchObject({ keySource: "ANTHROPIC_API_KEY" });
    const own = { ...model, baseUrl: "https://models.example/anthropic" };
    expect(chosen({ env: ANTHROPIC, model: own })).toMatchObject({
      apiKey: "key-config",
      keySource: "config",
    });
  });

  it("is not asked for on a private network", () => {
    expect(chosen({ flags: { model: "m", baseUrl: "http://192.168.1.5:8000/v1" } }).apiKey).toBe("");
    expect(refusal({ flags: { model: "m", baseUrl: "http://[2001:db8::1]:8000/v1" } }).kind).toBe("no_key");
  });

  it("that is missing is named, with what to do", () => {
    const { kind, hint } = refusal({ flags: { model: "claude-x" } });
    expect(kind).toBe("no_key");
    for (const words of ["hermes setup", "hermes model set", "ANTHROPIC_API_KEY"])
      expect(hint).toContain(words);
  });
});

describe("custom providers", () => {
  const own = [
    {
      name: "Lab",
      baseUrl: "https://lab.example.com/v1",
      apiKey: "lab-key",
      apiMode: "responses",
      models: { "lab-1": {} },
    },
    { name: "anthropic", baseUrl: "https://mine.example.com/v1", apiKey: "mine" },
  ];

  it("are found by name, with their address, protocol and key", () => {
    const lab = {
      provider: "custom:Lab",
      baseUrl: "https://lab.example.com/v1",
      apiKey: "lab-key",
      apiMode: "responses",
    };
    expect(chosen({ flags: { provider: "lab", model: "m" }, own })).toMatchObject({ ...lab, model: "m" });
    expect(chosen({ flags: { provider: "custom:LAB" }, own })).toMatchObject({ ...lab, model: "lab-1" });
    expect(chosen({ flags: { baseUrl: "https://lab.example.com/v1/", model: "m" }, own })).toMatchObject({
      apiKey: "lab-key",
    });
  });

  it("are found by the name in front of a model when nothing else names a provider", () => {
    const lab = { provider: "custom:Lab", apiKey: "lab-key" };
    expect(chosen({ model: { default: "lab/lab-1" }, env: KEYS, own })).toMatchObject({
      ...lab,
      model: "lab-1",
    });
    expect(chosen({ model: { default: "lab/lab-1", provider: "openrouter" }, env: KEYS, own })).toMatchObject(
      {
        model: "lab/lab-1",
        apiKey: KEYS.OPENROUTER_API_KEY,
      },
    );
  });

  it("do not take a vendor's name away", () => {
    expect(chosen({ flags: { provider: "anthropic", model: "m" }, env: KEYS, own }).apiKey).toBe(
      KEYS.ANTHROPIC_API_KEY,
    );
    expect(chosen({ flags: { provider: "custom:anthropic", model: "m" }, env: KEYS, own }).apiKey).toBe(
      "mine",
    );
  });

  it("that are unknown are refused with a list of the known ones", () => {
    const { kind, hint } = refusal({ flags: { provider: "labb", model: "m" }, own });
    expect(kind).toBe("unknown_provider");
    expect(hint).toContain("Lab");
  });
});

describe("the protocol", () => {
  it("can be set in config, under either name", () => {
    const model = { default: "gpt-x", provider: "openai" };
    expect(chosen({ env: KEYS, model: { ...model, apiMode: "chat_completions" } }).apiMode).toBe(
      "chat_completions",
    );
    expect(chosen({ env: KEYS, model: { ...model, apiMode: "codex_responses" } }).apiMode).toBe("responses");
    expect(refusal({ env: KEYS, model: { ...model, apiMode: "soap" } }).message).toContain("soap");
  });

  it("of config is not used for another provider", () => {
    const model = { default: "gpt-x", provider: "openai", apiMode: "chat_completions" };
    expect(chosen({ flags: { model: "anthropic:claude-x" }, env: KEYS, model }).apiMode).toBe(
      "anthropic_messages",
    );
  });
});

it("without any model says how to get one", () => {
  const { kind, hint } = refusal({ env: KEYS });
  expect(kind).toBe("no_model");
  for (const words of ["hermes setup", "hermes model set", "OPENAI_API_KEY"]) expect(hint).toContain(words);
});

it("no error shows a key", () => {
  const url = "https://user:hunter2secret@models.example.com:99999/v1";
  expect(JSON.stringify(refusal({ flags: { model: "m", baseUrl: url } }))).not.toContain("hunter2secret");
});

it("suggested models are names that the vendors' SDKs list", () => {
  for (const { name, models } of knownProviders().filter((provider) => provider.models.length > 0)) {
    const types = readFileSync(`node_modules/@ai-sdk/${name}/dist/index.d.ts`, "utf8");
    for (const model of models) expect(types).toMatch(new RegExp(`['"]${model}['"]`));
  }
});
