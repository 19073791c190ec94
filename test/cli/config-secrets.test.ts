import { describe, expect, it } from "vitest";
import { askedFor, presentable } from "../../src/cli/config/secrets.ts";

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

  it("hide it also from somebody who asks for it by its name", () => {
    expect(askedFor(["mcp_servers", "lab", "env", "ANY"], "tell-1")).toBe("[hidden]");
    expect(askedFor(["mcp_servers", "lab", "env"], servers.lab.env)).toEqual({
      ANY: "[hidden]",
      PORT: "[hidden]",
    });
    expect(askedFor(["mcp_servers", "web.1", "url"], servers["web.1"].url)).not.toContain("tell-");
    expect(askedFor(["mcp_servers", "lab", "timeout"], 9)).toBe(9);
  });

  it("tell a key that was asked for, but none that is part of more", () => {
    const providers = [{ name: "own", api_key: "tell-6" }];
    expect(askedFor(["model", "api_key"], "mine")).toBe("mine");
    expect(askedFor(["custom_providers"], providers)).toEqual([{ name: "own", api_key: "[hidden]" }]);
    expect(presentable(["model", "api_key"], "mine")).toBe("[hidden]");
    expect(presentable(["model", "api_key"], "")).toBe("");
  });
});
