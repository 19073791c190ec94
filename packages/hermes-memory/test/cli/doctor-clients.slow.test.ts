// `hermes doctor` on the config files of MCP clients, and the changes of `--fix` in them.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { MAIN } from "../mcp/connect.ts";
import { runJson } from "./run.ts";

type Report = {
  readonly findings: readonly Finding[];
  readonly fixed?: readonly { client: string; path: string; names: string[]; backup: string }[];
};

const FORWARDER = "#!/usr/bin/env node\n// hermes-memory: moved. Starts the launcher.\n";

class Machine {
  readonly user = tempDirectory();
  readonly claude = join(this.user, ".claude.json");
  readonly cursor = join(this.user, ".cursor", "mcp.json");
  readonly codex = join(this.user, ".codex", "config.toml");

  write(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  doctor(...flags: string[]): Promise<Report> {
    const env = { HOME: this.user, USERPROFILE: this.user, CLAUDE_CONFIG_DIR: "", CODEX_HOME: "" };
    return runJson(["doctor", ...flags], { home: join(this.user, "hermes"), env }) as Promise<Report>;
  }

  async about(...flags: string[]): Promise<readonly Finding[]> {
    return (await this.doctor(...flags)).findings.filter(({ check }) => check === "clients");
  }

  backups(path: string): string[] {
    return readdirSync(dirname(path)).filter((name) => name.includes(".bak."));
  }
}

const server = (command: string, args: readonly string[], more: object = {}): string =>
  `${JSON.stringify({ mcpServers: { "hermes-memory": { command, args, ...more } } }, null, 2)}\n`;

describe("hermes doctor about MCP clients", () => {
  it("warns of a missing script, of a missing Node and of a path of an earlier version", async () => {
    const machine = new Machine();
    const gone = join(machine.user, "checkout", "src", "cli", "main.ts");
    const earlier = join(machine.user, "node_modules", "hermes-memory", "dist", "hermes.js");
    const noNode = join(machine.user, "v24.0.0", "node");
    machine.write(earlier, FORWARDER);
    machine.write(machine.claude, server(process.execPath, [gone, "mcp"]));
    machine.write(machine.cursor, server(noNode, [realpathSync(MAIN), "mcp"]));
    machine.write(
      machine.codex,
      `[mcp_servers.work]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(earlier)}, "-p", "work", "mcp"]\n`,
    );
    const findings = await machine.about();
    expect(findings.map(({ status }) => status)).toEqual(["warn", "warn", "warn"]);
    expect(findings.map(({ message }) => message)).toEqual([
      `Claude Code: the server 'hermes-memory' in ${machine.claude} starts ${gone}, which does not exist.`,
      `Codex: the server 'work' in ${machine.codex} starts ${earlier}, which an earlier version installed.`,
      `Cursor: the server 'hermes-memory' in ${machine.cursor} starts ${noNode}, which does not exist.`,
    ]);
    for (const { remedy } of findings) expect(remedy).toContain("hermes doctor --fix");
    expect(machine.backups(machine.claude)).toEqual([]);
  });

  it("with --fix rewrites node and script, keeps everything else, and backs the file up", async () => {
    const machine = new Machine();
    const gone = join(machine.user, "gone", "hermes-memory", "dist", "hermes.js");
    const more = { type: "stdio", env: { HERMES_HOME: "/srv/memory", MINE: "1" }, timeout: 9 };
    const json = server("/gone/node", [gone, "--profile", "work", "mcp"], more);
    const toml = `# mine\n[mcp_servers.work] # ours\ncommand = "/gone/node"\nargs = ["${gone}", "mcp"]\nenv = { HERMES_HOME = "/srv/memory" }\n\n[mcp_servers.other]\ncommand = "/gone/other"\n`;
    machine.write(machine.claude, json);
    machine.write(machine.codex, toml);

    const { fixed, findings } = await machine.doctor("--fix");
    expect(fixed).toMatchObject([
      { client: "claude-code", path: machine.claude, names: ["hermes-memory"] },
      { client: "codex", path: machine.codex, names: ["work"] },
    ]);
    expect(findings.filter(({ check }) => check === "clients")).toMatchObject([{ status: "ok" }]);

    const script = realpathSync(MAIN);
    const args = [script, "--profile", "work", "mcp"];
    expect(JSON.parse(readFileSync(machine.claude, "utf8"))).toEqual({
      mcpServers: { "hermes-memory": { ...more, command: process.execPath, args } },
    });
    expect(readFileSync(machine.codex, "utf8")).toBe(
      toml.replace('"/gone/node"', JSON.stringify(process.execPath)).replace(gone, script),
    );
    expect(fixed?.map(({ backup }) => readFileSync(backup, "utf8"))).toEqual([json, toml]);

    expect((await machine.doctor("--fix")).fixed).toEqual([]);
    expect(machine.backups(machine.claude)).toHaveLength(1);
  });
});

const SCRIPT = realpathSync(MAIN);
const named = (name: string, command: string, args: readonly unknown[]): string =>
  `${JSON.stringify({ mcpServers: { [name]: { command, args } } })}\n`;

describe("which entries doctor checks", () => {
  it.each([
    "hermes-memory/dist/hermes.js",
    "hermes-memory/hermes.js",
    "hermes-memory/src/cli/main.ts",
    "packages/hermes-memory/src/cli/main.ts",
  ])("under any name one that starts %s, also behind flags of Node", async (path) => {
    const machine = new Machine();
    const gone = join(machine.user, "gone", path);
    const flags = ["--no-warnings", "--import", "/x/hook.mjs"];
    machine.write(machine.claude, named("work", "node", [...flags, gone, "mcp", gone]));
    expect((await machine.doctor("--fix")).fixed).toMatchObject([{ names: ["work"] }]);
    expect(readFileSync(machine.claude, "utf8")).toBe(named("work", "node", [...flags, SCRIPT, "mcp", gone]));
  });
});

describe("what hermes doctor --fix replaces", () => {
  const gone = "/gone/hermes-memory/dist/hermes.js";

  it("does not touch a file without write permission and says so", async () => {
    const machine = new Machine();
    const text = server("/gone/node", [gone, "mcp"]);
    machine.write(machine.claude, text);
    chmodSync(machine.claude, 0o444);
    const { fixed, findings } = await machine.doctor("--fix");
    expect(fixed).toEqual([]);
    expect(findings.filter(({ check }) => check === "clients")).toMatchObject([
      {
        status: "warn",
        message: expect.stringContaining("The file has no write permission (mode 444)"),
        remedy: expect.stringContaining("chmod u+w "),
      },
    ]);
    expect(readFileSync(machine.claude, "utf8")).toBe(text);
    expect(statSync(machine.claude).mode & 0o777).toBe(0o444);
    expect(machine.backups(machine.claude)).toEqual([]);
  });
});
