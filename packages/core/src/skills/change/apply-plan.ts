// Carries out a plan: the history line first, then one rename. Runs under the lock and is synchronous. Throws on disk errors;
// the skill is then either unchanged or completely changed.
import { lstatSync, mkdirSync, renameSync, rmdirSync, statSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  err,
  HermesError,
  namesIn,
  ok,
  type Result,
  randomHex,
  syncDirectory,
  writeFileAtomic,
} from "../../lib/index.ts";
import {
  type ChangeDraft,
  hashOf,
  newChange,
  pruneHistory,
  recordChange,
  type SkillChange,
} from "../history.ts";
import { archiveDirectory, deletedDirectory, pathWithin } from "../paths.ts";
import type { SkillError, SkillOrigin } from "../skill.ts";
import { exists, readIfThere } from "../skill-files.ts";
import type { SkillStore } from "../store.ts";
import { isoTime, readUsage } from "../usage.ts";
import type { Plan, SkillLocation } from "./change-plan.ts";

export type ChangeContext = {
  readonly origin: SkillOrigin;
  readonly sessionId?: string;
  /** Id of the staged change that was approved. */
  readonly approval?: string;
};

export type Applied = { readonly change: SkillChange; readonly warning?: string };

export function applyPlan(
  store: SkillStore,
  plan: Plan,
  context: ChangeContext,
): Result<Applied, SkillError> {
  const draft = draftOf(store, plan.place, { ...context, action: plan.action });
  const applied =
    plan.kind === "delete" ? removeSkill(store, plan, draft) : changeOneFile(store, plan, draft);
  if (applied.ok) pruneQuietly(store);
  return applied;
}

export function draftOf(
  store: SkillStore,
  place: Pick<SkillLocation, "directoryName" | "relativePath" | "root" | "isExternal">,
  context: Omit<ChangeContext, "origin"> & { readonly origin: string; readonly action: string },
): ChangeDraft {
  return {
    time: isoTime(store.clock.now()),
    action: context.action,
    skill: place.directoryName,
    path: place.relativePath,
    file: null,
    origin: context.origin,
    root: place.isExternal ? place.root : undefined,
    session: context.sessionId,
    approval: context.approval,
  };
}

type FileChange = {
  readonly file: string;
  readonly path: string;
  readonly before: Uint8Array | undefined;
  /** Undefined: the file is removed. */
  readonly after: Uint8Array | string | undefined;
  /** Empty directories above the file are removed, up to this one, which stays. */
  readonly keptDirectory: string;
};

/** Writes or removes one file, if it is still as the plan read it. */
export function replaceFile(
  store: SkillStore,
  { file, path, before, after, keptDirectory }: FileChange,
  draft: ChangeDraft,
): Result<Applied, SkillError> {
  const change = newChange({ ...draft, file }, { before, after });
  const record = (): void => {
    if (hashOf(readIfThere(path)) !== change.before) throw new ChangedMeanwhile();
    recordChange(store.directory, change, before);
  };
  let warning: string | undefined;
  try {
    if (after === undefined) {
      record();
      unlinkSync(path);
      removeEmpty(dirname(path), keptDirectory);
    } else warning = writeFileWhole(path, after, record, keptDirectory);
  } catch (cause) {
    if (!(cause instanceof ChangedMeanwhile)) throw cause;
    const message = `'${file}' was changed by another program at this moment. Look at it again, then repeat.`;
    return err({ kind: "conflict", message });
  }
  return ok({ change, warning });
}

/** Moves a whole skill. Both paths are below the skills directory. */
export function moveSkill(
  store: SkillStore,
  moved: { readonly from: string; readonly to: string },
  change: SkillChange,
): void {
  const from = join(store.directory, moved.from);
  const to = join(store.directory, moved.to);
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  recordChange(store.directory, change, undefined);
  renameSync(from, to);
  syncDirectory(dirname(to));
  syncDirectory(dirname(from));
  removeEmpty(dirname(from), store.directory);
}

function changeOneFile(
  store: SkillStore,
  plan: Exclude<Plan, { kind: "delete" }>,
  draft: ChangeDraft,
): Result<Applied, SkillError> {
  const { file, path, before } = plan;
  const after = plan.kind === "write" ? plan.after : undefined;
  const keptDirectory = plan.action === "create" ? plan.place.root : plan.place.directory;
  return replaceFile(store, { file, path, before, after, keptDirectory }, draft);
}

function removeSkill(
  store: SkillStore,
  plan: Extract<Plan, { kind: "delete" }>,
  draft: ChangeDraft,
): Result<Applied, SkillError> {
  const base = newChange(draft, { before: undefined, after: undefined });
  const to =
    plan.destination === "archive"
      ? freeArchivePlace(store, plan.place.directoryName)
      : join(deletedDirectory(store.directory), base.id);
  const moved = { from: plan.place.relativePath, to: pathWithin(store.directory, to) ?? "" };
  const change: SkillChange = {
    ...base,
    moved,
    absorbed_into: plan.absorbedInto,
    usage: readUsage(store).get(plan.place.directoryName),
  };
  moveSkill(store, moved, change);
  return ok({ change });
}

function freeArchivePlace(store: SkillStore, name: string): string {
  const plain = join(archiveDirectory(store.directory), name);
  if (!exists(plain)) return plain;
  const stamp = store.clock.now().toISOString().replace(/\D/g, "").slice(0, 14);
  const dated = `${plain}-${stamp}`;
  return exists(dated) ? `${dated}-${randomHex(4)}` : dated;
}

/** Returns a warning when the file is written but may not survive a power cut. */
function writeFileWhole(
  path: string,
  text: Uint8Array | string,
  beforeReplace: () => void,
  keptDirectory: string,
): string | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  sweepTemps(dirname(path));
  try {
    writeFileAtomic(path, text, {
      beforeReplace,
      tempName: `.${basename(path)}.tmp.${randomHex(6)}`,
      resolved: { previous: lstatSync(path, { throwIfNoEntry: false }) }, // links were refused before
    });
  } catch (cause) {
    if (cause instanceof HermesError && cause.code === "not-synced") return cause.message;
    removeEmpty(dirname(path), keptDirectory);
    throw cause;
  }
  return undefined;
}

/** Removes a directory and its parents while they are empty, up to the one that stays. */
function removeEmpty(directory: string, kept: string): void {
  for (let path = directory; path !== kept && pathWithin(kept, path) !== undefined; path = dirname(path)) {
    try {
      rmdirSync(path);
    } catch {
      return; // usually not empty; if it cannot be removed, it does no harm
    }
  }
}

/** The change is done, so a failure to prune the history is ignored. */
function pruneQuietly(store: SkillStore): void {
  try {
    pruneHistory(store.directory);
  } catch {
    // Tried again after the next change.
  }
}

class ChangedMeanwhile extends Error {}

// Temporary files of killed writers. A recent one may belong to a program that does not use our lock.

const STALE_MS = 60_000;

function sweepTemps(directory: string): void {
  for (const name of namesIn(directory).filter((each) => /^\..+\.tmp\./.test(each))) {
    const path = join(directory, name);
    try {
      if (Date.now() - statSync(path).mtimeMs > STALE_MS) unlinkSync(path);
    } catch {
      // Already gone.
    }
  }
}
