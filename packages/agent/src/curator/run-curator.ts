// One run of the curator: finds what can be tidied in memory and skills, and shows it, stages it or does it. Also the scheduled run.
import type { CuratorConfig } from "@hermes-memory/core/internal/config";
import {
  describeCause,
  err,
  ok,
  type Result,
  randomHex,
  type TextModel,
} from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import type { Home } from "@hermes-memory/core/internal/memory";
import { type CuratorState, changeState, readState } from "./curator-state.ts";
import { curateMemory } from "./memory/curate-memory.ts";
import { ModelCalls } from "./model-calls.ts";
import { type CuratorMode, type CuratorRun, type CuratorScope, NOTHING } from "./proposals.ts";
import { type AlreadyRunning, removeLeftovers, takeRunLock } from "./run-lock.ts";
import {
  beginReport,
  finishReport,
  makeReportDirectory,
  type RunHead,
  stopReport,
  summarise,
} from "./run-report.ts";
import { curateSkills } from "./skills/curate-skills.ts";

/** What the curator may tidy, and with which model. */
export type CuratorOptions = {
  /** The home to tidy: the owner's memory, and the skills. */
  readonly memory: Home;
  /** Without a model, only the fixed rules apply. */
  readonly model?: TextModel | undefined;
  readonly mode: CuratorMode;
  readonly scope: CuratorScope;
  readonly signal?: AbortSignal;
  /** Called with one line at a time, for a user who waits. */
  readonly onProgress?: (line: string) => void;
  readonly log?: Logger;
  /** The run was not started by the user: entries that the user wrote today are left alone, and nothing is proposed twice. */
  readonly isScheduled?: boolean;
  /** For one question to the model. Default 2 minutes. */
  readonly callTimeoutMs?: number;
};

/** Why a run could not start or finish. */
export type CuratorProblem = AlreadyRunning | { readonly kind: "io"; readonly message: string };

const CALL_TIMEOUT_MS = 120_000;

/** Rejects when the signal is aborted; the changes made until then can be rolled back like those of a whole run. */
export async function runCurator(options: CuratorOptions): Promise<Result<CuratorRun, CuratorProblem>> {
  const { memory, mode, scope } = options;
  const { home, clock } = memory;
  return guarded(async () => {
    const state = readState(home);
    if (!state.ok) return err({ kind: "io", message: state.error.message });
    const startedAt = clock.now();
    const head: RunHead = { id: randomHex(4), startedAt: startedAt.toISOString(), mode, scope };
    const known = state.value.proposed;
    if (mode === "dry-run") return ok((await carryOut(options, head, known)).run);
    const lock = takeRunLock(home, options.isScheduled ? "scheduled" : mode, startedAt);
    if (!lock.ok) return lock;
    using _held = lock.value;
    await removeLeftovers(memory);
    const reportDirectory = makeReportDirectory(home, startedAt);
    beginReport(reportDirectory, head);
    try {
      const { run, proposed } = await carryOut(options, head, known);
      finishReport(reportDirectory, run);
      remember(options, run, { reportDirectory, proposed });
      return ok({ ...run, reportDirectory });
    } catch (cause) {
      stopReport(reportDirectory, head);
      throw cause;
    }
  });
}

async function carryOut(
  options: CuratorOptions,
  head: RunHead,
  known: readonly string[],
): Promise<{ readonly run: CuratorRun; readonly proposed: readonly string[] }> {
  const { memory: opened, mode, scope, isScheduled = false, onProgress } = options;
  const signal = options.signal ?? new AbortController().signal;
  const { model, callTimeoutMs = CALL_TIMEOUT_MS } = options;
  const calls = model ? new ModelCalls(model, callTimeoutMs, signal) : undefined;
  const part = { memory: opened, mode, group: head.id, calls, isScheduled, known, onProgress };
  const memory = scope === "skills" ? NOTHING : await curateMemory(part);
  signal.throwIfAborted();
  const skills = scope === "memory" ? NOTHING : await curateSkills(part);
  const { findings } = memory;
  const { marks } = skills;
  const found = { decided: [...memory.decided, ...skills.decided], findings, marks };
  const run: CuratorRun = {
    ...head,
    ...found,
    durationSeconds: Math.max(0, opened.clock.now().getTime() - Date.parse(head.startedAt)) / 1000,
    model: {
      isUsed: calls !== undefined,
      calls: calls?.used ?? 0,
      failures: calls?.failures ?? 0,
      dropped: [...memory.dropped, ...skills.dropped],
    },
    notes: [...memory.notes, ...skills.notes],
    summary: summarise(found),
  };
  return { run, proposed: [...memory.proposed, ...skills.proposed] };
}

function remember(
  { memory: { home }, log }: CuratorOptions,
  run: CuratorRun,
  { reportDirectory, proposed }: { readonly reportDirectory: string; readonly proposed: readonly string[] },
): void {
  const noted = changeState(home, (now) => ({
    lastRunAt: run.startedAt,
    lastRunDurationSeconds: run.durationSeconds,
    lastRunSummary: run.summary,
    lastReportPath: reportDirectory,
    runCount: now.runCount + 1,
    proposed: [...now.proposed.filter((key) => !proposed.includes(key)), ...proposed],
  }));
  if (!noted.ok) log?.warn("The curator's state was not saved", { reason: noted.error.message });
  log?.info("Curator run", { id: run.id, mode: run.mode, scope: run.scope, summary: run.summary });
}

/** Turns system errors, such as a full disk, into a result; an abort and our own bugs are thrown on. */
async function guarded(
  work: () => Promise<Result<CuratorRun, CuratorProblem>>,
): Promise<Result<CuratorRun, CuratorProblem>> {
  try {
    return await work();
  } catch (cause) {
    const isSystem = cause instanceof Error && "code" in cause && typeof cause.code === "string";
    if (!isSystem || cause.name === "AbortError") throw cause;
    return err({ kind: "io", message: `The curator had to stop: ${describeCause(cause)}.` });
  }
}

// The scheduled run, for programs that start or notice that the user is idle

/** Whether a scheduled run is due. */
export type Due =
  | { readonly kind: "due" }
  /** The curator never ran: the first run waits for one interval, so that a new home is not tidied at once. */
  | { readonly kind: "first" }
  | {
      readonly kind: "not-due";
      readonly reason: "disabled" | "paused" | "too-early" | "busy";
      readonly nextAt?: Date;
    };

const HOUR_MS = 3_600_000;

/** `idleHours`: how long the agent has not been used; Infinity when unknown. */
export function curatorDue(
  state: Pick<CuratorState, "lastRunAt" | "isPaused">,
  config: Pick<CuratorConfig, "enabled" | "intervalHours" | "minIdleHours">,
  now: Date,
  idleHours = Number.POSITIVE_INFINITY,
): Due {
  if (!config.enabled) return { kind: "not-due", reason: "disabled" };
  if (state.isPaused) return { kind: "not-due", reason: "paused" };
  const last = state.lastRunAt === null ? Number.NaN : Date.parse(state.lastRunAt);
  if (Number.isNaN(last)) return { kind: "first" };
  // A last run in the future means that the clock was set back; waiting for that time could take years.
  const nextAt = new Date(Math.min(last, now.getTime()) + config.intervalHours * HOUR_MS);
  if (nextAt > now) return { kind: "not-due", reason: "too-early", nextAt };
  return idleHours < config.minIdleHours ? { kind: "not-due", reason: "busy" } : { kind: "due" };
}

/** Options of a run that starts by itself. */
export type ScheduledOptions = Omit<CuratorOptions, "mode" | "scope" | "isScheduled" | "model"> & {
  /** How long the agent has not been used; absent when unknown. A function is called when the interval is over. */
  readonly idleHours?: number | (() => Promise<number>);
  /** A function is called when a run is due. */
  readonly model?: TextModel | (() => Promise<Result<TextModel, unknown>>) | undefined;
};

/** Whether a scheduled run happened. */
export type ScheduledOutcome =
  | { readonly kind: "ran"; readonly run: CuratorRun }
  | { readonly kind: "put-off" }
  | { readonly kind: "not-due"; readonly due: Extract<Due, { kind: "not-due" }> }
  | { readonly kind: "failed"; readonly message: string };

/** Only proposes: its changes wait in `pending/`. Never rejects. Reads a single small file when no run is due. */
export async function maybeRunCurator(options: ScheduledOptions): Promise<ScheduledOutcome> {
  const { memory, idleHours, model, log, signal } = options;
  const { home, clock } = memory;
  try {
    const { curator } = await memory.config();
    const state = readState(home);
    if (!state.ok) return notRun(state.error.message);
    let due = curatorDue(state.value, curator, clock.now());
    if (due.kind === "due") {
      const idle = typeof idleHours === "function" ? await idleHours() : idleHours;
      due = curatorDue(state.value, curator, clock.now(), idle);
    }
    if (due.kind === "not-due") return { kind: "not-due", due };
    if (due.kind === "first") {
      // If another process has written its time first, that time stays.
      const now = clock.now().toISOString();
      const noted = changeState(home, ({ lastRunAt }) => ({ lastRunAt: lastRunAt ?? now }));
      return noted.ok ? { kind: "put-off" } : notRun(noted.error.message);
    }
    const scope = curator.memory ? "all" : "skills";
    const found = typeof model === "function" ? await model() : ok(model);
    const chosen = { model: found.ok ? found.value : undefined, scope } as const;
    const run = await runCurator({ ...options, ...chosen, mode: "propose", isScheduled: true });
    return run.ok ? { kind: "ran", run: run.value } : notRun(run.error.message);
  } catch (cause) {
    return notRun(describeCause(cause));
  }

  function notRun(message: string): ScheduledOutcome {
    if (!signal?.aborted) log?.warn("The scheduled curator run did not happen", { reason: message });
    return { kind: "failed", message };
  }
}
