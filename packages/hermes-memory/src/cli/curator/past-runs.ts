// `hermes curator status`, `pause`, `resume`, `history`, `approve`, `reject` and `rollback`: past runs and what they staged or changed.
import { resolve } from "node:path";
import {
  changeState,
  curatorDue,
  currentRunner,
  findRollback,
  listBackups,
  readRuns,
  readState,
  restoreBackup,
  rollBack,
  rollbackPlans,
  tidyUp,
} from "@hermes-memory/agent/internal/curator";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  unwrap,
} from "../command.ts";
import { declined } from "../confirm.ts";
import { newestOf, printable } from "../printing.ts";
import { render } from "../render.ts";
import { stagedByCurator } from "../staged.ts";

export const status: CommandBody = async (_input, context) => {
  const { home } = context.memory;
  const { curator } = await context.memory.config();
  const state = unwrap(readState(home), curatorFailure);
  const due = curatorDue(state, curator, new Date());
  return {
    json: {
      enabled: curator.enabled,
      paused: state.isPaused,
      running: currentRunner(home) ?? null,
      last_run_at: state.lastRunAt,
      last_run_summary: state.lastRunSummary,
      last_report: state.lastReportPath,
      run_count: state.runCount,
      due: due.kind,
      next_run_at: (due.kind === "not-due" && due.nextAt?.toISOString()) || null,
      staged: stagedByCurator(context),
      backups: listBackups(home).length,
    },
  };
};

export const pause: CommandBody = (_input, context) => setPaused(context, true);
export const resume: CommandBody = (_input, context) => setPaused(context, false);

function setPaused({ memory: { home } }: CommandContext, isPaused: boolean): CommandOutcome {
  const outcome = changeState(home, () => ({ isPaused }));
  unwrap(outcome, curatorFailure);
  const message = isPaused
    ? "No scheduled runs start until 'hermes curator resume'. 'hermes curator run' still works."
    : "Scheduled runs may start again.";
  return { json: { success: true, message, paused: isPaused } };
}

/** The second argument of `unwrap` for results of the curator. */
export function curatorFailure({
  kind,
  message,
}: {
  readonly kind: string;
  readonly message: string;
}): CommandFailure {
  return new CommandFailure(printable(message), { details: { kind } });
}

export const history: CommandBody = (input, context) => {
  const all = readRuns(resolve(context.home.home));
  const { shown, notes } = newestOf(all, input);
  const runs = shown.map(
    ({ id, startedAt: started_at, mode, scope, status: state, summary, directory: report }) => {
      return { id, started_at, mode, scope, status: state, summary, report };
    },
  );
  return { json: { runs, total: all.length }, notes };
};

// Rollback of a run by its id, or of all skills from a backup.

const UNTOUCHED = "Nothing was taken back";

export const rollback: CommandBody = async (input, context) => {
  await context.memory.config(); // fails when config.yaml is broken
  if (input.flags.list === true) return listed(context);
  const { id } = input.args;
  if (id !== undefined && !/^[0-9a-f]{8}$/.test(id)) return fromBackup(id, input, context);
  await tidyUp(context.memory); // of a killed run, even one without changes
  const plan = unwrap(await findRollback(context.memory, id), curatorFailure);
  const question = `Take back run ${plan.run.id}?`;
  const list = render({ run: plan.run.id, memory: plan.memory, skills: plan.skills }, context.io.paint);
  const refused = await declined(
    { list, question, json: { id: plan.run.id }, untouched: UNTOUCHED },
    input,
    context,
  );
  if (refused) return refused;
  const done = await rollBack(plan, context.memory);
  if (!done.ok) {
    const { kind, message } = done.error;
    const isStarted = "done" in done.error ? done.error.done : undefined;
    throw new CommandFailure(printable(message), {
      details: { kind, done: isStarted },
      hint: isStarted ? "The changes before it were undone." : undefined,
    });
  }
  const { memory, skills, exact, removed, notes } = done.value;
  return {
    json: {
      success: true,
      message: `Run ${plan.run.id} is taken back.`,
      id: plan.run.id,
      memory,
      skills,
      exact,
      removed,
    },
    notes: notes.map((note) => `warning: ${printable(note)}`),
  };
};

async function listed({ memory, io }: CommandContext): Promise<CommandOutcome> {
  const runs = await rollbackPlans(memory);
  const backups = listBackups(memory.home);
  const shown = runs.map(({ run: { id, startedAt }, ...changes }) => {
    return { id, startedAt, memory: changes.memory.length, skills: changes.skills.length };
  });
  return { json: { runs, backups }, lines: render({ runs: shown, backups }, io.paint) };
}

async function fromBackup(id: string, input: CommandInput, context: CommandContext): Promise<CommandOutcome> {
  const { home } = context.memory;
  if (!listBackups(home).some((each) => each.id === id))
    throw new CommandFailure(`There is no run and no backup '${printable(id)}'.`, {
      hint: "'hermes curator rollback --list' shows both.",
      details: { kind: "not-found" },
    });
  const list = [`All skills become what they were in backup ${id}.`];
  const refused = await declined(
    { list, question: "Put them back?", json: { id }, untouched: UNTOUCHED },
    input,
    context,
  );
  if (refused) return refused;
  const { before } = unwrap(await restoreBackup(home, id, new Date()), curatorFailure);
  const message = `The skills are what they were in backup ${id}. What was there before is in ${before}.`;
  return { json: { success: true, message, id, backup: before } };
}
