import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { type RunOutcome, runHermes } from "./run.ts";

type Homes = { readonly user: string; readonly home: string };

function freshHomes(): Homes {
  const user = tempDirectory();
  const home = join(user, "hermes");
  mkdirSync(home);
  return { user, home };
}

/** Keeps the tests away from the developer's own client configs. */
function mcp(
  { user, home }: Homes,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<RunOutcome> {
  const own = { HOME: user, USERPROFILE: user, CLAUDE_CONFIG_DIR: "", CODEX_HOME: "" };
  return runHermes(args, { home, env: { ...own, ...env }, cwd: user });
}

const install = (at: Homes, client: string, ...more: string[]) =>
  mcp(at, ["mcp", "install", "--client", client, ...more]);
const modeOf = (path: string): number => statSync(path).mode & 0o777;
const backupsOf = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes(".bak."));

describe("hermes mcp install", () => {
  it.each([
    [
      "claude-code",
      ".claude.json",
      '{\n\t"numStartups": 7,\n\t"mcpServers": {\n\t\t"x": { "url": "u" }\n\t}\n}\n',
    ],
    ["cursor", join(".cursor", "mcp.json"), '{"mcpServers":{}}'],
    ["codex", join(".codex", "config.toml"), 'model = "m" # mine\n'],
  ])("keeps a backup of what %s had, its mode and its content", async (client, file, before) => {
    const at = freshHomes();
    const path = join(at.user, file);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, before);
    chmodSync(path, 0o644);
    const { stdout, code } = await install(at, client, "--json");
    expect(code).toBe(0);
    const { backup, action } = JSON.parse(stdout);
    expect(action).toBe("added");
    expect(backup).toMatch(/\.bak\.\d+$/);
    expect(readFileSync(backup, "utf8")).toBe(before);
    expect(modeOf(backup)).toBe(0o600);
    expect(modeOf(path)).toBe(0o644);
    const kept = before.slice(0, before.includes("url") ? before.indexOf('"u" }') : 10);
    expect(readFileSync(path, "utf8").startsWith(kept)).toBe(true);
  });

  it("enters a command line that starts this very server", async () => {
    const at = freshHomes();
    await install(at, "claude-code");
    const { mcpServers } = JSON.parse(readFileSync(join(at.user, ".claude.json"), "utf8"));
    const { command, args, env, type } = mcpServers["hermes-memory"];
    expect({ type, env }).toEqual({ type: "stdio", env: { HERMES_HOME: at.home } });
    const client = new Client({ name: "installed", version: "1" });
    await client.connect(new StdioClientTransport({ command, args, env, stderr: "ignore" }));
    await client.callTool({
      name: "memory",
      arguments: { action: "add", target: "memory", content: "installed" },
    });
    await client.close();
    expect(readFileSync(join(at.home, "memories", "MEMORY.md"), "utf8")).toBe("installed");
    const journal = readFileSync(join(at.home, "memories", ".history", "memory.jsonl"), "utf8");
    expect(JSON.parse(journal).origin).toBe("mcp:claude-code");
  });

  it("keeps the profile it was called with, and a sticky one, and the default against a sticky one", async () => {
    const at = freshHomes();
    for (const name of ["work", "play"]) mkdirSync(join(at.home, "profiles", name), { recursive: true });
    const argsOf = async (...flags: string[]): Promise<string[]> => {
      const { stdout } = await mcp(at, [...flags, "mcp", "install", "--client", "cursor", "--json"]);
      return JSON.parse(stdout).server.args.slice(1, -2); // without --for cursor
    };
    expect(await argsOf()).toEqual(["mcp"]);
    expect(await argsOf("-p", "work")).toEqual(["--profile", "work", "mcp"]);
    writeFileSync(join(at.home, "active_profile"), "play\n");
    expect(await argsOf()).toEqual(["--profile", "play", "mcp"]);
    expect(await argsOf("-p", "default")).toEqual(["--profile", "default", "mcp"]);
  });

  it("finds the files that CLAUDE_CONFIG_DIR, CODEX_HOME and --config name", async () => {
    const at = freshHomes();
    const env = { CLAUDE_CONFIG_DIR: join(at.user, "cc"), CODEX_HOME: join(at.user, "cx") };
    await mcp(at, ["mcp", "install", "--client", "claude-code"], env);
    await mcp(at, ["mcp", "install", "--client", "codex"], env);
    await mcp(
      at,
      ["mcp", "install", "--client", "claude-code", "--config", ".mcp.json", "--name", "notes"],
      env,
    );
    expect(existsSync(join(at.user, "cc", ".claude.json"))).toBe(true);
    expect(existsSync(join(at.user, "cx", "config.toml"))).toBe(true);
    expect(Object.keys(JSON.parse(readFileSync(join(at.user, ".mcp.json"), "utf8")).mcpServers)).toEqual([
      "notes",
    ]);
    expect(existsSync(join(at.user, ".claude.json"))).toBe(false);
  });

  it("follows links and leaves them links", async () => {
    const at = freshHomes();
    mkdirSync(join(at.user, "dotfiles"));
    const real = join(at.user, "dotfiles", "claude.json");
    writeFileSync(real, "{}\n");
    symlinkSync(join("dotfiles", "claude.json"), join(at.user, ".claude.json"));
    expect((await install(at, "claude-code")).code).toBe(0);
    expect(lstatSync(join(at.user, ".claude.json")).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toContain("hermes-memory");
    expect(backupsOf(at.user)).toHaveLength(1);
  });

  it("refuses bytes that are no text", async () => {
    const at = freshHomes();
    writeFileSync(join(at.user, ".claude.json"), Uint8Array.of(0x7b, 0xff, 0x7d));
    const { code, stderr } = await install(at, "claude-code");
    expect({ code, hasReason: stderr.includes("not valid UTF-8") }).toEqual({ code: 1, hasReason: true });
  });
});
