// `/curator` in a chat: runs `hermes curator <words>` in this process and turns what it prints into the command's reply.
import type { CommandReply } from "@hermes-memory/agent/agent";
import type { CommandContext, Terminal } from "../command.ts";

export async function runCurator(
  { io, runCommand }: CommandContext,
  words: readonly string[],
  confirm: (question: string) => Promise<boolean>,
): Promise<CommandReply> {
  const printed: string[] = [];
  const print = (text: string): void => void printed.push(text);
  const terminal: Terminal = {
    ...io,
    paint: (_style, text) => text, // the chat colours its own lines
    screen: undefined,
    out: print,
    note: print,
    drained: async () => {},
    confirm: (question) => confirm(question),
    endWithoutWaiting: () => {}, // the chat goes on
    untilInterrupted: (work) => work(new AbortController().signal), // Ctrl-C belongs to the chat
  };
  const exitCode = await runCommand(["curator", ...words], terminal);
  const lines = printed.join("").trimEnd().split("\n");
  return exitCode === 0
    ? { kind: "text", lines, json: { exit_code: 0, lines } }
    : { kind: "error", lines, json: { success: false, exit_code: exitCode, error: lines.join("\n") } };
}
