// The `hermes mcp` commands, and the one that serves; the SDK and the editors of client configs are loaded when needed.
import { type CommandBody, type CommandSpec, command, flag } from "../command.ts";
import { untilStopped } from "../until-stopped.ts";
import { DEFAULT_SERVER_NAME, INSTALL_CLIENTS } from "./clients.ts";

const client = flag.choice(INSTALL_CLIENTS, "the program to set up", "client");
const name = flag.text("name", `the name of the server in that program (${DEFAULT_SERVER_NAME})`);
const flags = {
  client: { ...client, short: "c" },
  name,
  config: flag.text("path", "edit this file instead of the program's own, for example a project's .mcp.json"),
  settings: flag.text("path", "edit the hooks in this file, for example a project's .claude/settings.json"),
  "dry-run": flag.on("print what would change, and change nothing"),
};

export const mcpCommands: readonly CommandSpec[] = [
  command("mcp", "serve memory and past sessions to an MCP client over standard input and output", {
    flags: {
      // Not --client: the parser would take that of `mcp install` for this one.
      for: {
        ...client,
        summary: "the program that is served: history names it as the origin",
      },
    },
    examples: ["hermes mcp", "hermes -p work mcp"],
    load: async () => serve,
  }),
  command(
    "mcp install",
    "enter the server in the config of Claude Code, Codex or Cursor, and hooks in that of 11 programs",
    {
      flags: {
        ...flags,
        hooks: flag.on("also let it show the memory at the start of a session and keep its transcripts"),
      },
      examples: [
        "hermes mcp install --client claude-code",
        "hermes mcp install --client claude-code --hooks",
        "hermes mcp install --client gemini-cli --hooks --dry-run",
        "hermes mcp install --client codex --dry-run",
        "hermes mcp install --client claude-code --config .mcp.json",
      ],
      load: async () => (await import("./install.ts")).install,
    },
  ),
  command("mcp uninstall", "take the server and the hooks out of a client's config again, after a backup", {
    flags: { ...flags, hooks: flag.on("take out the hooks only") },
    examples: ["hermes mcp uninstall --client cursor", "hermes mcp uninstall --client claude-code --hooks"],
    load: async () => (await import("./install.ts")).uninstall,
  }),
];

/** Uses the process's own streams instead of the terminal object, because the protocol owns them until the process ends. */
const serve: CommandBody = async ({ flags: { for: served } }, { home, io }) => {
  if (io.isInteractive) {
    io.note(
      "This is a server for MCP clients; it waits for one on standard input. 'hermes mcp install --client " +
        "claude-code' sets one up, Ctrl-D ends it.\n",
    );
  }
  const { serveMcp } = await import("@hermes-memory/mcp"); // loads the SDK
  const isInterrupted = await untilStopped(io, async (signal, interrupted) => {
    await serveMcp({
      home: home.home,
      client: typeof served === "string" ? served : undefined,
      input: process.stdin,
      output: process.stdout,
      signal,
    });
    return interrupted.aborted;
  });
  return { json: undefined, lines: [], exitCode: isInterrupted ? 130 : 0 };
};
