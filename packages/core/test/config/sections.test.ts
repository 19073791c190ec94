// Sections and values with rules of their own; every-key.test.ts tries each key with what is allowed and what is not.
import { describe, expect, it } from "vitest";
import {
  checkConfig,
  getConfigValue,
  type HermesConfig,
  loadConfig,
  mcpServerRemarks,
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

describe("spellings of a value", () => {
  it.each([
    ...["true", "TRUE", "yes", "1", '"1"', "on"].map((on) => [
      `compression: {enabled: ${on}}`,
      { compression: { enabled: true } },
    ]),
    ...["false", "no", "0", '"0"', "off"].map((off) => [
      `compression: {enabled: ${off}}`,
      { compression: { enabled: false } },
    ]),
    ["memory: {memory_char_limit: , provider: ~}", { memory: { memoryCharLimit: 2200, provider: "" } }],
    ["context: {engine: ' lcm '}", { context: { engine: "lcm" } }],
    ["context: {engine: ''}", { context: { engine: "compressor" } }],
    ["context: {lcm: {fresh_tail_ratio: 9}}", { context: { lcm: { freshTailRatio: 0.8 } } }],
    ["compression: {target_ratio: 0.01}", { compression: { targetRatio: 0.1 } }],
    ["compression: {protect_first_n: -4}", { compression: { protectFirstN: 0 } }],
    [
      "auxiliary: {session_search: {max_concurrency: 50}}",
      { auxiliary: { sessionSearch: { maxConcurrency: 5 } } },
    ],
    ["auxiliary: {title_generation: {api_key: 7}}", { auxiliary: { titleGeneration: { apiKey: "7" } } }],
    ["auxiliary:\n  session_search:\n", { auxiliary: { sessionSearch: { provider: "auto", apiKey: "" } } }],
    ["session_search: {summarize: false}", { sessionSearch: { summarize: "off" } }],
    [
      "display: {memory_notifications: off, platforms: {slack: }}",
      { display: { memoryNotifications: "off", platforms: { slack: {} } } },
    ],
    ["agent: {tool_use_enforcement: 'off'}", { agent: { toolUseEnforcement: false } }],
    ["agent: {tool_use_enforcement: Auto}", { agent: { toolUseEnforcement: "auto" } }],
    ["agent: {tool_use_enforcement: [gpt, Qwen]}", { agent: { toolUseEnforcement: ["gpt", "Qwen"] } }],
    ["skills: {external_dirs: ~/team}", { skills: { externalDirs: ["~/team"] } }],
    [
      "skills: {platform_disabled: {telegram: c, cli: }}",
      { skills: { platformDisabled: { telegram: ["c"], cli: [] } } },
    ],
    [
      "gateway: {allowed_hosts: host.docker.internal}",
      { gateway: { allowedHosts: ["host.docker.internal"] } },
    ],
    ["model: some/model", { model: { default: "some/model", provider: "" } }],
    ["model: {default: ' m '}", { model: { default: "m" } }],
  ] as [string, object][])("%s", async (text, expected) => {
    expect(await load(text)).toMatchObject(expected);
  });

  it.each([
    ["model: 5", "model must be a model's name, or a section with keys of its own, but is 5"],
    ["custom_providers: {a: 1}", "custom_providers must be a list of providers"],
    ["models: {prices: {m: {input: 1}}}", "models.prices.m.output must be a number of at least 0"],
    ["models: {prices: {m: {input: -1, output: 2}}}", "models.prices.m.input must be a number of at least 0"],
    ["compression: []", "compression must be a section with keys of its own"],
    ["skills: {platform_disabled: [a]}", "skills.platform_disabled must be a section"],
  ])("refuses %s", async (text, message) => {
    using temp = tempHome();
    temp.writeConfig(text);
    const config = await loadConfig(temp.home);
    expect(!config.ok && config.error.message).toContain(message);
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
});

describe("models", () => {
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

describe("mcp_servers", () => {
  it("are read with their defaults, in the order of the file", async () => {
    const { mcpServers } = await load(`
mcp_servers:
  plain: {command: " npx "}
  full:
    command: node
    args: [server.js, --port, 8080, true]
    env: {TOKEN: abc, DEBUG: 1, EMPTY: }
    cwd: /srv
    enabled: off
    timeout: 5
    connect_timeout: 0.5
    tools: {include: [read], exclude: [write]}
  web: {url: "https://mcp.example/v1", headers: {Authorization: Bearer abc}, sampling: {model: x}}
`);
    const standard = { args: [], env: {}, headers: {}, enabled: true, timeout: 120, connectTimeout: 30 };
    expect(mcpServers).toEqual([
      { ...standard, name: "plain", command: "npx", tools: { exclude: [] } },
      {
        name: "full",
        command: "node",
        args: ["server.js", "--port", "8080", "true"],
        env: { TOKEN: "abc", DEBUG: "1" },
        cwd: "/srv",
        headers: {},
        enabled: false,
        timeout: 5,
        connectTimeout: 0.5,
        tools: { include: ["read"], exclude: ["write"] },
      },
      {
        ...standard,
        name: "web",
        url: "https://mcp.example/v1",
        headers: { Authorization: "Bearer abc" },
        tools: { exclude: [] },
      },
    ]);
  });

  const broken = `mcp_servers:
  ok: {command: a, url: http://127.0.0.1:1/mcp}
  bare: secret-1
  neither: {args: [secret-2]}
  ftp:
    url: ftp://secret-3
  odd:
    command: b
    args: secret-4
    env: {A: {b: secret-5}, C: kept}
    headers: [secret-6]
    enabled: maybe
    timeout: 1m
    connect_timeout: 0
    tools: [secret-7]
`;

  it("leave out what cannot be used, and nothing else", async () => {
    const { mcpServers } = await load(broken);
    expect(mcpServers.map(({ name }) => name)).toEqual(["ok", "odd"]);
    expect(mcpServers[0]).not.toHaveProperty("command");
    expect(mcpServers[1]).toEqual({
      name: "odd",
      command: "b",
      args: [],
      env: { C: "kept" },
      headers: {},
      enabled: true,
      timeout: 120,
      connectTimeout: 30,
      tools: { exclude: [] },
    });
    expect(await load("mcp_servers: [a]\n")).toMatchObject({ mcpServers: [] });
  });

  it("come with a remark for each of these, without its value, for the host and for the check", async () => {
    const remarks = mcpServerRemarks(await load(broken));
    expect(remarks.map(({ key }) => key)).toEqual([
      ..."mcp_servers.ok.command mcp_servers.bare mcp_servers.neither mcp_servers.ftp.url".split(" "),
      ..."mcp_servers.odd.args mcp_servers.odd.env.A mcp_servers.odd.headers".split(" "),
      ..."mcp_servers.odd.enabled mcp_servers.odd.timeout mcp_servers.odd.connect_timeout".split(" "),
      "mcp_servers.odd.tools",
    ]);
    expect(JSON.stringify(remarks)).not.toContain("secret-");
    using temp = tempHome();
    temp.writeConfig(broken);
    const { errors, warnings, unknownKeys } = await checkConfig(temp.home);
    expect({ errors, unknownKeys }).toEqual({ errors: [], unknownKeys: [] });
    expect(warnings.map(({ key, message }) => ({ key, message }))).toEqual(remarks);
    expect(warnings.find(({ key }) => key === "mcp_servers.ftp.url")?.line).toBe(6);
    expect(mcpServerRemarks(await load("mcp_servers: 5\n"))).toHaveLength(1);
  });

  it("can be set key by key, but not to what would be left out", async () => {
    using temp = tempHome();
    const set = (key: string, value: string) => setConfigValue(temp.home, key, value);
    const first = await set("mcp_servers.lab.args", "[-y, lab]");
    expect(first).toMatchObject({ ok: true });
    expect(first.ok && first.value.note).toBeUndefined();
    expect(await set("mcp_servers.lab.command", "npx")).toMatchObject({ ok: true });
    expect(await set("mcp_servers.lab.timeout", "soon")).toMatchObject({ ok: false });
    const broken = await set("mcp_servers.lab.env", "{TOKEN: secret-8");
    expect(!broken.ok && broken.error.message).toContain("cannot take this: it is not a YAML value");
    expect(await set("mcp_servers.web", "{url: none}")).toMatchObject({
      ok: false,
      error: { issues: [{ key: "mcp_servers.web.url" }] },
    });
    const config = await loadConfig(temp.home);
    expect(config.ok && config.value.mcpServers).toMatchObject([
      { name: "lab", command: "npx", args: ["-y", "lab"], timeout: 120 },
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

describe("profiles of identities", () => {
  it.each([
    ["a text", "work", "gateway.identity_profiles"],
    ["a list", "[work]", "gateway.identity_profiles"],
    ["an identity without a platform", "{alice: work}", "gateway.identity_profiles.alice"],
    ["an identity without an id", '{"api:": work}', "gateway.identity_profiles.api:"],
    ["an identity with an empty platform", '{":alice": work}', "gateway.identity_profiles.:alice"],
    ["a profile that cannot exist", "{api:alice: ../up}", "gateway.identity_profiles.api:alice"],
    ["a reserved profile", "{api:alice: root}", "gateway.identity_profiles.api:alice"],
    ["a number", "{api:alice: 7}", "gateway.identity_profiles.api:alice"],
    ["nothing", "{api:alice: }", "gateway.identity_profiles.api:alice"],
  ])("take no %s for the profiles of identities", async (_what, value, key) => {
    using temp = tempHome();
    temp.writeConfig(`gateway:\n  identity_profiles: ${value}\n`);
    expect(await loadConfig(temp.home)).toMatchObject({ ok: false, error: { issues: [{ key }] } });
    const { errors } = await checkConfig(temp.home);
    expect(errors).toMatchObject([
      { key, message: expect.stringContaining("must name a profile for each identity") },
    ]);
  });

  it("never show the secret of signed headers in an error", async () => {
    using temp = tempHome();
    temp.writeConfig("gateway:\n  jwt_secret: [hush]\n  port: x\n");
    const { errors, warnings } = await checkConfig(temp.home);
    expect(errors).toMatchObject([{ key: "gateway.port" }]);
    expect(JSON.stringify([errors, warnings])).not.toContain("hush");
  });
});

/** Keys and defaults that the Hermes of November 2026 added to sections we read. */
const TODAY = `compression:
  in_place: true
  tail_mode: legacy
  threshold_tokens:
  model_thresholds: {gpt-5: 0.7}
  max_attempts: 3
  min_tail_user_messages: 1
  micro_compact: false
  idle_compact_after_seconds: 0
  proactive_prune_tokens: 0
  proactive_prune_min_result_chars: 8000
  context_timeout_seconds: 120
  context_total_ceiling_seconds: 600
  hygiene_hard_message_limit: 5000
  hygiene_timeout_seconds: 60
  hygiene_max_turn_hold_seconds: 10
  checkpoint_required: false
sessions:
  auto_archive: false
  auto_archive_days: 3
  cjk_fts: true
  fts_optimize_notice: true
  max_resume_messages: 20000
  max_export_messages: 20000
  min_vacuum_interval_days: 30
  search_slow_ms: 1000
memory: {nudge_interval: 10}
database: {journal_mode: wal, wal_autocheckpoint: 1000, journal_size_limit: 67108864}
curator: {consolidate: false, archive_ttl_days: 0}
skills: {ledger: true, project_discovery: false, trusted_project_dirs: [], tier1_advisory: true}
delegation: {max_concurrent_children: 10, max_iterations: 250, max_async_children: 3, max_summary_chars: 24000}
`;

describe("a config.yaml of today's Hermes", () => {
  it("is read without an error, a warning or a remark about unknown keys", async () => {
    using temp = tempHome();
    temp.writeConfig(TODAY);
    expect(await checkConfig(temp.home)).toMatchObject({ errors: [], warnings: [], unknownKeys: [] });
    expect(await loadConfig(temp.home)).toMatchObject({
      ok: true,
      value: {
        delegation: { maxConcurrentChildren: 10, maxIterations: 250 },
        compression: { hygieneHardMessageLimit: 5000 },
      },
    });
  });

  it("still gets a suggestion for a key that is spelled wrong", async () => {
    using temp = tempHome();
    temp.writeConfig("compression: {min_tail_user_mesages: 1, hygiene_thresold: 0.5}\n");
    expect((await checkConfig(temp.home)).unknownKeys).toMatchObject([
      { suggestion: "compression.min_tail_user_messages" },
      { suggestion: "compression.hygiene_threshold" },
    ]);
  });
});
