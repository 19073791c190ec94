// `hermes curator rollback`: a run by its id, or the skills from a backup.
import {
  findRollback,
  listSnapshots,
  type RollbackPlan,
  restoreSnapshot,
  rollBack,
  rollbackPlans,
  tidyUp,
} from "@hermes-memory/agent/curator";
import type { Memory } from "@hermes-memory/core/memory";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  unwrap,
} from "../command.ts";
import { declined } from "../confirm.ts";
import { changeLine, counted, localTime, printable } from "../printing.ts";
import { curatorFailure } from "./print.ts";

const UNTOUCHED = "Nothing was taken back";

export const rollback: CommandBody = async (input, context) => {
  await context.memory.config(); // a broken config.yaml ends it here
  if (input.flags.list === true) return list(context.memory);
  const { id } = input.args;
  if (id !== undefined && !/^[0-9a-f]{8}$/.test(id)) return fromBackup(id, input, context);
  await tidyUp(context.memory); // also when a killed run had not come to its first change
  const plan = unwrap(await findRollback(context.memory, id), curatorFailure);
  const refused = await declined(
    {
      list: planLines(plan),
      question: `Take back run ${plan.run.id}?`,
      json: { id: plan.run.id },
      untouched: UNTOUCHED,
    },
    input,
    context,
  );
  if (refused) return refused;
  const done = await rollBack(plan, context.memory);
  if (!done.ok) {
    const hint = "done" in done.error && done.error.done ? "What came before it was taken back." : undefined;
    throw new CommandFailure(printable(done.error.message), {
      details: { kind: done.error.kind, ...("done" in done.error ? { done: done.error.done } : {}) },
      hint,
    });
  }
  const { memory, skills, exact, mended, removed, notes } = done.value;
  return {
    json: {
      success: true,
      id: plan.run.id,
      memory,
      skills,
      exact,
      removed,
      ...(mended.length === 0 ? {} : { mended }),
    },
    lines: [
      ...mended.map((line) => printable(line)),
      `Run ${plan.run.id} is taken back: ${counted(memory.length, "change")} of memory, ${counted(skills.length, "change")} of skills.`,
      ...removed.map((before) => changeLine({ at: 0, before, after: null }, true)),
      ...exact.map((target) => `The file of '${target}' is what it was before, byte for byte.`),
    ],
    notes: notes.map((note) => `warning: ${printable(note)}`),
  };
};

async function list(memory: Memory): Promise<CommandOutcome> {
  const plans = await rollbackPlans(memory);
  const backups = listSnapshots(memory.home);
  const lines = [
    ...(plans.length === 0 ? ["No run is left to take back."] : ["Runs:"]),
    ...plans.map((plan) => `  ${plan.run.id}  ${localTime(plan.run.startedAt)}  ${planSummary(plan)}`),
    ...(backups.length === 0 ? [] : ["Backups of the skills:"]),
    ...backups.map(({ id, files, reason }) => `  ${id}  ${counted(files, "file")}  ${printable(reason)}`),
  ];
  return { json: { runs: plans, backups }, lines };
}

async function fromBackup(id: string, input: CommandInput, context: CommandContext): Promise<CommandOutcome> {
  const { home } = context.memory;
  const { curator } = await context.memory.config();
  const backup = listSnapshots(home).find((each) => each.id === id);
  if (!backup)
    throw new CommandFailure(`There is no run and no backup '${printable(id)}'.`, {
      hint: "'hermes curator rollback --list' shows both.",
      details: { kind: "not-found" },
    });
  const list = [`All skills become what they were in backup ${id} (${counted(backup.files, "file")}).`];
  const refused = await declined(
    { list, question: "Put them back?", json: { id }, untouched: UNTOUCHED },
    input,
    context,
  );
  if (refused) return refused;
  const { backup: before, mended } = unwrap(
    await restoreSnapshot(home, id, { keep: curator.backup.keep, now: new Date() }),
    curatorFailure,
  );
  return {
    json: { success: true, id, backup: before.id, ...(mended.length === 0 ? {} : { mended }) },
    lines: [
      ...mended.map((line) => printable(line)),
      `The skills are what they were in backup ${id}. What was there before is in ${before.id}.`,
    ],
  };
}

function planLines(plan: RollbackPlan): string[] {
  return [
    `Run ${plan.run.id} of ${localTime(plan.run.startedAt)}:`,
    ...plan.memory.map(({ id, target, action }) => `  ${action} ${id} in ${target}`),
    ...plan.skills.map(({ id, skill, action }) => `  ${action} ${id} of skill ${printable(skill)}`),
  ];
}

function planSummary({ memory, skills }: RollbackPlan): string {
  return `${counted(memory.length, "change")} of memory, ${counted(skills.length, "change")} of skills`;
}
