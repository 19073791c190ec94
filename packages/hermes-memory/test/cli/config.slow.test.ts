import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONFIG_KEYS } from "@hermes-memory/core/internal/config";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHermes, runJson } from "./run.ts";

function homeWith(config: string): string {
  const home = tempDirectory();
  writeFileSync(join(home, "config.yaml"), config);
  return home;
}

describe("hermes config get", () => {
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
});

describe("hermes config set and unset", () => {
  it("never repeats a secret", async () => {
    const home = tempDirectory();
    const first = await runHermes(["config", "set", "memory.mem0.api_key", "abc-123"], { home });
    const second = await runHermes(["config", "set", "memory.mem0.api_key", "abc-456", "--json"], { home });
    expect(first.code + second.code).toBe(0);
    expect(first.stdout + first.stderr + second.stdout + second.stderr).not.toMatch(/abc-/);
  });
});
