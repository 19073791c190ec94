// `hermes curator status`, `pause`, `resume`, `history`, `approve`, `reject` and `rollback`: past runs and what they staged or changed.
import { resolve } from "node:path";
import {
  type CuratorMode,
  type CuratorRun,
  type CuratorScope,
  changeState,
  curatorDue,
  currentRunner,
  type Decided,
  findRollback,
  listArchivedSkills,
  listBackups,
  readRuns,
  readState,
  restoreArchivedSkill,
  restoreBackup,
  rollBack,
  rollbackPlans,
  runCurator,
  tidyUp,
} from "@hermes-memory/agent/internal/curator";
import { curatorModel } from "@hermes-memory/agent/internal/models";
import { provenanceOf, readOrigins, setPinned, skillManageTool } from "@hermes-memory/core/internal/skills";
import {
  type CommandBody,
  type CommandContext,
  CommandFailure,
  type CommandInput,
  type CommandOutcome,
  unwrap,
  usageFailure,
} from "../command.ts";
import { confirmed } from "../confirm.ts";
import { modelSources } from "../model/resolution.ts";
import { counted, newestOf, printable } from "../printing.ts";
import { render } from "../render.ts";
import { openSkills, skillFailure } from "../skills/manage-skills.ts";
import { stagedByCurator } from "../staged.ts";

export const status: CommandBody = async (_input, context) => {
  const { home } = context.memory;
  const { curator } = await context.memory.config();
  const state = unwrap(readState(home), curatorFailure);
  const due = curatorDue(state, curator, new Date());
  const staged = stagedByCurator(context);
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
      staged,
      backups: listBackups(home).length,
    },
    notes: [
      ...(due.kind === "first" ? ["The first run comes one interval after the next start of an agent."] : []),
      ...(Object.values(staged).some((count) => count > 0)
        ? ["'hermes curator approve' does what is staged, 'hermes curator reject' drops it."]
        : []),
    ],
  };
};

export const pause: CommandBody = (_input, context) => setPaused(context, true);
export const resume: CommandBody = (_input, context) => setPaused(context, false);

function setPaused({ memory: { home } }: CommandContext, isPaused: boolean): CommandOutcome {
  unwrap(
    changeState(home, () => ({ isPaused })),
    curatorFailure,
  );
  const message = isPaused
    ? "No scheduled runs start until 'hermes curator resume'. 'hermes curator run' still works."
    : "Scheduled runs may start again.";
  return { json: { success: true, message, paused: isPaused } };
}

/** The second argument of `unwrap` for results of the curator. */
export function curatorFailure(error: { readonly kind: string; readonly message: string }): CommandFailure {
  return new CommandFailure(printable(error.message), { details: { kind: error.kind } });
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
  await confirmed({ list, question, json: { id: plan.run.id }, untouched: UNTOUCHED }, input, context);
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
      message: [
        `Run ${plan.run.id} is taken back: ${counted(memory.length, "change")} of memory, ${counted(skills.length, "change")} of skills.`,
        ...exact.map((name) => `The file of '${name}' is what it was before, byte for byte.`),
      ].join("\n"),
      id: plan.run.id,
      memory,
      skills,
      exact,
      removed,
    },
    notes: notes.map((note) => `warning: ${printable(note)}`),
  };
};

async function listed({ memory }: CommandContext): Promise<CommandOutcome> {
  const runs = await rollbackPlans(memory);
  const backups = listBackups(memory.home);
  const shown = runs.map(({ run: { id, startedAt }, ...changes }) => {
    return { id, startedAt, memory: changes.memory.length, skills: changes.skills.length };
  });
  return { json: { runs, backups }, shown: { runs: shown, backups } };
}

async function fromBackup(id: string, input: CommandInput, context: CommandContext): Promise<CommandOutcome> {
  const { home } = context.memory;
  if (!listBackups(home).some((each) => each.id === id))
    throw new CommandFailure(`There is no run and no backup '${printable(id)}'.`, {
      hint: "'hermes curator rollback --list' shows both.",
      details: { kind: "not-found" },
    });
  const list = [`All skills become what they were in backup ${id}.`];
  await confirmed({ list, question: "Put them back?", json: { id }, untouched: UNTOUCHED }, input, context);
  const { before } = unwrap(await restoreBackup(home, id, new Date()), curatorFailure);
  const message = `The skills are what they were in backup ${id}. What was there before is in ${before}.`;
  return { json: { success: true, message, id, backup: before } };
}

// `hermes curator run`: the run, its report as text and JSON, and the model it uses.

const STOPPED =
  "Stopped. 'hermes curator history' shows the run; 'hermes curator rollback' takes back what it did.";

export const run: CommandBody = async (input, context) => {
  const { io, isJson } = context;
  const mode = modeOf(input);
  const scope = scopeOf(input);
  const { config, env } = await modelSources(context);
  const chosen = input.flags["no-model"] === true ? undefined : await curatorModel(config, env);
  const notes =
    chosen?.ok === false ? [`No model is used, only fixed rules. ${printable(chosen.error.message)}`] : [];
  const outcome = await io.untilInterrupted(async (signal) => {
    try {
      return await runCurator({
        memory: context.memory,
        mode,
        scope,
        signal,
        model: chosen?.ok ? chosen.value : undefined,
        callTimeoutMs: config.auxiliary.curator.timeout * 1000,
        onProgress: io.isInteractive && !isJson ? (line) => io.note(`${line}\n`) : undefined,
      });
    } catch (cause) {
      if (signal.aborted) return undefined;
      throw cause;
    } finally {
      if (chosen?.ok) io.endWithoutWaiting();
    }
  });
  if (outcome === undefined)
    return { json: { success: false, kind: "interrupted", message: STOPPED }, exitCode: 130 };
  const done = unwrap(outcome, curatorFailure);
  const json = runJson(done);
  return {
    json,
    shown: { ...json, notes: [] },
    notes: [...notes, ...done.notes.map(printable)],
    exitCode: json.success ? 0 : 1,
  };
};

function modeOf({ flags }: CommandInput): CuratorMode {
  if (flags["dry-run"] === true && flags.apply === true)
    throw usageFailure("--dry-run and --apply contradict each other. Pass one of them.");
  if (flags["dry-run"] === true) return "dry-run";
  return flags.apply === true ? "apply" : "propose";
}

/** Both flags together mean both layers, as neither does. */
function scopeOf({ flags }: CommandInput): CuratorScope {
  if (flags.memory === flags.skills) return "all";
  return flags.memory === true ? "memory" : "skills";
}

function runJson(run: CuratorRun) {
  const { id, mode, scope, summary, decided, findings, marks, model, notes, reportDirectory } = run;
  const isThere = (kind: string): boolean => decided.some(({ outcome }) => outcome.kind === kind);
  const isDry = mode === "dry-run";
  const message = [
    isDry ? `Dry run: ${summary}. Nothing was written.` : `Run ${id}: ${summary}.`,
    ...(isDry && isThere("proposed")
      ? ["Stage this with 'hermes curator run', or do it with 'hermes curator run --apply'."]
      : []),
    ...(isThere("staged")
      ? [`'hermes curator approve ${id}' does what was staged, 'hermes curator reject ${id}' drops it.`]
      : []),
    ...(isThere("applied") ? [`'hermes curator rollback ${id}' takes it back.`] : []),
  ].join("\n");
  return {
    success: !isThere("refused"),
    message,
    id,
    mode,
    scope,
    summary,
    proposals: decided.map(proposalJson),
    findings,
    marks,
    model: { used: model.isUsed, calls: model.calls, failures: model.failures, dropped: model.dropped },
    notes,
    report: reportDirectory ?? null,
  };
}

function proposalJson({ proposal, outcome }: Decided): object {
  const { layer, kind, by, reason } = proposal;
  return {
    layer,
    kind,
    by,
    reason,
    ...(proposal.layer === "memory"
      ? {
          target: proposal.target,
          remove: proposal.curation.remove,
          text: proposal.curation.text ?? null,
          keep: proposal.curation.keep ?? [],
          archive: proposal.curation.isArchived ?? false,
        }
      : { skills: proposal.skills, into: proposal.into?.name ?? null }),
    outcome: outcome.kind,
    pending_id: outcome.kind === "staged" ? outcome.id : undefined,
    change_ids: outcome.kind === "applied" ? outcome.ids : undefined,
    detail: "reason" in outcome ? outcome.reason : undefined,
  };
}

// `hermes curator pin`, `unpin`, `archive`, `restore` and `list-archived`: skills, by hand.

export const pin: CommandBody = (input, context) => setPin(input, context, true);
export const unpin: CommandBody = (input, context) => setPin(input, context, false);

async function setPin(input: CommandInput, context: CommandContext, isPinned: boolean) {
  const store = await openSkills(context);
  const skill = unwrap(await store.find(input.args.skill ?? ""), skillFailure);
  const origin = provenanceOf(skill, readOrigins(store));
  if (origin !== "agent")
    throw new CommandFailure(
      `The skill '${printable(skill.name)}' does not belong to this home, and is never archived.`,
      {
        details: { kind: "protected", provenance: origin },
      },
    );
  unwrap(await setPinned(store, skill.relativePath, isPinned), skillFailure);
  const message = isPinned
    ? `The skill '${skill.directoryName}' is pinned: the curator leaves it alone.`
    : `The skill '${skill.directoryName}' is no longer pinned.`;
  return { json: { success: true, message, skill: skill.directoryName, pinned: isPinned } };
}

/** By the rules of the curator: no pinned skills, and none that come from elsewhere. */
export const archive: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  const { name } = unwrap(await store.find(input.args.skill ?? ""), skillFailure);
  const answer = await skillManageTool(store, { action: "delete", name }, { origin: "curator" });
  const { success, error, change_id } = answer as Readonly<Record<string, unknown>>;
  if (success !== true)
    throw new CommandFailure(printable(String(error ?? "The skill was not archived.")), {
      details: { kind: "refused" },
    });
  const message = `The skill is in the archive. 'hermes curator restore ${name}' brings it back.`;
  return { json: { success: true, message, skill: name, change_id } };
};

export const restore: CommandBody = async (input, context) => {
  const store = await openSkills(context);
  const path = unwrap(await restoreArchivedSkill(store, input.args.skill ?? ""), skillFailure);
  return { json: { success: true, path } };
};

export const listArchived: CommandBody = async (_input, context) => ({
  json: {
    skills: listArchivedSkills(await openSkills(context)).map(({ name, archivedAt, absorbedInto }) => ({
      name,
      archived_at: archivedAt,
      absorbed_into: absorbedInto,
    })),
  },
});
