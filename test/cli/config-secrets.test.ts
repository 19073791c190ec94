import { describe, expect, it } from "vitest";
import { presentable } from "../../src/cli/config/secrets.ts";

const servers = {
  lab: { command: "npx", args: ["-y", "--token=tell-0"], env: { ANY: "tell-1", PORT: 80 }, timeout: 9 },
  "web.1": { url: "https://me:tell-2@mcp.example/v1", headers: { "X-Any": "tell-3" }, env: ["tell-4"] },
  odd: { headers: "tell-5", env: null },
};

describe("settings that are shown", () => {
  it("hold nothing of what an MCP server is handed, whatever its shape", () => {
    const told = presentable(["mcp_servers"], servers);
    expect(JSON.stringify(told)).not.toMatch(/tell-|80/);
    expect(told).toMatchObject({
      lab: { command: "npx", env: { ANY: "[hidden]", PORT: "[hidden]" }, timeout: 9 },
      "web.1": { headers: { "X-Any": "[hidden]" }, env: "[hidden]" },
      odd: { headers: "[hidden]", env: null },
    });
  });

  it("hide a value by its own name, by the name of what it is part of, and by its look", () => {
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
});
