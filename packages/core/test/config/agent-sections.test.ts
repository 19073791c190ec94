import { describe, expect, it } from "vitest";
import {
  checkConfig,
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

describe("the keys of the agent", () => {
  it("are read whole", async () => {
    const config = await load(`
agent: {max_turns: 5, api_max_retries: 1, max_output_tokens: 4096}
approvals: {destructive_slash_confirm: no}
display: {show_reasoning: yes}
sessions: {write_json_snapshots: true}
skills: {creation_nudge_interval: 0}
auxiliary: {title_generation: {provider: openai, model: small, base_url: http://t/v1, api_key: 7, timeout: 4, extra_body: {seed: 1}}}
`);
    expect(config).toMatchObject({
      agent: { maxTurns: 5, apiMaxRetries: 1, maxOutputTokens: 4096 },
      approvals: { destructiveSlashConfirm: false },
      display: { showReasoning: true, memoryNotifications: "on" },
      sessions: { writeJsonSnapshots: true },
      skills: { creationNudgeInterval: 0 },
    });
    expect(config.auxiliary.titleGeneration).toEqual({
      provider: "openai",
      model: "small",
      baseUrl: "http://t/v1",
      apiKey: "7",
      timeout: 4,
      extraBody: { seed: 1 },
    });
  });

  it.each([
    ["agent: {max_turns: 0}", "agent.max_turns must be a whole number of at least 1, but is 0"],
    ["agent: {api_max_retries: 0}", "agent.api_max_retries must be a whole number of at least 1"],
    ["agent: {max_output_tokens: 8K}", "agent.max_output_tokens must be a whole number of at least 1"],
    ["skills: {creation_nudge_interval: -1}", "skills.creation_nudge_interval must be a whole number"],
    ["approvals: {destructive_slash_confirm: ask}", "approvals.destructive_slash_confirm must be true or"],
    ["auxiliary: {title_generation: {timeout: 0}}", "auxiliary.title_generation.timeout must be a number"],
  ])("refuse %s", async (text, message) => {
    using temp = tempHome();
    temp.writeConfig(text);
    const config = await loadConfig(temp.home);
    expect(!config.ok && config.error.message).toContain(message);
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
      "mcp_servers.ok.command",
      "mcp_servers.bare",
      "mcp_servers.neither",
      "mcp_servers.ftp.url",
      "mcp_servers.odd.args",
      "mcp_servers.odd.env.A",
      "mcp_servers.odd.headers",
      "mcp_servers.odd.enabled",
      "mcp_servers.odd.timeout",
      "mcp_servers.odd.connect_timeout",
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
