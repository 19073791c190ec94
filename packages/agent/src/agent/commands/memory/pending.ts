// /memory pending, approve, reject, approval: writes that wait for a person's word. Other programs know these lines.
import { isApprovalOn, setConfigValue } from "@hermes-memory/core/config";
import {
  approvePending,
  MEMORY_TARGETS,
  type MemoryStore,
  type PendingRecord,
  type PendingWrites,
  pendingOperations,
  readPendingWrites,
  rejectPending,
} from "@hermes-memory/core/curated";
import { ifUsable, openMemory } from "@hermes-memory/core/memory";
import type { AgentSurface } from "../../surface.ts";
import type { CommandCall, CommandReply } from "../command.ts";
import { short } from "../format.ts";
import { failed, told } from "../reply.ts";
import { noMemory } from "./show.ts";

const NOTHING = "No pending memory writes.";
const USAGE = "Usage: /memory approve|reject <id>  (or 'all')";
const SUMMARY_CHARS = 200;

export function pending({ agent }: CommandCall): CommandReply {
  const { lines, records, skipped } = pendingLines(agent);
  return told(lines, { pending: records, skipped });
}

export function pendingLines(agent: AgentSurface): PendingWrites & { readonly lines: readonly string[] } {
  const writes = readPendingWrites(agent.person.pendingDirectory);
  const { records, skipped } = writes;
  const lines =
    records.length === 0
      ? [NOTHING]
      : [
          `Pending memory writes (${records.length}):`,
          ...records.map(recordLine),
          "",
          "Save one with '/memory approve <id>', drop it with '/memory reject <id>'. 'all' means every one.",
        ];
  return { ...writes, lines: [...lines, ...skipped.map((name) => `${name} is no staged write.`)] };
}

export async function approve({ agent }: CommandCall, rest: string): Promise<CommandReply> {
  const { memory } = agent;
  if (memory === undefined) return noMemory();
  const directory = agent.person.pendingDirectory;
  const chosen = choose(directory, rest);
  if ("reply" in chosen) return chosen.reply;
  const approved: string[] = [];
  const removed: string[] = [];
  const failures: { id: string; kind: string; error: string }[] = [];
  for (const { id, origin } of chosen.records) {
    const outcome = await approvePending(memory, directory, id, {
      onCommitted: (write) => agent.noteMemoryWrite(write, origin),
    });
    if (outcome.ok) {
      approved.push(id);
      removed.push(...(outcome.value.removed ?? []), ...(outcome.value.archived ?? []));
    } else failures.push({ id, kind: outcome.error.kind, error: outcome.error.message });
  }
  const lines = [
    `Approved ${approved.length} memory write(s).`,
    ...removed.map((entry) => `- ${entry}`),
    ...(failures.length === 0 ? [] : ["Failed:"]),
    ...failures.map(({ id, error }) => `  ${id}: ${error}`),
    ...(approved.length === 0 ? [] : ["What was saved counts from the next session on."]),
  ];
  const json = { success: failures.length === 0, approved, removed, failed: failures };
  return { kind: failures.length === 0 ? "text" : "error", lines, json };
}

export async function reject({ agent }: CommandCall, rest: string): Promise<CommandReply> {
  const directory = agent.person.pendingDirectory;
  const chosen = choose(directory, rest);
  if ("reply" in chosen) return chosen.reply;
  const rejected: string[] = [];
  for (const record of chosen.records) {
    const outcome = rejectPending(directory, record.id);
    if (!outcome.ok && outcome.error.kind === "no_match" && chosen.isAll) continue; // decided elsewhere a moment ago
    if (!outcome.ok) return failed(outcome.error.kind, outcome.error.message);
    rejected.push(record.id);
    if (agent.memory !== undefined) await noteRejection(agent.memory, agent, record);
  }
  const line = chosen.isAll
    ? `Rejected ${rejected.length} pending memory write(s).`
    : `Rejected pending memory write '${rejected[0]}'.`;
  return told([line], { success: true, rejected });
}

const ON: ReadonlySet<string> = new Set(["on", "true", "yes", "1", "enable", "enabled"]);
const OFF: ReadonlySet<string> = new Set(["off", "false", "no", "0", "disable", "disabled"]);

export async function approval({ agent, host }: CommandCall, rest: string): Promise<CommandReply> {
  const value = rest.toLowerCase();
  if (value === "") {
    const stored = await ifUsable(openMemory({ home: agent.home }).memoryConfig()); // as the file is now
    const now = host.config.memory.writeApproval;
    const isOn = stored?.writeApproval ?? now;
    const lines = [`memory.write_approval = ${word(isOn)}`];
    if (isOn !== now)
      lines.push(`This agent was started with '${word(now)}' and keeps it until it is started again.`);
    return told(lines, { write_approval: isOn, in_use: now });
  }
  if (!ON.has(value) && !OFF.has(value))
    return failed("usage", `Invalid value '${short(rest, 40)}'. Use: on or off.`);
  if (agent.user !== undefined)
    return failed(
      "denied",
      "Only the owner of this home can change memory.write_approval: it holds for every user.",
      "The owner sets it with 'hermes config set memory.write_approval on|off'.",
    );
  const isOn = ON.has(value);
  const outcome = await setConfigValue(agent.home, "memory.write_approval", String(isOn));
  if (!outcome.ok) return failed(outcome.error.kind, outcome.error.message);
  return told(
    [`memory.write_approval set to '${word(isOn)}'.`, "It counts when the agent is started the next time."],
    { write_approval: isApprovalOn(outcome.value.value), in_use: host.config.memory.writeApproval },
  );
}

type Choice = { readonly records: readonly PendingRecord[]; readonly isAll: boolean };

function choose(directory: string, asked: string): Choice | { readonly reply: CommandReply } {
  if (asked === "" || /\s/.test(asked)) return { reply: failed("usage", USAGE) };
  const { records } = readPendingWrites(directory);
  const isAll = asked.toLowerCase() === "all";
  if (isAll && records.length === 0) return { reply: told([NOTHING], { success: true, pending: [] }) };
  const chosen = isAll ? records : records.filter(({ id }) => id === asked);
  if (chosen.length > 0) return { records: chosen, isAll };
  return { reply: failed("no_match", `No pending memory write with id '${short(asked, 40)}'.`) };
}

/** So that `explain` can tell later that this text was turned down. Of the text itself only a hash is kept. */
async function noteRejection(memory: MemoryStore, agent: AgentSurface, record: PendingRecord): Promise<void> {
  const target = MEMORY_TARGETS.find((each) => each === record.payload.target);
  const ops = pendingOperations(record);
  if (target === undefined || ops === undefined) return; // a record that makes no sense leaves none
  const meta = { origin: "cli", sessionId: agent.sessionId, reason: `rejected ${record.id}` } as const;
  for (const op of ops) await memory.noteRefusal(target, op, { kind: "denied", message: "rejected" }, meta);
}

function recordLine({ id, origin, summary }: PendingRecord): string {
  return `  ${id}${origin === "background_review" ? " [auto]" : ""}  ${short(summary, SUMMARY_CHARS)}`;
}

function word(isOn: boolean): string {
  return isOn ? "on" : "off";
}
