import { describe, expect, it } from "vitest";
import { presentable } from "../../src/cli/config/config-values.ts";

const servers = {
  lab: {
    command: "npx",
    args: ["-y", "--token=tell-0", "--forge-pat=tell-6"],
    env: { ANY: "tell-1", PORT: 80 },
    timeout: 9,
  },
  "web.1": { url: "https://me:tell-2@mcp.example/v1", headers: { "X-Any": "tell-3" }, env: ["tell-4"] },
  odd: { headers: "tell-5", env: null },
};

describe("settings that are shown", () => {
  it("hide the environment and headers of an MCP server, whatever their shape", () => {
    const told = presentable(["mcp_servers"], servers);
    expect(JSON.stringify(told)).not.toMatch(/tell-|80/);
    expect(told).toMatchObject({
      lab: { command: "npx", env: { ANY: "[hidden]", PORT: "[hidden]" }, timeout: 9 },
      "web.1": { headers: { "X-Any": "[hidden]" }, env: "[hidden]" },
      odd: { headers: "[hidden]", env: null },
    });
  });

  it("hide a value by its name, by the name of its section, and by its format", () => {
    expect(presentable(["mcp_servers", "lab", "env", "ANY"], "tell-1")).toBe("[hidden]");
    expect(presentable(["mcp_servers", "web.1", "url"], servers["web.1"].url)).not.toContain("tell-");
    expect(presentable(["mcp_servers", "lab", "timeout"], 9)).toBe(9);
    expect(presentable(["model", "api_key"], "mine")).toBe("[hidden]");
    expect(presentable(["model", "api_key"], "")).toBe("");
    expect(presentable(["plugins", "x", "credentials"], { user: "ada", pin: 4711 })).toBe("[hidden]");
    expect(presentable(["extra", "headers"], { Authorization: "tell-7", Accept: "json" })).toEqual({
      Authorization: "[hidden]",
      Accept: "json",
    });
    const token = `ghp_${"aB3dE6gH9j".repeat(4)}`;
    expect(presentable(["plugins", "x", "note"], `see ${token}`)).toBe("see ghp_***");
    expect(presentable(["model", "base_url"], "https://me:tell-8@host.example/v1")).toBe(
      "https://me:***@host.example/v1",
    );
    expect(presentable(["custom_providers"], [{ name: "own", api_key: "tell-6" }])).toEqual([
      { name: "own", api_key: "[hidden]" },
    ]);
    expect(presentable(["agent", "max_output_tokens"], 4096)).toBe(4096);
  });

  it("hide the argument after a flag that takes a secret, also when shown alone", () => {
    const args = [
      "-y",
      "x",
      "--token",
      "tell-1",
      "--api-key",
      "tell-2",
      "-p",
      "80",
      "--password",
      "--verbose",
    ];
    expect(presentable(["mcp_servers", "lab"], { args })).toEqual({
      args: [
        "-y",
        "x",
        "--token",
        "[hidden]",
        "--api-key",
        "[hidden]",
        "-p",
        "80",
        "--password",
        "--verbose",
      ],
    });
    expect(presentable(["mcp_servers", "lab", "args", "3"], "tell-1")).toBe("[hidden]");
    expect(presentable(["mcp_servers", "lab", "args", "2"], "--token")).toBe("--token");
  });

  it("hide the credentials in a query string", () => {
    const url =
      "https://h.example/a?key=tell-1&sig=tell-2&page=2&token=tell-3&X-Amz-Signature=tell-4#code=tell-5";
    expect(presentable(["x", "url"], url)).toBe(
      "https://h.example/a?key=***&sig=***&page=2&token=***&X-Amz-Signature=***#code=***",
    );
  });

  it("hide lists and maps of secrets, by every path into them, and leave amounts", () => {
    for (const name of ["tokens", "keys", "secrets", "passwords", "api_keys"]) {
      const held = presentable(["auxiliary", "curator"], {
        [name]: ["tell-1"],
        other: { [name]: { a: "tell-2" } },
      });
      expect(held).toEqual({ [name]: "[hidden]", other: { [name]: "[hidden]" } });
      expect(presentable(["auxiliary", "curator", name, "0"], "tell-1")).toBe("[hidden]");
    }
    for (const name of [
      "Passwort",
      "SMTP_PASS",
      "pass",
      "smtpPass",
      "GITHUB_PAT",
      "contraseña",
      "senha",
      "пароль",
    ])
      expect(presentable(["x", name], "tell-1"), name).toBe("[hidden]");
    for (const name of ["bypass", "compat"]) expect(presentable(["x", name], "on")).toBe("on");
    expect(presentable(["context", "lcm", "leaf_tokens"], 2000)).toBe(2000);
    expect(presentable(["memory", "allow_secrets"], false)).toBe(false);
  });
});
