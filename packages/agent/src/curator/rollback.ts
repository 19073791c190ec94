// Takes back what one run did, in memory and in skills, also when a person approved it later.
import { MEMORY_TARGETS, type MemoryTarget } from "@hermes-memory/core/curated";
import { err, ok, type Result } from "@hermes-memory/core/lib";
import type { Memory } from "@hermes-memory/core/memory";
import { type HistoryEntry, skillHistory, undoSkillChange } from "@hermes-memory/core/skills";
import { removeLeftovers } from "./leftovers.ts";
import { tellProvider } from "./memory/curate-memory.ts";
import { type RunRecord, readRuns } from "./report.ts";
import { type AlreadyRunning, takeRunLock } from "./run-lock.ts";
import { sessionOf } from "./skills/curate-skills.ts";
import { mendRestore } from "./skills/snapshots.ts";

/** What is left to take back of one run. */
export type RollbackPlan = {
  readonly run: RunRecord;
  readonly memory: readonly { readonly id: string; readonly target: MemoryTarget; readonly action: string }[];
  /** Newest first, the order they are taken back in. */
  readonly skills: readonly { readonly id: string; readonly skill: string; readonly action: string }[];
};

export type RolledBack = {
  readonly memory: readonly string[];
  /** Texts that left the memory files by it. */
  readonly removed: readonly string[];
  readonly skills: readonly string[];
  /** Targets whose file is what it was before the run, byte for byte. */
  readonly exact: readonly MemoryTarget[];
  /** What an earlier restore of a backup had left half done and was put right first. */
  readonly mended: readonly string[];
  /** What the active memory provider did not get. */
  readonly notes: readonly string[];
};

export type RollbackProblem =
  | AlreadyRunning
  | {
      readonly kind: "not-found" | "nothing" | "conflict" | "io";
      readonly message: string;
      readonly done?: RolledBack;
    };

/** Newest first; only runs of which something is left. */
export async function rollbackPlans({ home, owner }: Memory): Promise<RollbackPlan[]> {
  const curated = await owner.curatedIn(owner.directory, { isLoaded: false });
  const changes = MEMORY_TARGETS.flatMap((target) => curated.history({ target }));
  const history = skillHistory(await owner.skills());
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

/** Without an id: the newest run of which something is left. */
export async function findRollback(
  memory: Memory,
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

export async function rollBack(
  plan: RollbackPlan,
  opened: Memory,
): Promise<Result<RolledBack, RollbackProblem>> {
  const { home, clock, owner } = opened;
  const lock = takeRunLock(home, "rollback", clock.now());
  if (!lock.ok) return lock;
  using _held = lock.value;
  await removeLeftovers(opened);
  const mended = mendRestore(home);
  if (!mended.ok) return err({ kind: "io", message: mended.error.message });
  const undone: string[] = [];
  const memory = plan.memory.length === 0 ? undefined : await undoMemory(plan, opened);
  if (memory && !memory.ok) return memory;
  const done = (): RolledBack => ({
    memory: memory?.value.changes ?? [],
    removed: memory?.value.removed ?? [],
    skills: undone,
    exact: memory?.value.exact ?? [],
    mended: mended.value,
    notes: memory?.value.notes ?? [],
  });
  const skills = await owner.skills();
  for (const { id } of plan.skills) {
    const outcome = await undoSkillChange(skills, id, { origin: "curator" });
    // A change that was cut off before it took effect needs no undoing.
    if (!outcome.ok && !/never took effect/.test(outcome.error.message))
      return err({ kind: "conflict", message: outcome.error.message, done: done() });
    if (outcome.ok) undone.push(id);
  }
  return ok(done());
}

type MemoryUndone = {
  readonly changes: readonly string[];
  readonly removed: readonly string[];
  readonly exact: readonly MemoryTarget[];
  readonly notes: readonly string[];
};

async function undoMemory(
  { run }: RollbackPlan,
  { owner }: Memory,
): Promise<Result<MemoryUndone, RollbackProblem>> {
  const store = await owner.curatedIn(owner.directory);
  const reason = `rollback of curator run ${run.id}`;
  const outcome = await store.undoGroup(run.id, { origin: "curator", reason });
  if (!outcome.ok) return err({ kind: "conflict", message: outcome.error.message });
  const { changes, removed, exact, writes } = outcome.value;
  return ok({ changes, removed, exact, notes: await tellProvider(owner, writes) });
}

function belongsTo({ action, session, approval, undone_by }: HistoryEntry, run: RunRecord): boolean {
  if (action === "undo" || undone_by !== undefined) return false;
  return session === sessionOf(run.id) || (approval !== undefined && run.staged.includes(approval));
}
