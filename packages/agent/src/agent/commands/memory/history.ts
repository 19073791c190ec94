// /memory history: what changed, when and by whom.
import type { Change, HistoryLine } from "@hermes-memory/core/curated";
import type { CommandCall, CommandReply } from "../command.ts";
import { localMinute, short } from "../format.ts";
import { parseCount } from "../parse.ts";
import { failed, told } from "../reply.ts";
import { noMemory } from "./show.ts";

const DEFAULT_COUNT = 10;
const ENTRY_CHARS = 80;

export function memoryHistory({ agent }: CommandCall, rest: string): CommandReply {
  if (agent.memory === undefined) return noMemory();
  const count = rest === "" ? DEFAULT_COUNT : parseCount(rest);
  if (count === undefined) return failed("usage", "Usage: /memory history [how many]");
  const lines = agent.memory.history({ limit: count });
  if (lines.length === 0) return told(["Nothing has been changed yet."], { changes: [] });
  return told([...lines.flatMap(historyLines), "'/memory undo <id>' takes one back."], { changes: lines });
}

function historyLines(line: HistoryLine): string[] {
  const { id, time, target, origin, action, changes } = line;
  const head = `${localMinute(Date.parse(time) / 1000)}  ${id}  ${target}  ${origin}  ${action}${markOf(line)}`;
  return [head, ...changes.map((change) => `  ${changeText(change)}`)];
}

/** Of a refused text only the kind of refusal is known. */
function markOf({ status, undone_by, refusal }: HistoryLine): string {
  switch (status) {
    case "committed":
      return "";
    case "undone":
      return `  [undone by ${undone_by}]`;
    case "aborted":
      return "  [never took effect]";
    case "refused":
      return `  [refused: ${refusal?.error}]`;
    default:
      return status satisfies never;
  }
}

function changeText({ before, after }: Change): string {
  const text = (entry: string): string => short(entry, ENTRY_CHARS);
  if (before === null) return `+ ${text(after ?? "")}`;
  return after === null ? `- ${text(before)}` : `~ ${text(before)} -> ${text(after)}`;
}
