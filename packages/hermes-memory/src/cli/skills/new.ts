// new: a skill written by a person. The same rules as for agents, but it is not scanned for threat patterns: it is the
// person's own text. Credentials and disguised text are refused here too.
import { changeSkill } from "@hermes-memory/core/skills";
import { type CommandBody, CommandFailure, unwrap } from "../command.ts";
import { printable } from "../printing.ts";
import { openSkills, skillFailure } from "./open.ts";

export const create: CommandBody = async ({ args, flags }, context) => {
  const { name = "" } = args;
  const { category, description } = flags;
  const content = flags.stdin === true ? await context.io.readInput() : frame(name, description);
  const store = await openSkills(context, flags);
  const call = { action: "create", name, content, ...(typeof category === "string" ? { category } : {}) };
  const { reply, changeId, warning } = unwrap(
    await changeSkill(store, call, { origin: "cli" }),
    skillFailure,
  );
  const file = String(reply.skill_md);
  return {
    json: { success: true, ...reply, change_id: changeId, ...(warning === undefined ? {} : { warning }) },
    lines: [printable(String(reply.message)), file],
    notes: [
      ...(flags.stdin === true ? [] : ["Fill in the parts in brackets; agents see the skill at once."]),
      ...(warning === undefined ? [] : [warning]),
    ],
  };
};

function frame(name: string, description: unknown): string {
  if (typeof description !== "string" || description.trim() === "") {
    throw new CommandFailure("A skill needs a description: agents choose by it.", {
      exitCode: 2,
      hint: "Pass --description 'what it is for and when to use it', or a whole SKILL.md with --stdin.",
      details: { kind: "missing_arg" },
    });
  }
  return [
    "---",
    `name: ${name}`,
    `description: ${JSON.stringify(description.trim())}`, // JSON is YAML
    "---",
    "",
    `# ${name}`,
    "",
    "## When to use",
    "[In which situations, and in which not.]",
    "",
    "## Steps",
    "1. [The first step, with the exact command.]",
    "",
    "## Pitfalls",
    "- [What goes wrong, and how to notice.]",
    "",
  ].join("\n");
}
