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

  it("reports a file it cannot parse and goes on; ignores one that does not mention hermes", async () => {
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
        remedy: "Correct the file, then run 'hermes doctor' again.",
      },
    ]);
    expect(readFileSync(machine.claude, "utf8")).toBe('{ "mcpServers": { "hermes-memory": ');
  });
});

const SCRIPT = realpathSync(MAIN);
const literal = (text: string): string => JSON.stringify(text);
const named = (name: string, command: string, args: readonly unknown[]): string =>
  `${JSON.stringify({ mcpServers: { [name]: { command, args } } })}\n`;

describe("which entries doctor checks", () => {
  it.each([
    ["a checkout of something else", "acme", "/usr/bin/node", ["/gone/acme/src/cli/main.ts", "mcp"]],
    ["another hermes.js", "tools", "/usr/bin/node", ["/opt/gone/hermes-tools/dist/hermes.js", "mcp"]],
    ["another hermes", "agent", "/home/x/.local/bin/hermes", ["mcp", "serve"]],
    ["a folder named hermes", "fs", "node", ["/opt/fs/index.js", "mcp", "/home/me/code/hermes"]],
    ["a folder of ours as argument", "fs", "node", ["/opt/fs.js", "/gone/hermes-memory/hermes.js", "mcp"]],
    ["a package inside ours", "x", "node", ["/gone/hermes-memory/node_modules/x/dist/hermes.js", "mcp"]],
    ["our script for another command", "x", "/gone/deno", ["/gone/hermes-memory/hermes.js", "mcp"]],
  ])("not %s", async (_what, name, command, args) => {
    const machine = new Machine();
    const text = named(name, command, args);
    machine.write(machine.claude, text);
    machine.write(
      machine.codex,
      `[mcp_servers]\n${name === "hermes-memory" ? "x" : name} = { command = ${literal(command)}, args = ${JSON.stringify(args)} }\n`,
    );
    const { fixed, findings } = await machine.doctor("--fix");
    expect(fixed).toEqual([]);
    expect(findings.filter(({ check }) => check === "clients")).toEqual([]);
    expect(readFileSync(machine.claude, "utf8")).toBe(text);
  });

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

  it("does not fail at a folder named hermes.js", async () => {
    const machine = new Machine();
    const folder = join(machine.user, "odd", "hermes.js");
    mkdirSync(folder, { recursive: true });
    machine.write(machine.claude, named("odd", process.execPath, [folder, "mcp"]));
    machine.write(machine.cursor, server(process.execPath, [folder, "mcp"]));
    const { fixed, findings } = await machine.doctor("--fix");
    expect(fixed).toEqual([]);
    expect(findings.filter(({ check }) => check === "clients")).toMatchObject([{ status: "ok" }]);
  });

  it.each([
    ["an inline table", '[mcp_servers]\nhermes-memory = { command = "node", args = ["/gone/hermes.js"] }\n'],
    ["dotted keys", '[mcp_servers]\nhermes-memory.command = "node"\nhermes-memory.args = ["/x.js"]\n'],
    ["dotted keys at the root", 'a = 1\nmcp_servers.hermes-memory.command = "node"\n'],
    ["one table for all", 'mcp_servers = { hermes-memory = { command = "node" }, b = { url = "u" } }\n'],
  ])("says of %s in Codex that it cannot check it, and leaves it", async (_what, text) => {
    const machine = new Machine();
    machine.write(machine.codex, text);
    expect(await machine.about("--fix")).toEqual([
      {
        check: "clients",
        status: "warn",
        message: `Codex: the server 'hermes-memory' in ${machine.codex} cannot be checked: it writes 'mcp_servers.hermes-memory' in another way than as a table.`,
        remedy: "Write the entry as a table; docs/mcp.md shows its form.",
      },
    ]);
    expect(readFileSync(machine.codex, "utf8")).toBe(text);
  });
});

describe("what hermes doctor --fix replaces", () => {
  const gone = "/gone/hermes-memory/dist/hermes.js";

  it("in JSON the two literals, and no other byte", async () => {
    const machine = new Machine();
    const text = `{"n":1.0,\t"mcpServers" : {"hermes-memory":{ "args" :[ "--no-warnings",\n "\\/gone\\/hermes-memory\\/dist\\/hermes.js" ,"mcp", 1e2, null ,"\\u00e4"],
      "timeout":9.50, "command":"\\/gone\\/node", "env": {"A":"\\u0041"} } , "other":{"command":"/gone/node"}}}`;
    machine.write(machine.claude, text);
    chmodSync(machine.claude, 0o640);
    await machine.doctor("--fix");
    expect(readFileSync(machine.claude, "utf8")).toBe(
      text
        .replace('"\\/gone\\/hermes-memory\\/dist\\/hermes.js"', literal(SCRIPT))
        .replace('"\\/gone\\/node"', literal(process.execPath)),
    );
    expect(statSync(machine.claude).mode & 0o777).toBe(0o640);
  });

  it("in TOML the two literals; comments inside the list stay", async () => {
    const machine = new Machine();
    const text = `[mcp_servers.work]\r\nargs = [ # mine\r\n  '${gone}', # "the script"\r\n  "mcp",\r\n]\r\ncommand = '/gone/node' # Node\r\nstartup_timeout_sec = 1_0.0\r\n`;
    machine.write(machine.codex, text);
    await machine.doctor("--fix");
    expect(readFileSync(machine.codex, "utf8")).toBe(
      text.replace(`'${gone}'`, literal(SCRIPT)).replace("'/gone/node'", literal(process.execPath)),
    );
  });

  it("puts the script in front of the arguments where it was the command", async () => {
    const machine = new Machine();
    const text = `[mcp_servers.work]\ncommand = "${gone}"\nargs = [\n  "mcp",\n] # all\n\n[mcp_servers]\nhermes-memory.command = "x"\n`;
    machine.write(machine.codex, text);
    await machine.doctor("--fix");
    expect(readFileSync(machine.codex, "utf8")).toBe(
      text
        .replace(literal(gone), literal(process.execPath))
        .replace('[\n  "mcp",\n]', `[${literal(SCRIPT)}, "mcp"]`),
    );
  });

  it.each([
    ["only Node where the script is there", "/gone/node", SCRIPT, process.execPath],
    ["only the script where another Node is there", "its own", gone, undefined],
    ["only the script where the client finds Node", "node", gone, undefined],
  ])("%s", async (_what, command, script, expected) => {
    const machine = new Machine();
    const node = command === "its own" ? join(machine.user, "node") : command;
    if (node !== command) machine.write(node, "");
    machine.write(machine.cursor, server(node, [script, "mcp"]));
    expect((await machine.doctor("--fix")).fixed).toHaveLength(1);
    expect(readFileSync(machine.cursor, "utf8")).toBe(server(expected ?? node, [SCRIPT, "mcp"]));
  });

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
