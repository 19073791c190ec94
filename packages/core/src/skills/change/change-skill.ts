// One change of a skill from beginning to end: take the lock, read the catalog, plan, apply, count.
import { mkdirSync } from "node:fs";
import { describeCause, err, HermesError, ok, type Result, withFileLocks } from "../../lib/index.ts";
import { type FrontmatterParser, loadFrontmatterParser } from "../frontmatter.ts";
import { changeLockPath } from "../paths.ts";
import type { SkillError, SkillOrigin } from "../skill.ts";
import type { SkillStore } from "../store.ts";
import { changeUsage, countPatch, markArchived, markCreated, type UsageChange } from "../usage.ts";
import { applyPlan, type ChangeContext } from "./apply-plan.ts";
import { type Plan, planCall, type Reply } from "./change-plan.ts";
import { parseSkillCall, type SkillCall } from "./skill-call.ts";

export type SkillChanged = { readonly changeId: string; readonly reply: Reply; readonly warning?: string };

export type PerformOptions = {
  /** Called under the lock; an error cancels the change. */
  readonly guard?: () => SkillError | undefined;
  /** Called under the lock, once the change is on disk. */
  readonly onApplied?: () => void;
};

/** Takes the arguments of `skill_manage` and carries them out at once. */
export async function changeSkill(
  store: SkillStore,
  args: unknown,
  context: ChangeContext,
): Promise<Result<SkillChanged, SkillError>> {
  const call = parseSkillCall(args);
  return call.ok ? performCall(store, call.value, context) : call;
}

export async function performCall(
  store: SkillStore,
  call: SkillCall,
  context: ChangeContext,
  options: PerformOptions = {},
): Promise<Result<SkillChanged, SkillError>> {
  const parse = await loadFrontmatterParser();
  const done = await underLock(store, () => {
    const refusal = options.guard?.();
    if (refusal) return err(refusal);
    const plan = planNow(store, call, context.origin, parse);
    if (!plan.ok) return plan;
    const applied = applyPlan(store, plan.value, context);
    if (applied.ok) options.onApplied?.();
    return applied.ok ? ok({ plan: plan.value, applied: applied.value }) : applied;
  });
  if (!done.ok) return done;
  const { plan, applied } = done.value;
  // The result is ignored: the change is done even if the count cannot be written.
  await changeUsage(store, new Map([[plan.place.directoryName, usageOf(plan, context.origin)]]));
  return ok({ changeId: applied.change.id, reply: plan.reply, warning: applied.warning });
}

/** The plan that the call would carry out now; changes nothing. */
export async function previewCall(
  store: SkillStore,
  call: SkillCall,
  origin: SkillOrigin,
): Promise<Result<Plan, SkillError>> {
  const parse = await loadFrontmatterParser();
  return withDiskErrors(() => planNow(store, call, origin, parse));
}

/** Runs `work` while no other process changes skills. A disk error becomes a result, not an exception. */
export async function underLock<T>(
  store: SkillStore,
  work: () => Result<T, SkillError>,
): Promise<Result<T, SkillError>> {
  const path = changeLockPath(store.directory);
  try {
    mkdirSync(store.directory, { recursive: true, mode: 0o700 });
    const done = await withFileLocks([path], { timeoutMs: store.lockTimeoutMs }, () => withDiskErrors(work));
    if (done.ok) return done.value;
    const message = `Another process kept ${path} for ${done.error.waitedMs} ms. Nothing was changed; try again.`;
    return err({ kind: "locked", message });
  } catch (cause) {
    return err(ioError(cause));
  }
}

function withDiskErrors<T>(work: () => Result<T, SkillError>): Result<T, SkillError> {
  try {
    return work();
  } catch (cause) {
    return err(ioError(cause));
  }
}

function ioError(cause: unknown): SkillError {
  const hint = cause instanceof HermesError && cause.hint !== undefined ? ` ${cause.hint}` : "";
  return { kind: "io", message: `The disk refused: ${describeCause(cause)}.${hint}` };
}

function planNow(
  store: SkillStore,
  call: SkillCall,
  origin: SkillOrigin,
  parse: FrontmatterParser,
): Result<Plan, SkillError> {
  return planCall(call, { store, contents: store.catalog.refreshSync(parse), parse, origin });
}

function usageOf(plan: Plan, origin: SkillOrigin): UsageChange | null {
  const isUnattended = origin === "review" || origin === "curator";
  if (plan.action === "create") return markCreated(isUnattended);
  if (plan.kind === "delete") return plan.destination === "archive" ? markArchived : null;
  return countPatch;
}
