// Undoes what the curator did: all changes of one run in memory and skills, also those that the user approved later; or the
// archiving of one skill.
import { MEMORY_TARGETS, type MemoryTarget } from "@hermes-memory/core/internal/curated";
import { err, ok, type Result } from "@hermes-memory/core/internal/lib";
import type { Home } from "@hermes-memory/core/internal/memory";
import {
  type HistoryEntry,
  listArchivedSkills as listArchive,
  readUsage,
  restoreSkill,
  type SkillError,
  type SkillStore,
  skillHistory,
  undoSkillChange,
} from "@hermes-memory/core/internal/skills";
import { tellProvider } from "./memory/curate-memory.ts";
import { type AlreadyRunning, removeLeftovers, takeRunLock } from "./run-lock.ts";
import { type RunRecord, readRuns } from "./run-report.ts";
import { sessionOf } from "./skills/curate-skills.ts";

/** The changes of one run that are not undone yet. */
export type RollbackPlan = {
  readonly run: RunRecord;
  readonly memory: readonly { readonly id: string; readonly target: MemoryTarget; readonly action: string }[];
  /** Newest first, the order in which they are undone. */
  readonly skills: readonly { readonly id: string; readonly skill: string; readonly action: string }[];
};

/** What taking a run back changed. */
export type RolledBack = {
  readonly memory: readonly string[];
  /** Entries that the rollback removed from the memory files. */
  readonly removed: readonly string[];
  readonly skills: readonly string[];
  /** Targets whose file has the same bytes as before the run. */
  readonly exact: readonly MemoryTarget[];
  /** Messages about changes that the active memory provider did not get. */
  readonly notes: readonly string[];
};

/** Why a run could not be taken back. */
export type RollbackProblem =
  | AlreadyRunning
  | {
      readonly kind: "not-found" | "nothing" | "conflict" | "io";
      readonly message: string;
      readonly done?: RolledBack;
    };

/** Newest first; only runs with changes that are not undone yet. */
export async function rollbackPlans({ home, administrator }: Home): Promise<RollbackPlan[]> {
  const curated = await administrator.curatedIn(administrator.directory, { isLoaded: false });
  const changes = MEMORY_TARGETS.flatMap((target) => curated.history({ target }));
  const history = skillHistory(await administrator.skills());
  return readRuns(home)
    .map(
      (run): RollbackPlan => ({
        run,
        memory: changes
          .filter(
            ({ group, status, action }) => group === run.id && status === "committed" && action !== "undo",
          )
          .map(({ id, target, action }) => ({ id, target, action })),
        skills: history
          .filter((change) => belongsTo(change, run))
          .map(({ id, skill, action }) => ({ id, skill, action })),
      }),
    )
    .filter((plan) => plan.memory.length + plan.skills.length > 0);
}

/** Without an id: the newest run with changes that are not undone yet. */
export async function findRollback(
  memory: Home,
  id?: string,
): Promise<Result<RollbackPlan, RollbackProblem>> {
  const plans = await rollbackPlans(memory);
  const plan = id === undefined ? plans[0] : plans.find(({ run }) => run.id === id);
  if (plan) return ok(plan);
  if (id === undefined) return err({ kind: "nothing", message: "There is no curator run to take back." });
  const isKnown = readRuns(memory.home).some((run) => run.id === id);
  return isKnown
    ? err({ kind: "nothing", message: `Run '${id}' changed nothing that is still there to take back.` })
    : err({
        kind: "not-found",
        message: `No curator run has the id '${id.slice(0, 40)}'. 'hermes curator history' lists them.`,
      });
}

/** Takes back everything one run of the curator changed. */
export async function rollBack(
  plan: RollbackPlan,
  opened: Home,
): Promise<Result<RolledBack, RollbackProblem>> {
  const { home, clock, administrator } = opened;
  const lock = takeRunLock(home, "rollback", clock.now());
  if (!lock.ok) return lock;
  using _held = lock.value;
  await removeLeftovers(opened);
  const curated = await administrator.curatedIn(administrator.directory);
  const reason = `rollback of curator run ${plan.run.id}`;
  const memory =
    plan.memory.length === 0
      ? ok(NOTHING)
      : await curated.undoGroup(plan.run.id, { origin: "curator", reason });
  if (!memory.ok) return err({ kind: "conflict", message: memory.error.message });
  const { changes, removed, exact, writes } = memory.value;
  const notes = await tellProvider(administrator, writes);
  const undone: string[] = [];
  const done: RolledBack = { memory: changes, removed, exact, notes, skills: undone };
  const skills = await administrator.skills();
  for (const { id } of plan.skills) {
    const outcome = await undoSkillChange(skills, id, { origin: "curator" });
    // A change that was interrupted before it took effect needs no undo.
    if (!outcome.ok && !/never took effect/.test(outcome.error.message))
      return err({ kind: "conflict", message: outcome.error.message, done });
    if (outcome.ok) undone.push(id);
  }
  return ok(done);
}

const NOTHING = { changes: [], removed: [], exact: [], writes: [] };

function belongsTo({ action, session, approval, undone_by }: HistoryEntry, run: RunRecord): boolean {
  if (action === "undo" || undone_by !== undefined) return false;
  return session === sessionOf(run.id) || (approval !== undefined && run.staged.includes(approval));
}

// Skills in the archive

type ArchivedSkill = {
  /** The name of its directory in the archive. */
  readonly name: string;
  readonly archivedAt: string | null;
  readonly absorbedInto: string | null;
};

export function listArchivedSkills(store: SkillStore): ArchivedSkill[] {
  const usage = readUsage(store);
  const history = skillHistory(store);
  return listArchive(store).map(({ name }) => {
    const move = history.find((change) => change.moved?.to === `.archive/${name}`);
    const archivedAt = usage.get(name)?.archived_at ?? move?.time ?? null;
    return { name, archivedAt, absorbedInto: move?.absorbed_into ?? null };
  });
}

/** To its former place if the history has it, else directly below the skills. Never overwrites a skill. */
export async function restoreArchivedSkill(
  store: SkillStore,
  name: string,
): Promise<Result<string, SkillError>> {
  const move = skillHistory(store).find(
    (change) => change.moved?.to === `.archive/${name}` && change.undone_by === undefined,
  );
  const isThere = listArchive(store).some((each) => each.name === name);
  if (move && isThere) {
    const undone = await undoSkillChange(store, move.id);
    return undone.ok ? ok(move.path) : undone;
  }
  const restored = await restoreSkill(store, name, { origin: "cli" });
  return restored.ok ? ok(restored.value.path) : restored;
}
