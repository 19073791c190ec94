// `hermes mcp`: the server on this process's own streams. They are taken as they are, not through the terminal, because
// the protocol owns them for as long as the process lives.
import { serveMcp } from "../../mcp/index.ts";
import type { CommandBody } from "../command.ts";

const EXIT_TERMINATED = 143;

export const serve: CommandBody = async (_input, { home, io }) => {
  if (io.isInteractive) {
    io.note(
      "This is a server for MCP clients; it waits for one on standard input. 'hermes mcp install --client " +
        "claude-code' sets one up, Ctrl-D ends it.\n",
    );
  }
  const ended = new AbortController();
  const end = (): void => {
    if (ended.signal.aborted) process.exit(EXIT_TERMINATED); // asked twice: at once
    ended.abort();
  };
  process.on("SIGTERM", end).on("SIGHUP", end);
  const isInterrupted = await io.untilInterrupted(async (interrupted) => {
    await serveMcp({
      home: home.home,
      input: process.stdin,
      output: process.stdout,
      signal: AbortSignal.any([interrupted, ended.signal]),
    });
    return interrupted.aborted;
  });
  return { json: undefined, lines: [], exitCode: isInterrupted ? 130 : 0 };
};
