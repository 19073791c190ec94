// /memory: curated memory from inside the chat. What is changed here is on disk at once and in the prompt of the next session.
import type { CommandCall, CommandReply, SlashCommand } from "../command.ts";
import { failed, told, usageLine } from "../reply.ts";
import { memoryHistory } from "./history.ts";
import { approval, approve, pending, pendingLines, reject } from "./pending.ts";
import { show } from "./show.ts";
import { add, remove, undo } from "./write.ts";

/** `rest` is what is typed behind the word. */
type MemoryAction = (call: CommandCall, rest: string) => CommandReply | Promise<CommandReply>;

const ACTIONS: Readonly<Record<string, MemoryAction>> = {
  show,
  add,
  remove,
  history: memoryHistory,
  undo,
  pending,
  approve,
  apply: approve,
  reject,
  deny: reject,
  drop: reject,
  approval,
  mode: approval,
};

export const memoryCommand: SlashCommand = {
  name: "memory",
  group: "memory",
  summary: "show what is remembered, change it, or decide about writes that wait for you",
  usage:
    "[show | add [--user] text | remove [--user] text|--entry n | history [n] | undo [id] | pending | approve id | reject id | approval on|off]",
  words: ["show", "add", "remove", "history", "undo", "pending", "approve", "reject", "approval"],
  async run(call) {
    const [, word = "", rest = ""] = /^(\S*)\s*(.*)$/s.exec(call.args) ?? [];
    if (word === "") return overview(call);
    const name = word.toLowerCase();
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (action !== undefined) return action(call, rest);
    return failed("usage", "That is nothing '/memory' knows.", `Usage: ${usageLine(memoryCommand)}`);
  },
};

async function overview(call: CommandCall): Promise<CommandReply> {
  const view = await show(call, "");
  if (view.kind !== "text") return view;
  const waiting = pendingLines(call.agent);
  const json = { ...(view.json as object), pending: waiting.records };
  return told([...view.lines, ...(waiting.records.length === 0 ? [] : ["", ...waiting.lines])], json);
}
