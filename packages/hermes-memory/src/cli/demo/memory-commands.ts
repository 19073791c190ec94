// `hermes memory history` and `hermes memory undo`, run in the demo's home: the commands themselves, not what is behind them.
import type { HistoryLine } from "@hermes-memory/core/curated";
import { openMemory } from "@hermes-memory/core/memory";
import type { CommandBody, CommandOutcome, Terminal } from "../command.ts";
import { history, undo } from "../memory/history.ts";

export async function memoryHistory(home: string): Promise<readonly HistoryLine[]> {
  return (await run(history, home)).json as readonly HistoryLine[];
}

export function memoryUndo(home: string, id: string): Promise<CommandOutcome> {
  return run(undo, home, { id });
}

/** Where a change comes from. */
export function journalLine(line: HistoryLine | undefined): string {
  if (line === undefined) return "has no such change";
  return `change ${line.id}, origin ${line.origin}, session ${line.session ?? "unknown"}`;
}

async function run(
  body: CommandBody,
  home: string,
  args: Readonly<Record<string, string>> = {},
): Promise<CommandOutcome> {
  await using memory = openMemory({ home, env: {} });
  const selected = { home, root: home, profile: "default" };
  return await body(
    { args, rest: [], flags: {} },
    { home: selected, isJson: true, io: NOBODY, memory, groups: [], runCommand: async () => 1 },
  );
}

/** A terminal that nobody looks at. */
const NOBODY: Terminal = {
  env: {},
  isInteractive: false,
  paint: (_style, text) => text,
  noteColumns: undefined,
  screen: undefined,
  out: () => undefined,
  note: () => undefined,
  drained: async () => undefined,
  readInput: async () => "",
  inputChunks: async function* () {},
  confirm: async () => false,
  ask: async () => "",
  endWithoutWaiting: () => undefined,
  untilInterrupted: (work) => work(new AbortController().signal),
};
