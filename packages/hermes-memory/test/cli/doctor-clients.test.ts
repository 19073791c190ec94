// What `hermes doctor` says of the MCP clients set up here, and what `--fix` changes in their files.
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
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
  it("says nothing where no client is set up, and that an entry is right where one is", async () => {
    const machine = new Machine();
    machine.write(
      machine.cursor,
      '{ "mcpServers": { "other": { "command": "/gone/node", "args": ["x"] } } }',
    );
    expect(await machine.about()).toEqual([]);
    machine.write(machine.claude, server(process.execPath, [realpathSync(MAIN), "mcp"]));
    expect(await machine.about()).toEqual([
      { check: "clients", status: "ok", message: "1 MCP server entry starts a program that is there." },
    ]);
  });

  it("warns of a script that is gone, of a Node that is gone and of a path of an earlier version", async () => {
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

  it("with --fix rewrites node and script, keeps profile, home and all else, and backs the file up", async () => {
    const machine = new Machine();
    const gone = join(machine.user, "gone", "dist", "hermes.js");
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

  it("gives a script that was the command itself a Node", async () => {
    const machine = new Machine();
    machine.write(machine.cursor, server(join(machine.user, "bin", "hermes"), ["-p", "work", "mcp"]));
    await machine.doctor("--fix");
    const { command, args } = JSON.parse(readFileSync(machine.cursor, "utf8")).mcpServers["hermes-memory"];
    expect({ command, args }).toEqual({
      command: process.execPath,
      args: [realpathSync(MAIN), "-p", "work", "mcp"],
    });
  });

  it.each([
    ["a name that the client's PATH resolves", "hermes", ["mcp"]],
    ["npx", "/gone/npx", ["-y", "hermes-memory", "mcp"]],
    ["a container with paths of its own", "docker", ["run", "-i", "memory", "node", "/app/hermes.js", "mcp"]],
  ])("leaves %s alone", async (_what, command, args) => {
    const machine = new Machine();
    const text = server(command, args);
    machine.write(machine.claude, text);
    expect((await machine.doctor("--fix")).fixed).toEqual([]);
    expect(readFileSync(machine.claude, "utf8")).toBe(text);
  });

  it("tells of a file it cannot read and goes on with the others; one that does not name us is not its business", async () => {
    const machine = new Machine();
    machine.write(machine.claude, '{ "mcpServers": { "hermes-memory": ');
    machine.write(machine.codex, "not = = toml\n");
    machine.write(machine.cursor, server(process.execPath, ["/gone/hermes.js", "mcp"]));
    const { fixed, findings } = await machine.doctor("--fix");
    expect(fixed).toMatchObject([{ client: "cursor" }]);
    expect(findings.filter(({ check }) => check === "clients")).toEqual([
      { check: "clients", status: "ok", message: "1 MCP server entry starts a program that is there." },
      {
        check: "clients",
        status: "warn",
        message: expect.stringMatching(
          /^Claude Code: .*\.claude\.json cannot be checked: line 1, column \d+: /,
        ),
        remedy: "Correct the file, then look again.",
      },
    ]);
    expect(readFileSync(machine.claude, "utf8")).toBe('{ "mcpServers": { "hermes-memory": ');
  });
});
