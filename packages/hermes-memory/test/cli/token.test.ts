import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@hermes-memory/core/internal/lib";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { openTokens } from "../../../gateway/src/tokens.ts";
import { type PlayedOptions, runHere, runHermes } from "./run.ts";

async function hermes(home: string, line: string, more: Partial<PlayedOptions> = {}) {
  return await runHere(["token", ...line.split(" ")], { home, ...more });
}

async function json(home: string, line: string): Promise<Record<string, unknown>> {
  return JSON.parse((await hermes(home, `${line} --json`)).stdout);
}

function rightsFor(home: string, token: string) {
  const caller = openTokens({ home, clock: systemClock, log: silentLogger }).authenticate(token);
  return "status" in caller ? caller.code : caller.kind === "local" ? "local" : caller.rights;
}

describe("hermes token", () => {
  it("prints a new token alone on stdout, once, and what to do with it on stderr", async () => {
    const home = tempDirectory();
    const { stdout, stderr, code } = await runHermes(["token", "create", "--name", "laptop"], { home });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hm_[A-Za-z0-9_-]{43}\n$/);
    expect(stderr).toContain("Token 'laptop'");
    expect(stderr).toContain("X-Hermes-Token");
    expect(stderr).not.toContain(stdout.trim());
    expect(rightsFor(home, stdout.trim())).toEqual({ kind: "owner" });
    const listed = await hermes(home, "list");
    expect(listed.stdout).toContain("laptop");
    expect(listed.stdout + readFileSync(join(home, "gateway", "tokens.json"), "utf8")).not.toContain(
      stdout.trim(),
    );
  });

  it.each([
    ["", { kind: "owner" }],
    [" --owner", { kind: "owner" }],
    [" --admin", { kind: "admin" }],
    [" --user api:a:b", { kind: "user", user: { platform: "api", id: "a:b" } }],
    [" --names-users --platform open-webui", { kind: "names-users", platform: "open-webui" }],
  ])("makes one with the rights that are asked for:%s", async (flags, rights) => {
    const home = tempDirectory();
    const { token, name, id } = await json(home, `create${flags}`);
    expect(name).toBe(`token-${id}`);
    expect(rightsFor(home, String(token))).toEqual(rights);
  });

  it("makes one with limits, and lists them", async () => {
    const home = tempDirectory();
    const flags =
      "--names-users --platform api --models gpt-5-mini,claude-* --requests-per-day 9 --cost-per-day 0.5 --max-users 3";
    const limits = {
      models: ["gpt-5-mini", "claude-*"],
      requests_per_day: 9,
      cost_per_day: 0.5,
      max_users: 3,
    };
    expect(await json(home, `create --name class ${flags}`)).toMatchObject({ limits });
    expect(await json(home, "list")).toMatchObject({ tokens: [{ name: "class", limits }] });
    expect((await hermes(home, "list")).stdout).toContain("models: gpt-5-mini,claude-*");
    expect(await json(home, "create")).toMatchObject({ limits: null });
  });

  it.each([
    ["create --owner --admin", "Give one of"],
    ["create --max-users 3", "needs --names-users"],
    ["create --cost-per-day free", "US dollars"],
    ["create --models a,,b", "names with commas"],
    ["create --models *-mini", "names with commas"],
    ["create --requests-per-day 0", "requests-per-day"],
    ["create --user alice", "platform and an id"],
    ["create --user :alice", "blank"],
    ["create --names-users", "needs --platform"],
    ["create --platform web", "needs --names-users"],
    ["create --expires soon", "30d"],
    ["create --expires 2026-02-30", "30d"],
    ["create --expires 0d", "not in the future"],
    ["create --expires 2020-01-01", "not in the future"],
    ["create --expires 9999w", "ten years"],
  ])("refuses '%s' with exit code 2, and makes none", async (line, reason) => {
    const home = tempDirectory();
    const { stdout, stderr, code } = await hermes(home, line);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(reason);
    expect(existsSync(join(home, "gateway"))).toBe(false);
  });

  it("makes one that expires", async () => {
    const home = tempDirectory();
    const before = Date.now();
    const { expires_at: at } = await json(home, "create --name short --expires 30d");
    const days = (Date.parse(String(at)) - before) / 86_400_000;
    expect(days).toBeGreaterThan(29.99);
    expect(days).toBeLessThan(30.01);
    expect((await hermes(home, "list")).stdout).toMatch(/short .*\d{4}-.*\d{4}-/);
    expect(await json(home, "list")).toMatchObject({
      tokens: [{ name: "short", expires_at: at, is_expired: false, last_used_at: null }],
    });
  });

  it("refuses a name that another token has", async () => {
    const home = tempDirectory();
    await hermes(home, "create --name laptop");
    const { code, stderr } = await hermes(home, "create --name laptop");
    expect(code).toBe(1);
    expect(stderr).toContain("already has the name 'laptop'");
  });

  it("says what it means that there are none", async () => {
    const { stderr, code } = await hermes(tempDirectory(), "list");
    expect(code).toBe(0);
    expect(stderr).toContain("hermes token local");
  });

  it("prints the local token alone on stdout, makes it once and anew with --new", async () => {
    const home = tempDirectory();
    writeFileSync(join(home, "config.yaml"), "gateway:\n  host: 0.0.0.0\n  port: 9001\n");
    const { stdout, stderr, code } = await hermes(home, "local");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^hm_[\w-]{43}\n$/) });
    const token = stdout.trim();
    expect(stderr).toContain(`http://127.0.0.1:9001/${token}/v1`);
    expect(rightsFor(home, token)).toBe("local");
    expect(await json(home, "local")).toEqual({
      token,
      path: join(home, "gateway", "local-token"),
      base_urls: {
        openai: `http://127.0.0.1:9001/${token}/v1`,
        anthropic: `http://127.0.0.1:9001/${token}`,
        mcp: `http://127.0.0.1:9001/${token}/mcp`,
      },
    });
    const next = (await hermes(home, "local --new")).stdout.trim();
    expect([token, next].map((each) => rightsFor(home, each))).toEqual(["bad-token", "local"]);
    writeFileSync(join(home, "gateway", "local-token"), "x");
    expect((await hermes(home, "local")).stderr).toContain("hermes token local --new");
    expect((await hermes(home, "list")).stderr).toContain("lets nobody in");
  });

  it("asks before it revokes one", async () => {
    const home = tempDirectory();
    const { token, id } = await json(home, "create --name laptop");
    const unasked = await hermes(home, "revoke laptop");
    expect(unasked.code).toBe(1);
    expect(unasked.stderr).toContain("Pass --yes");
    const kept = await hermes(home, "revoke laptop", { answers: [false] });
    expect(kept.stderr).toContain("Cancelled");
    expect(rightsFor(home, String(token))).toEqual({ kind: "owner" });
    const gone = await hermes(home, `revoke ${id}`, { answers: [true] });
    expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining(`Revoked 'laptop' (${id}).\n`) });
    expect(rightsFor(home, String(token))).toBe("bad-token");
    expect((await hermes(home, "revoke laptop --yes")).stderr).toContain("There is no token");
  });

  it("revokes without asking with --yes", async () => {
    const home = tempDirectory();
    await hermes(home, "create --name a");
    const { token } = await json(home, "create --name b");
    expect(await json(home, "revoke b --yes")).toMatchObject({
      success: true,
      token: { name: "b" },
      tokens_left: 1,
    });
    expect(rightsFor(home, String(token))).toBe("bad-token");
  });

  it("does not touch a damaged file, and says where it is", async () => {
    const home = tempDirectory();
    const file = join(home, "gateway", "tokens.json");
    mkdirSync(join(home, "gateway"));
    writeFileSync(file, "{");
    expect((await hermes(home, "path")).stdout).toBe(`${file}\n`);
    for (const line of ["list", "create", "revoke x --yes"]) {
      const { code, stderr } = await hermes(home, line);
      expect(code).toBe(1);
      expect(stderr).toContain(file);
    }
    expect(readFileSync(file, "utf8")).toBe("{");
  });

  it("does not let a name change the terminal", async () => {
    const home = tempDirectory();
    const { stderr, code } = await runHere(["token", "create", "--user", "api:x\u202ey"], { home });
    expect(code).toBe(0);
    expect(stderr).not.toContain("\u202e");
    expect((await hermes(home, "list")).stdout).toContain("\\u202e");
  });
});
