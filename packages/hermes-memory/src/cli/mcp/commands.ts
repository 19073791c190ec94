// The `hermes mcp` commands, and the one that serves; the SDK and the editors of client configs are loaded when needed.
import type { CommandBody, CommandSpec, FlagSpec } from "../command.ts";
import { untilStopped } from "../until-stopped.ts";
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
    load: async () => serve,
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

/** Uses the process's own streams instead of the terminal object, because the protocol owns them until the process ends. */
const serve: CommandBody = async (_input, { home, io }) => {
  if (io.isInteractive) {
    io.note(
      "This is a server for MCP clients; it waits for one on standard input. 'hermes mcp install --client " +
        "claude-code' sets one up, Ctrl-D ends it.\n",
    );
  }
  const { serveMcp } = await import("../../mcp/index.ts"); // loads the SDK
  const isInterrupted = await untilStopped(io, async (signal, interrupted) => {
    await serveMcp({ home: home.home, input: process.stdin, output: process.stdout, signal });
    return interrupted.aborted;
  });
  return { json: undefined, lines: [], exitCode: isInterrupted ? 130 : 0 };
};
