// `hermes curator status`, `pause`, `resume`, `history`, `approve`, `reject` and `rollback`: past runs and what they staged or changed.
import { resolve } from "node:path";
import {
  type CuratorState,
  changeState,
  curatorDue,
  currentRunner,
  type Due,
  findRollback,
  listBackups,
  type RollbackPlan,
  type RunRecord,
  readRuns,
  readState,
  restoreBackup,
  rollBack,
  rollbackPlans,
  tidyUp,
} from "@hermes-memory/agent/internal/curator";
import type { CuratorConfig } from "@hermes-memory/core/internal/config";
import type { Home } from "@hermes-memory/core/internal/memory";
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
import { stagedByCurator } from "../staged.ts";

export const status: CommandBody = async (_input, context) => {
  const { home } = context.memory;
  const { curator } = await context.memory.config();
  const state = unwrap(readState(home), curatorFailure);
  const runner = currentRunner(home);
  const due = curatorDue(state, curator, new Date());
  const staged = stagedByCurator(context);
  const backups = listBackups(home);
  const waiting = staged.memory + staged.skills;
  return {
    json: {
      enabled: curator.enabled,
      paused: state.isPaused,
      running: runner ?? null,
      last_run_at: state.lastRunAt,
      last_run_summary: state.lastRunSummary,
      last_report: state.lastReportPath,
      run_count: state.runCount,
      due: due.kind,
      next_run_at: nextOf(due)?.toISOString() ?? null,
      staged,
      backups: backups.length,
    },
    lines: [
      `Curator   ${stateWords(state, curator)}`,
      ...(runner ? [`Running   process ${runner.pid}, since ${localTime(runner.startedAt)}`] : []),
      `Last run  ${lastWords(state)}`,
      `Next run  ${dueWords(due, curator)}`,
      `Staged    ${waiting === 0 ? "nothing" : `${counted(waiting, "proposal")}; see 'hermes curator approve'`}`,
      ...(backups[0] ? [`Backups   ${backups.length} of the skills, the newest ${backups[0].id}`] : []),
    ],
  };
};

export const pause: CommandBody = (_input, context) => setPaused(context, true);
export const resume: CommandBody = (_input, context) => setPaused(context, false);

function setPaused(context: CommandContext, isPaused: boolean): CommandOutcome {
  unwrap(
    changeState(context.memory.home, () => ({ isPaused })),
    curatorFailure,
  );
  const line = isPaused
    ? "No scheduled runs start until 'hermes curator resume'. 'hermes curator run' still works."
    : "Scheduled runs may start again.";
  return { json: { success: true, paused: isPaused }, lines: [line] };
}

function nextOf(due: Due): Date | undefined {
  return due.kind === "not-due" ? due.nextAt : undefined;
}

function stateWords({ isPaused }: CuratorState, { enabled }: CuratorConfig): string {
  if (!enabled) return "switched off (curator.enabled)";
  return isPaused ? "paused" : "on";
}

function lastWords({ lastRunAt, runCount, lastRunSummary }: CuratorState): string {
  if (runCount === 0 || lastRunAt === null) return "never";
  return `${localTime(lastRunAt)}: ${printable(lastRunSummary ?? "")}`;
}

function dueWords(due: Due, { intervalHours }: CuratorConfig): string {
  if (due.kind === "due") return "at the next start or idle hour";
  if (due.kind === "first") return `${counted(intervalHours, "hour")} after the next start`;
  const next = nextOf(due);
  return next === undefined ? "none is scheduled" : `not before ${localTime(next.toISOString())}`;
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

const DEFAULT_LIMIT = 20;

export const history: CommandBody = (input, context) => {
  const limit = typeof input.flags.limit === "number" ? input.flags.limit : DEFAULT_LIMIT;
  const runs = readRuns(resolve(context.home.home));
  const shown = runs.slice(0, limit);
  return {
    json: {
      runs: shown.map(({ id, startedAt, mode, scope, status, summary, directory }) => ({
        id,
        started_at: startedAt,
        mode,
        scope,
        status,
        summary,
        report: directory,
      })),
      total: runs.length,
    },
    lines: runs.length === 0 ? ["The curator has not run here yet."] : shown.map(line),
    notes:
      shown.length < runs.length
        ? [`${runs.length - shown.length} older runs are not shown; see --limit.`]
        : [],
  };
};

function line({ id, startedAt, mode, scope, status, summary }: RunRecord): string {
  const end = status === "done" ? summary : status === "stopped" ? "stopped" : "was cut off, or is running";
  return `${id}  ${localTime(startedAt)}  ${printable(mode)}  ${printable(scope)}  ${printable(end)}`;
}

// Rollback of a run by its id, or of all skills from a backup.

const UNTOUCHED = "Nothing was taken back";

export const rollback: CommandBody = async (input, context) => {
  await context.memory.config(); // fails when config.yaml is broken
  if (input.flags.list === true) return list(context.memory);
  const { id } = input.args;
  if (id !== undefined && !/^[0-9a-f]{8}$/.test(id)) return fromBackup(id, input, context);
  await tidyUp(context.memory); // of a killed run, even one without changes
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
    const hint = "done" in done.error && done.error.done ? "The changes before it were undone." : undefined;
    throw new CommandFailure(printable(done.error.message), {
      details: { kind: done.error.kind, done: "done" in done.error ? done.error.done : undefined },
      hint,
    });
  }
  const { memory, skills, exact, removed, notes } = done.value;
  return {
    json: { success: true, id: plan.run.id, memory, skills, exact, removed },
    lines: [
      `Run ${plan.run.id} is taken back: ${planSummary({ memory, skills })}.`,
      ...removed.map((before) => changeLine({ at: 0, before, after: null }, true)),
      ...exact.map((target) => `The file of '${target}' is what it was before, byte for byte.`),
    ],
    notes: notes.map((note) => `warning: ${printable(note)}`),
  };
};

async function list(memory: Home): Promise<CommandOutcome> {
  const plans = await rollbackPlans(memory);
  const backups = listBackups(memory.home);
  const lines = [
    ...(plans.length === 0 ? ["No run is left to take back."] : ["Runs:"]),
    ...plans.map((plan) => `  ${plan.run.id}  ${localTime(plan.run.startedAt)}  ${planSummary(plan)}`),
    ...(backups.length === 0 ? [] : ["Backups of the skills:"]),
    ...backups.map(({ id, reason }) => `  ${printable(id)}  ${printable(reason)}`),
  ];
  return { json: { runs: plans, backups }, lines };
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
  return {
    json: { success: true, id, backup: before },
    lines: [`The skills are what they were in backup ${id}. What was there before is in ${before}.`],
  };
}

function planLines(plan: RollbackPlan): string[] {
  return [
    `Run ${plan.run.id} of ${localTime(plan.run.startedAt)}:`,
    ...plan.memory.map(({ id, target, action }) => `  ${action} ${id} in ${target}`),
    ...plan.skills.map(({ id, skill, action }) => `  ${action} ${id} of skill ${printable(skill)}`),
  ];
}

function planSummary({ memory, skills }: Record<"memory" | "skills", readonly unknown[]>): string {
  return `${counted(memory.length, "change")} of memory, ${counted(skills.length, "change")} of skills`;
}
