import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONFIG_KEYS } from "@hermes-memory/core/internal/config";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHermes, runJson } from "./run.ts";

function homeWith(config: string): string {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), config);
  return home;
}

describe("hermes config get", () => {
  it("prints everything that applies as YAML, the defaults marked", async () => {
    const home = homeWith(
      "memory:\n  provider: mem0\n  write_approval: yes\ndisplay:\n  platforms:\n    telegram:\n      memory_notifications: off\n",
    );
    const { stdout, stderr, code } = await runHermes(["config", "get"], { home });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("  provider: mem0\n");
    expect(stdout).toContain("  memory_char_limit: 2200 # default\n");
    const json = (await runJson(["config", "get"], { home })) as { config: unknown; set: string[] };
    expect(parse(stdout)).toEqual(json.config);
    expect(json.config).toMatchObject({
      memory: { write_approval: true, overflow: "refuse" },
      display: { memory_notifications: "on", platforms: { telegram: { memory_notifications: "off" } } },
    });
    expect(json.set).toEqual([
      "memory.write_approval",
      "memory.provider",
      "display.platforms.telegram.memory_notifications",
    ]);
  });

  it("marks the keys that only this program knows", async () => {
    const home = homeWith("memory:\n  recall_max_chars: 900\n");
    const { stdout } = await runHermes(["config", "get", "memory"], { home });
    expect(stdout).toContain("  recall_max_chars: 900 # not in Hermes\n");
    expect(stdout).toContain("  overflow: refuse # default, not in Hermes\n");
    expect(stdout).toContain("  nudge_interval: 10 # default\n");
    const json = (await runJson(["config", "get"], { home })) as { not_in_hermes: string[] };
    const ours = CONFIG_KEYS.filter(({ isOurs, default: standard }) => isOurs && standard !== undefined);
    expect(json.not_in_hermes).toEqual(ours.map(({ key }) => key));
  });

  it("knows the value of every key that has a default", async () => {
    const { config } = (await runJson(["config", "get"], { home: tempDirectory() })) as { config: unknown };
    for (const { key, default: standard } of CONFIG_KEYS.filter((each) => each.default !== undefined)) {
      const value = key
        .split(".")
        .reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], config);
      expect(value, key).toEqual(standard);
    }
  });

  it("shows settings under an old name and prices of a model with dots in its name, and hides keys", async () => {
    const home = homeWith(
      "model: some/model\nauxiliary: {compression: {api_key: topsecret}}\nmodels: {prices: {my-1.5: {input: 1, output: 2, cache_read: 0.1}}}\n",
    );
    const { stdout } = await runHermes(["config", "get"], { home });
    expect(stdout).toContain("model:\n  default: some/model\n");
    expect(stdout).toContain('    api_key: "[hidden]"\n');
    const { config } = (await runJson(["config", "get", "models"], { home })) as { config: unknown };
    expect(config).toEqual({ models: { prices: { "my-1.5": { input: 1, output: 2, cache_read: 0.1 } } } });
  });

  it("never prints the environment of an MCP server, nor a key inside a longer text", async () => {
    const home = homeWith(`mcp_servers:
  lab.1: {command: npx, args: [--token=tell-0], env: {TOKEN: tell-1, PORT: 80}, headers: tell-2, timeout: 9}
  web: {url: "https://me:tell-3@mcp.example/v1", headers: {X-Any: tell-4}, env: [tell-5]}
custom_providers: [{name: own, api_key: tell-6}]
`);
    for (const args of [
      ["get"],
      ["get", "mcp_servers.web", "--json"],
      ["get", "mcp_servers.web.headers.X-Any"],
    ]) {
      const { stdout, stderr, code } = await runHermes(["config", ...args], { home });
      expect({ args, code, told: /tell-\d/.exec(stdout + stderr)?.[0] }).toEqual({ args, code: 0 });
      expect(stdout).toContain("[hidden]");
    }
    const { config } = (await runJson(["config", "get", "mcp_servers"], { home })) as { config: unknown };
    expect(config).toMatchObject({ mcp_servers: { "lab.1": { command: "npx", timeout: 9 } } });
    const set = await runHermes(["config", "set", "mcp_servers.web.env", "{A: tell-7}"], { home });
    expect(set).toMatchObject({ code: 0, stdout: expect.not.stringContaining("tell-") });
  });

  it("prints a section", async () => {
    const { stdout } = await runHermes(["config", "get", "logging"], { home: tempDirectory() });
    expect(stdout).toBe(
      "logging:\n  memory_monitor:\n    enabled: true # default\n    interval_seconds: 300 # default\n",
    );
  });

  it.each([
    ["database: {journal_mode: wal}", "database", { journal_mode: "wal" }],
    ["database: 5", "database", 5],
    ["plugins: {p: {a: 1}}", "plugins", { p: { a: 1 } }],
    ["mcp_servers: 5", "mcp_servers", 5],
  ])("prints what is set in a section that nothing here reads: %s", async (config, key, value) => {
    const home = homeWith(`${config}\n`);
    const { stdout, code } = await runHermes(["config", "get", key], { home });
    expect({ stdout, code }).toEqual({ stdout: `${JSON.stringify(value)}\n`, code: 0 });
    expect(await runJson(["config", "get", key], { home })).toEqual({ key, value, source: "file" });
  });

  it("prints a section that this program does not read, also when the file has mistakes elsewhere", async () => {
    const home = homeWith("database: {journal_mode: wal}\ncontext_file_max_chars: lots\n");
    expect((await runHermes(["config", "get", "database"], { home })).stdout).toBe(
      '{"journal_mode":"wal"}\n',
    );
  });

  it("hides secrets in a section that this program does not read", async () => {
    const home = homeWith("plugins: {p: {api_key: tell-1}}\n");
    const { stdout } = await runHermes(["config", "get", "plugins"], { home });
    expect(stdout).toBe('{"p":{"api_key":"[hidden]"}}\n');
  });

  it("says when a section that this program does not read is not set", async () => {
    const home = homeWith("memory: {nudge_interval: 3}\n");
    const answer = await runHermes(["config", "get", "database"], { home });
    expect(answer).toEqual({ stdout: "", stderr: "database is not set.\n", code: 0 });
    expect(await runJson(["config", "get", "mcp_servers"], { home })).toMatchObject({ config: {}, set: [] });
  });

  it("prints one bare value, and on stderr that it is the default", async () => {
    const home = homeWith("memory:\n  nudge_interval: 7\n");
    expect(await runHermes(["config", "get", "memory.nudge_interval"], { home })).toEqual({
      stdout: "7\n",
      stderr: "",
      code: 0,
    });
    const standard = await runHermes(["config", "get", "memory.history_keep"], { home });
    expect(standard.stdout).toBe("200\n");
    expect(standard.stderr).toContain("default");
    expect((await runHermes(["config", "get", "memory.provider"], { home })).stdout).toBe("\n");
  });

  it.each([
    ["memory: {write_approval: treu}", "memory.write_approval", false, '"treu" counts as false'],
    [
      "memory: {write_approval: yes}",
      "memory.write_approval",
      true,
      "config.yaml has yes, which counts as true.",
    ],
    ["compression: {target_ratio: 5}", "compression.target_ratio", 0.8, "has 5, which counts as 0.8."],
    ["model: m", "model.default", "m", "It is set by model, which is short for model.default."],
    [
      "memory: {write_mode: approve}",
      "memory.write_approval",
      true,
      "It is set by memory.write_mode, the old name of memory.write_approval.",
    ],
    [
      "{compression: {summary_model: s}, auxiliary: {compression: {model: ''}}}",
      "auxiliary.compression.model",
      "s",
      "It is set by compression.summary_model",
    ],
    [
      "memory: {write_mode: approve}",
      "memory.write_mode",
      "approve",
      "is the old name of memory.write_approval",
    ],
  ])("prints the value that counts, and why: %s", async (config, key, value, why) => {
    const home = homeWith(`${config}\n`);
    const { stdout, stderr, code } = await runHermes(["config", "get", key], { home });
    expect({ stdout, code }).toEqual({ stdout: `${value}\n`, code: 0 });
    expect(stderr).toContain(why);
    expect(stderr).not.toContain("This is the default");
    expect(await runJson(["config", "get", key], { home })).toMatchObject({ key, value, source: "file" });
  });

  it.each([
    ["model: {context_length: 256K}", "model.context_length", "256K", { value: null, source: "unset" }, ""],
    [
      "prompt_caching: {cache_ttl: 2h}",
      "prompt_caching.cache_ttl",
      "2h",
      { value: "5m", source: "default" },
      "5m\n",
    ],
    ["timezone: Mars/X", "timezone", "Mars/X", { value: "", source: "default" }, "\n"],
  ])("prints no value that is ignored: %s", async (config, key, written, counted, printed) => {
    const home = homeWith(`${config}\n`);
    const { stdout, stderr, code } = await runHermes(["config", "get", key], { home });
    expect({ stdout, code }).toEqual({ stdout: printed, code: 0 });
    expect(stderr).toContain(`"${written}" is ignored`);
    expect(stderr).not.toContain("does not set it");
    expect(await runJson(["config", "get", key], { home })).toEqual({ key, ...counted, in_file: written });
  });

  it("refuses an unknown key and names the nearest", async () => {
    const home = tempDirectory();
    const { stdout, stderr, code } = await runHermes(["config", "get", "memory.provder"], { home });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("Did you mean 'memory.provider'?");
  });
});

describe("a misspelt key under a name that is accepted by its beginning", () => {
  it("gets the same suggestion from get, set and check", async () => {
    const home = tempDirectory();
    const key = "compression.hygiene_treshold";
    const hint = "Did you mean 'compression.hygiene_threshold'?";
    const before = await runHermes(["config", "get", key], { home });
    expect(before).toMatchObject({ code: 1, stderr: expect.stringContaining(hint) });
    const set = await runHermes(["config", "set", key, "0.5"], { home });
    expect(set).toMatchObject({ code: 0, stdout: expect.stringContaining("compression.hygiene_threshold") });
    const after = await runHermes(["config", "get", key], { home });
    expect(after).toMatchObject({ code: 0, stdout: "0.5\n", stderr: expect.stringContaining(hint) });
    expect((await runHermes(["config", "check"], { home })).stdout).toContain(
      "compression.hygiene_threshold",
    );
  });
});

describe("hermes config set and unset", () => {
  it("sets the model where the file has its short form", async () => {
    const home = homeWith("model: m\n");
    const { stdout, code } = await runHermes(["config", "set", "model.default", "n"], { home });
    expect({ stdout, code }).toEqual({
      stdout: expect.stringContaining("model.default is now n (before: m).\n"),
      code: 0,
    });
    expect((await runHermes(["config", "get", "model.default"], { home })).stdout).toBe("n\n");
  });

  it("changes one line and keeps the comments", async () => {
    const home = homeWith("# mine\nmemory:\n  nudge_interval: 7 # often\n");
    const { stdout, code } = await runHermes(["config", "set", "memory.nudge_interval", "12"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("memory.nudge_interval is now 12 (before: 7).\n");
    expect(readFileSync(join(home, "config.yaml"), "utf8")).toBe(
      "# mine\nmemory:\n  nudge_interval: 12 # often\n",
    );
    const gone = await runHermes(["config", "unset", "memory.nudge_interval"], { home });
    expect(gone.stdout).toContain("memory.nudge_interval is no longer set. The default is 10.\n");
    expect((await runHermes(["config", "unset", "memory.nudge_interval"], { home })).stdout).toContain(
      "was not set",
    );
  });

  it("stores a key that this program does not read, and says so", async () => {
    const home = tempDirectory();
    const { stdout, code } = await runHermes(["config", "set", "memory.provder", "mem0"], { home });
    expect(code).toBe(0);
    expect(stdout).toContain("not a key this program reads");
    expect(stdout).toMatch(/suggestion +memory\.provider\n/);
  });

  it("never repeats a secret", async () => {
    const home = tempDirectory();
    const first = await runHermes(["config", "set", "memory.mem0.api_key", "abc-123"], { home });
    const second = await runHermes(["config", "set", "memory.mem0.api_key", "abc-456", "--json"], { home });
    expect(first.code + second.code).toBe(0);
    expect(first.stdout + first.stderr + second.stdout + second.stderr).not.toMatch(/abc-/);
  });

  it("writes nothing when the value is not allowed", async () => {
    const home = tempDirectory();
    const args = ["config", "set", "memory.memory_char_limit", "many", "--json"];
    const { stdout, code } = await runHermes(args, { home });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ success: false, kind: "invalid" });
    expect(existsSync(join(home, "config.yaml"))).toBe(false);
  });
});

describe("hermes config path and check", () => {
  it("prints the path, and on stderr that there is no file", async () => {
    const home = tempDirectory();
    const { stdout, stderr, code } = await runHermes(["config", "path"], { home });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(home, "config.yaml")}\n` });
    expect(stderr).toContain("defaults");
    expect(await runJson(["config", "path"], { home })).toMatchObject({ exists: false });
  });

  it("finds no problem without a file or with a valid one", async () => {
    expect((await runHermes(["config", "check"], { home: tempDirectory() })).code).toBe(0);
    const good = await runHermes(["config", "check"], { home: homeWith("memory:\n  overflow: archive\n") });
    expect(good.code).toBe(0);
    expect(good.stdout).toContain("0 problems");
  });

  it("counts unknown keys as notes, not as problems", async () => {
    const home = homeWith("memory:\n  nudge_intervall: 3\ntelegram:\n  token: none-of-ours\n");
    const { stdout, code } = await runHermes(["config", "check"], { home });
    expect(code).toBe(0);
    expect(stdout).toMatch(/memory\.nudge_intervall .*memory\.nudge_interval\n/);
    expect(stdout).not.toContain("none-of-ours");
  });

  it("fails with the line of each mistake", async () => {
    const home = homeWith("memory:\n  overflow: maybe\n  scan_allow: [no_such_threat]\n");
    const { stdout, code } = await runHermes(["config", "check"], { home });
    expect(code).toBe(1);
    expect(stdout).toMatch(/errors \(1\)\n.*\n +memory\.overflow +must be refuse or archive.* 2\n/);
    expect(stdout).toMatch(/memory\.scan_allow +names "no_such_threat"/);
    expect(stdout).toContain("2 problems");
  });

  it("reports broken YAML", async () => {
    const home = homeWith("memory: [unclosed\n");
    const { stdout, code } = await runHermes(["config", "check", "--json"], { home });
    expect(code).toBe(1);
    const found = JSON.parse(stdout) as { ok: boolean; errors: object[] };
    expect(found).toMatchObject({ ok: false, exists: true });
    expect(found.errors[0]).toMatchObject({ key: "", line: 2 });
  });
});
