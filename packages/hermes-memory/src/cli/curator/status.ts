// status, pause, resume.
import {
  type CuratorState,
  changeState,
  curatorDue,
  currentRunner,
  type Due,
  listSnapshots,
  readState,
} from "@hermes-memory/agent/curator";
import type { CuratorConfig } from "@hermes-memory/core/config";
import { type CommandBody, type CommandContext, type CommandOutcome, unwrap } from "../command.ts";
import { counted, localTime, printable } from "../printing.ts";
import { curatorFailure } from "./print.ts";
import { allStaged } from "./staged.ts";

export const status: CommandBody = async (_input, context) => {
  const { home } = context.memory;
  const { curator } = await context.memory.config();
  const state = unwrap(readState(home), curatorFailure);
  const runner = currentRunner(home);
  const due = curatorDue(state, curator, new Date());
  const staged = allStaged(context.memory);
  const backups = listSnapshots(home);
  const waiting = staged.memory.length + staged.skills.length;
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
      staged: { memory: staged.memory.length, skills: staged.skills.length },
      backups: backups.length,
    },
    lines: [
      `Curator   ${stateWords(state, curator)}`,
      ...(runner ? [`Running   process ${runner.pid}, since ${localTime(runner.startedAt)}`] : []),
      `Last run  ${lastWords(state)}`,
      `Next run  ${dueWords(due, curator)}`,
      `Staged    ${waiting === 0 ? "nothing" : `${counted(waiting, "proposal")}; see 'hermes curator approve'`}`,
      `Backups   ${backups.length === 0 ? "none" : `${backups.length} of the skills, the newest ${backups[0]?.id}`}`,
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
