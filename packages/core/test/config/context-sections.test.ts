import { describe, expect, it } from "vitest";
import {
  checkConfig,
  getConfigValue,
  type HermesConfig,
  loadConfig,
  setConfigValue,
} from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

async function load(text: string): Promise<HermesConfig> {
  using temp = tempHome();
  temp.writeConfig(text);
  const config = await loadConfig(temp.home);
  if (!config.ok) throw new Error(config.error.message);
  return config.value;
}

async function refusal(text: string): Promise<string> {
  using temp = tempHome();
  temp.writeConfig(text);
  const config = await loadConfig(temp.home);
  return config.ok ? "" : config.error.message;
}

describe("the sections about a conversation's window", () => {
  it("are read whole", async () => {
    const { context, compression, promptCaching, auxiliary } = await load(`
context:
  engine: " lcm "
  lcm: {fresh_tail_ratio: 0.3, leaf_tokens: 4000, leaf_summary_tokens: 400, fanout: 4, max_depth: 3}
compression:
  enabled: no
  threshold: 0.6
  target_ratio: 0.4
  protect_first_n: 0
  protect_last_n: 5
  abort_on_summary_failure: true
  checkpoint_required: true
  hygiene_threshold: 0.9
  hygiene_hard_message_limit: 50
prompt_caching: {cache_ttl: 1h}
auxiliary:
  compression:
    provider: openrouter
    model: small
    base_url: http://localhost:1/v1
    api_key: 77
    api_mode: chat_completions
    timeout: 5
    extra_body: {seed: 1}
    context_length: 32000
`);
    expect(context).toEqual({
      engine: "lcm",
      lcm: { freshTailRatio: 0.3, leafTokens: 4000, leafSummaryTokens: 400, fanout: 4, maxDepth: 3 },
    });
    expect(compression).toEqual({
      enabled: false,
      threshold: 0.6,
      targetRatio: 0.4,
      protectFirstN: 0,
      protectLastN: 5,
      abortOnSummaryFailure: true,
      checkpointRequired: true,
      hygieneThreshold: 0.9,
      hygieneHardMessageLimit: 50,
    });
    expect(promptCaching).toEqual({ cacheTtl: "1h" });
    expect(auxiliary.compression).toEqual({
      provider: "openrouter",
      model: "small",
      baseUrl: "http://localhost:1/v1",
      apiKey: "77",
      apiMode: "chat_completions",
      timeout: 5,
      extraBody: { seed: 1 },
      contextLength: 32_000,
    });
  });

  it("take the words and digits of the original for compression.enabled", async () => {
    for (const on of ["true", "TRUE", "yes", "1", '"1"', "on"])
      expect((await load(`compression: {enabled: ${on}}`)).compression.enabled, on).toBe(true);
    for (const off of ["false", "no", "0", '"0"', "off"])
      expect((await load(`compression: {enabled: ${off}}`)).compression.enabled, off).toBe(false);
  });

  it("clamp what the original clamps, and mean the default by an empty engine", async () => {
    const { compression, context } = await load(
      "context: {engine: '', lcm: {fresh_tail_ratio: 9}}\ncompression: {target_ratio: 0.01, protect_first_n: -4}\n",
    );
    expect(compression).toMatchObject({ targetRatio: 0.1, protectFirstN: 0 });
    expect(context).toMatchObject({ engine: "compressor", lcm: { freshTailRatio: 0.8 } });
  });

  it("read the summary model's old names where the new ones say nothing", async () => {
    const old =
      "compression: {summary_model: old-m, summary_provider: nous, summary_base_url: http://o/v1}\n";
    expect((await load(old)).auxiliary.compression).toMatchObject({
      model: "old-m",
      provider: "nous",
      baseUrl: "http://o/v1",
    });
    const both = await load(`${old}auxiliary: {compression: {model: new-m, provider: auto}}\n`);
    expect(both.auxiliary.compression).toMatchObject({ model: "new-m", provider: "nous" });
    const empty = await load(
      "compression: {summary_model: '', summary_provider: auto, summary_base_url: 5}\n",
    );
    expect(empty.auxiliary.compression).toMatchObject({ model: "", provider: "auto", baseUrl: "" });
  });

  it.each([
    ["compression: {threshold: 50}", "compression.threshold must be a number above 0 and at most 1"],
    ["compression: {threshold: 0}", "compression.threshold must be a number above 0"],
    ["compression: {enabled: maybe}", 'compression.enabled must be true or false, but is "maybe"'],
    ["compression: {target_ratio: much}", "compression.target_ratio must be a number"],
    ["compression: {protect_first_n: 1.5}", "compression.protect_first_n must be a whole number"],
    ["compression: {protect_last_n: -1}", "compression.protect_last_n must be a whole number of at least 0"],
    ["compression: []", "compression must be a section with keys of its own"],
    ["context: {engine: [a]}", "context.engine must be text"],
    ["context: {lcm: {fanout: 1}}", "context.lcm.fanout must be a whole number of at least 2, but is 1"],
    ["prompt_caching: 5m", "prompt_caching must be a section"],
    ["auxiliary: {compression: {timeout: 0}}", "auxiliary.compression.timeout must be a number above 0"],
    ["model: 5", "model must be a model's name, or a section with keys of its own, but is 5"],
    ["model: {probe_remote: 7}", "model.probe_remote must be true or false, but is 7"],
    ["custom_providers: {a: 1}", "custom_providers must be a list of providers"],
    ["models: {prices: {m: {input: 1}}}", "models.prices.m.output must be a number of at least 0"],
    ["models: {prices: {m: {input: -1, output: 2}}}", "models.prices.m.input must be a number of at least 0"],
  ])("refuse %s", async (text, message) => {
    expect(await refusal(text)).toContain(message);
  });
});

describe("the sections about models", () => {
  it("take a name alone, and a section", async () => {
    expect((await load("model: some/model\n")).model).toMatchObject({ default: "some/model", provider: "" });
    const { model } = await load(
      "model: {default: ' m ', provider: custom, base_url: http://127.0.0.1:1/v1, api_key: 9, api_mode: x, context_length: 32768, probe_remote: yes}\n",
    );
    expect(model).toEqual({
      default: "m",
      provider: "custom",
      baseUrl: "http://127.0.0.1:1/v1",
      apiKey: "9",
      apiMode: "x",
      contextLength: 32_768,
      probeRemote: true,
    });
  });

  it("read prices by model, and leave a section of another program alone", async () => {
    const { models } = await load(
      "models: {prices: {my-model-1.5: {input: 1, output: 2.5, cache_read: 0.1}, other: {input: 0, output: 0, cache_write: 3}}}\n",
    );
    expect(models.prices).toEqual({
      "my-model-1.5": { input: 1, output: 2.5, cacheRead: 0.1 },
      other: { input: 0, output: 0, cacheWrite: 3 },
    });
    expect((await load("models: [a, b]\n")).models.prices).toEqual({});
  });

  it("take of custom providers what can be used", async () => {
    const { models } = await load(`
custom_providers:
  - just text
  - name: lab
    base_url: http://lab.example/v1
    api_key: 5
    models:
      big: {context_length: 64000}
      odd: {context_length: 64K}
      bare:
  - name: [x]
    models: [a]
`);
    expect(models.customProviders).toEqual([
      {
        name: "lab",
        baseUrl: "http://lab.example/v1",
        apiKey: "",
        apiMode: "",
        models: { big: { contextLength: 64_000 }, odd: {}, bare: {} },
      },
      { name: "", baseUrl: "", apiKey: "", apiMode: "", models: {} },
    ]);
  });
});

describe("values that the original passes over", () => {
  const text = `model: {default: m, context_length: 256K}
auxiliary: {compression: {context_length: -1}}
compression: {hygiene_hard_message_limit: 0, summary_model: old}
prompt_caching:
  cache_ttl: 2h
custom_providers: [{models: {a: {context_length: 1.5}}}]
`;

  it("stop nothing from being read", async () => {
    const config = await load(text);
    expect(config.model).not.toHaveProperty("contextLength");
    expect(config.auxiliary.compression).not.toHaveProperty("contextLength");
    expect(config.compression.hygieneHardMessageLimit).toBe(5000);
    expect(config.promptCaching.cacheTtl).toBe("5m");
  });

  it("are pointed out by the check, like old names, with their line", async () => {
    using temp = tempHome();
    temp.writeConfig(text);
    const { errors, warnings, unknownKeys } = await checkConfig(temp.home);
    expect({ errors, unknownKeys }).toEqual({ errors: [], unknownKeys: [] });
    expect(warnings).toEqual([
      {
        key: "compression.summary_model",
        message: "is the old name of auxiliary.compression.model; set that one instead and remove this",
        line: 3,
      },
      {
        key: "model.context_length",
        message: 'must be a whole number above 0, such as 256000; "256K" is ignored',
        line: 1,
      },
      expect.objectContaining({ key: "auxiliary.compression.context_length", line: 2 }),
      expect.objectContaining({ key: "custom_providers.0.models.a.context_length", line: 6 }),
      expect.objectContaining({ key: "compression.hygiene_hard_message_limit", line: 3 }),
      { key: "prompt_caching.cache_ttl", message: 'must be 5m or 1h; "2h" is ignored', line: 5 },
    ]);
  });

  it("are not written by set, whatever else is in the file", async () => {
    using temp = tempHome();
    temp.writeConfig(text);
    const refused = await setConfigValue(temp.home, "model.context_length", "128K");
    expect(refused).toMatchObject({
      ok: false,
      error: { issues: [{ message: 'must be a whole number above 0, such as 256000, but is "128K"' }] },
    });
    expect(await setConfigValue(temp.home, "model.context_length", "128000")).toMatchObject({ ok: true });
    expect(await getConfigValue(temp.home, "model.context_length")).toMatchObject({
      value: { value: 128_000, source: "file" },
    });
  });
});
