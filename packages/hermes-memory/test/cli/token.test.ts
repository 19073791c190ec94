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
