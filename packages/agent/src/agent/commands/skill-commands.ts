// /skills and /curator: list skills, decide about staged changes, tidy up.
import { isApprovalOn } from "@hermes-memory/core/internal/config";
import {
  approveSkillChange,
  diffSkillChange,
  type PendingSkillChange,
  pendingSkillsDirectory,
  readPendingSkills,
  rejectSkillChange,
} from "@hermes-memory/core/internal/skills";
import type { CommandCall, CommandReply, SlashCommand } from "./command.ts";
import { failed, short, told, wrongUsage } from "./replies.ts";

const SUMMARY_CHARS = 200;
const NOTHING = "No pending skill changes.";

export const skillsCommand: SlashCommand = {
  name: "skills",
  group: "memory",
  summary: "list skills, and decide about changes that wait for approval",
  usage: "[list | pending | diff ID | approve ID|all | reject ID|all]",
  words: ["list", "pending", "diff", "approve", "reject"],
  run: (call) => {
    const [word = "", id = "", ...more] = call.args.split(/\s+/);
    const isOne = id !== "" && more.length === 0;
    if (word === "" || word === "list") return listSkills(call);
    if (word === "pending") return pending(call);
    if (word === "diff" && isOne) return diff(call, id);
    if (["approve", "apply"].includes(word) && isOne) return decide(call, id, "approve");
    if (["reject", "deny", "drop"].includes(word) && isOne) return decide(call, id, "reject");
    return wrongUsage(skillsCommand);
  },
};

async function listSkills(call: CommandCall): Promise<CommandReply> {
  const { skills } = await call.agent.skills.visible();
  const waiting = recordsOf(call).length;
  const lines = [
    ...(skills.length === 0
      ? [`There are no skills yet. They live in ${call.agent.skills.directory}.`]
      : skills.map(({ name, header }) => `  ${name}  ${short(header.description, SUMMARY_CHARS)}`)),
    ...(waiting === 0 ? [] : [`${waiting} change(s) wait for approval: /skills pending`]),
    `skills.write_approval = ${isApprovalOn(call.host.config.skills.writeApproval) ? "on" : "off"}`,
  ];
  const json = skills.map(({ name, category, header }) => ({
    name,
    category,
    description: header.description,
  }));
  return told(lines, { skills: json, pending: waiting });
}

function pending(call: CommandCall): CommandReply {
  const records = recordsOf(call);
  if (records.length === 0) return told([NOTHING], { pending: [] });
  return told(
    [
      `Pending skill changes (${records.length}):`,
      ...records.map(recordLine),
      "",
      "See one with '/skills diff <id>', save it with '/skills approve <id>', drop it with '/skills reject <id>'. 'all' means every one.",
    ],
    { pending: records },
  );
}

async function diff({ agent }: CommandCall, id: string): Promise<CommandReply> {
  const shown = await diffSkillChange(agent.skills, id);
  return shown.ok
    ? told(shown.value, { id, diff: shown.value })
    : failed(shown.error.kind, shown.error.message);
}

async function decide(call: CommandCall, asked: string, what: "approve" | "reject"): Promise<CommandReply> {
  const isAll = asked.toLowerCase() === "all";
  const ids = isAll ? recordsOf(call).map(({ id }) => id) : [asked];
  if (ids.length === 0) return told([NOTHING], { success: true, pending: [] });
  const done: string[] = [];
  const failures: { id: string; kind: string; error: string }[] = [];
  for (const id of ids) {
    const { skills, sessionId } = call.agent;
    const outcome =
      what === "approve"
        ? await approveSkillChange(skills, id, { sessionId })
        : await rejectSkillChange(skills, id);
    if (outcome.ok) done.push(id);
    else failures.push({ id, kind: outcome.error.kind, error: outcome.error.message });
  }
  const lines = [
    `${what === "approve" ? "Approved" : "Rejected"} ${done.length} skill change(s).`,
    ...failures.map(({ id, error }) => `  ${id}: ${error}`),
  ];
  const json = {
    success: failures.length === 0,
    ...(what === "approve" ? { approved: done } : { rejected: done }),
    failed: failures,
  };
  return { kind: failures.length === 0 ? "text" : "error", lines, json };
}

function recordsOf({ agent }: CommandCall): readonly PendingSkillChange[] {
  return readPendingSkills(pendingSkillsDirectory(agent.home)).records;
}

function recordLine({ id, summary, origin }: PendingSkillChange): string {
  const auto = origin === "background_review" ? " [auto]" : "";
  return `  ${id}${auto}  ${short(summary, SUMMARY_CHARS)}`;
}

/** The entrance runs the `hermes curator` commands, so flags and answers are the same as in a shell. */
export const curatorCommand: SlashCommand = {
  name: "curator",
  group: "memory",
  summary: "tidy memory and skills: status, runs, staged changes, rollback",
  usage: "[status | run [--dry-run] | approve | reject | rollback | history | pause | resume | ...]",
  words: ["status", "run", "approve", "reject", "rollback", "history", "pause", "resume", "backup"],
  run: ({ args, host }) => {
    if (host.runCurator === undefined)
      return failed(
        "no_command_line",
        "The curator cannot be run from here.",
        "Use 'hermes curator' in a shell.",
      );
    return host.runCurator(args === "" ? ["status"] : args.split(/\s+/));
  },
};
