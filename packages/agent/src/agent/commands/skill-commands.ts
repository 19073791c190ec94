// /skills and /curator: list skills, decide about staged changes, tidy up.
import { isApprovalOn } from "@hermes-memory/core/internal/config";
import { diffSkillChange } from "@hermes-memory/core/internal/skills";
import { listStaged } from "@hermes-memory/core/internal/staged";
import { type CommandCall, type CommandReply, failed, type SlashCommand, short, told } from "./command.ts";
import { decisionReply, pendingReply, placeOf } from "./staged.ts";

const SUMMARY_CHARS = 200;

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
    if (word === "pending") return pendingReply(call.agent, "skills");
    if (word === "diff" && isOne) return diff(call, id);
    if (["approve", "apply"].includes(word) && isOne)
      return decisionReply(call.agent, "skills", "approve", id);
    if (["reject", "deny", "drop"].includes(word) && isOne)
      return decisionReply(call.agent, "skills", "reject", id);
    return undefined;
  },
};

async function listSkills(call: CommandCall): Promise<CommandReply> {
  const { skills } = await call.agent.skills.visible();
  const waiting = listStaged(placeOf(call.agent), { subsystem: "skills" }).records.length;
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

async function diff({ agent }: CommandCall, id: string): Promise<CommandReply> {
  const shown = await diffSkillChange(agent.skills, id);
  return shown.ok
    ? told(shown.value, { id, diff: shown.value })
    : failed(shown.error.kind, shown.error.message);
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
