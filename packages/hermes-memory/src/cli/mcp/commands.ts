// The `hermes mcp` commands as data. Bodies are loaded when they run.
import type { CommandSpec, FlagSpec } from "../command.ts";
import { CLIENT_NAMES, DEFAULT_SERVER_NAME } from "./clients.ts";

const client: FlagSpec = {
  kind: "text",
  short: "c",
  placeholder: "client",
  summary: "the program to set up",
  choices: CLIENT_NAMES,
};
const name: FlagSpec = {
  kind: "text",
  placeholder: "name",
  summary: `the name of the server in that program (${DEFAULT_SERVER_NAME})`,
};
const config: FlagSpec = {
  kind: "text",
  placeholder: "path",
  summary: "edit this file instead of the program's own, for example a project's .mcp.json",
};
const dryRun: FlagSpec = { kind: "boolean", summary: "print what would change, and change nothing" };
const flags = { client, name, config, "dry-run": dryRun };

export const mcpCommands: readonly CommandSpec[] = [
  {
    name: "mcp",
    summary: "serve memory and past sessions to an MCP client over standard input and output",
    examples: ["hermes mcp", "hermes -p work mcp"],
    load: async () => (await import("./serve.ts")).serve,
  },
  {
    name: "mcp install",
    summary: "enter the server in the config of Claude Code, Codex or Cursor, after a backup",
    flags,
    examples: [
      "hermes mcp install --client claude-code",
      "hermes mcp install --client codex --dry-run",
      "hermes mcp install --client claude-code --config .mcp.json",
    ],
    load: async () => (await import("./install.ts")).install,
  },
  {
    name: "mcp uninstall",
    summary: "take the server out of a client's config again, after a backup",
    flags,
    examples: ["hermes mcp uninstall --client cursor"],
    load: async () => (await import("./install.ts")).uninstall,
  },
];
