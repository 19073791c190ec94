// Undoes a change of a skill, if the skill still is as the change left it. An undo is itself a change, so it can be undone too.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../lib/index.ts";
import { draftOf, moveSkill, replaceFile } from "./change/apply-plan.ts";
import { underLock } from "./change/change-skill.ts";

import { type ChangeDraft, hashOf, newChange, readBlob, readChanges, type SkillChange } from "./history.ts";
import { SKILL_FILE, type SkillError, type SkillOrigin } from "./skill.ts";
import { exists, parseFilePath, placeInSkill, readIfThere } from "./skill-files.ts";
import type { SkillStore } from "./store.ts";
import { changeUsage, markActive, markArchived, NO_USAGE, type UsageChange } from "./usage.ts";

export type HistoryEntry = SkillChange & { readonly undone_by?: string };

/** Newest first. */
export function skillHistory(store: SkillStore): readonly HistoryEntry[] {
  const changes = readChanges(store.directory);
  const undoneBy = undosByChange(store, changes);
  return changes.toReversed().map((change) => {
    const by = undoneBy.get(change.id);
    return by === undefined ? change : { ...change, undone_by: by };
  });
}

/** The change of a skill that was taken back, and the id of the change that did it. */
export type SkillUndone = { readonly undone: SkillChange; readonly changeId: string };

/** Without an id: the newest change that took effect and was not undone. */
export async function undoSkillChange(
  store: SkillStore,
  id?: string,
  context: { readonly origin?: SkillOrigin; readonly sessionId?: string } = {},
): Promise<Result<SkillUndone, SkillError>> {
  const done = await underLock(store, () => {
    const candidate = chooseCandidate(store, id);
    if (!candidate.ok) return candidate;
    const reverted = revert(store, candidate.value, {
      origin: context.origin ?? "cli",
      sessionId: context.sessionId,
    });
    return reverted.ok ? ok({ undone: candidate.value, changeId: reverted.value.id }) : reverted;
  });
  if (done.ok) {
    const change = usageAfter(done.value.undone);
    if (change !== undefined) await changeUsage(store, new Map([[done.value.undone.skill, change]]));
  }
  return done;
}

/** Id of the change made from a staged one, unless it was undone or never took effect. */
export function earlierChange(store: SkillStore, approval: string): string | undefined {
  return skillHistory(store).find(
    (change) =>
      change.approval === approval && change.undone_by === undefined && effectOf(store, change) !== "none",
  )?.id;
}

function chooseCandidate(store: SkillStore, id: string | undefined): Result<SkillChange, SkillError> {
  const changes = readChanges(store.directory);
  const undoneBy = undosByChange(store, changes);
  if (id === undefined) {
    const newest = changes.findLast(
      (change) => change.action !== "undo" && !undoneBy.has(change.id) && effectOf(store, change) !== "none",
    );
    return newest
      ? ok(newest)
      : err({ kind: "not_found", message: "There is no change of a skill to take back." });
  }
  const change = changes.find((each) => each.id === id);
  if (change === undefined) {
    const message = `The history has no change '${id.slice(0, 40)}'. 'hermes skills history' lists them.`;
    return err({ kind: "not_found", message });
  }
  const by = undoneBy.get(id);
  if (by !== undefined) {
    const message = `Change '${id}' was taken back already, by '${by}'. Undo that one to have it again.`;
    return err({ kind: "conflict", message });
  }
  return ok(change);
}

/**
 * Which undo undid each change. The newest undo of a change decides: an older one was interrupted by a kill. An undo that was
 * undone itself no longer counts.
 */
function undosByChange(store: SkillStore, changes: readonly SkillChange[]): ReadonlyMap<string, string> {
  const undone = new Map<string, string>();
  const decided = new Set<string>();
  const touched = new Set<string>();
  for (const change of changes.toReversed()) {
    const { id, undoes, skill } = change;
    // Only for the last change of a skill does the disk show whether it took effect.
    const isCutOff = undoes !== undefined && !touched.has(skill) && effectOf(store, change) === "none";
    touched.add(skill);
    if (undoes === undefined || isCutOff || decided.has(undoes)) continue;
    decided.add(undoes);
    if (!undone.has(id)) undone.set(undoes, id);
  }
  return undone;
}

type Effect = "there" | "none" | "changed";
type UndoContext = { readonly origin: string; readonly sessionId: string | undefined };

function revert(
  store: SkillStore,
  change: SkillChange,
  context: UndoContext,
): Result<SkillChange, SkillError> {
  const effect = effectOf(store, change);
  if (effect === "none") {
    const message = `Change '${change.id}' never took effect: its writer was stopped before. There is nothing to take back.`;
    return err({ kind: "conflict", message });
  }
  if (effect === "changed") {
    const what = change.file ?? "The skill";
    const message = `${what} of '${change.skill}' is no longer what change '${change.id}' made it. Undo the later changes first, or edit it by hand.`;
    return err({ kind: "conflict", message });
  }
  const place = locationOf(store, change);
  const draft = {
    ...draftOf(
      store,
      {
        directoryName: change.skill,
        relativePath: change.path,
        root: place.root,
        isExternal: change.root !== undefined,
      },
      { ...context, action: "undo" },
    ),
    undoes: change.id,
  };
  return change.moved
    ? revertMove(store, change.moved, draft)
    : revertFile(store, change, place.directory, draft);
}

function revertMove(
  store: SkillStore,
  { from, to }: { readonly from: string; readonly to: string },
  draft: ChangeDraft,
): Result<SkillChange, SkillError> {
  const moved = { from: to, to: from };
  const change: SkillChange = { ...newChange(draft, { before: undefined, after: undefined }), moved };
  moveSkill(store, moved, change);
  return ok(change);
}

function revertFile(
  store: SkillStore,
  { before, file, id }: SkillChange,
  directory: string,
  draft: ChangeDraft,
): Result<SkillChange, SkillError> {
  const name = file ?? "";
  const after = before === null ? undefined : readBlob(store.directory, before);
  if (before !== null && after === undefined)
    return err({ kind: "io", message: `What '${name}' held before change '${id}' is no longer kept.` });
  if (
    after === undefined &&
    name === SKILL_FILE &&
    readdirSync(directory).some((each) => each !== SKILL_FILE)
  ) {
    const message =
      "The skill has got other files since it was created. Remove those first, or delete the skill.";
    return err({ kind: "conflict", message });
  }
  const path = placeInSkill(directory, name);
  if (!path.ok) return path;
  const current = readIfThere(path.value);
  const keptDirectory = name === SKILL_FILE ? (draft.root ?? store.directory) : directory;
  const done = replaceFile(
    store,
    { file: name, path: path.value, before: current, after, keptDirectory },
    draft,
  );
  return done.ok ? ok(done.value.change) : done;
}

/** `there`: the disk shows the state after the change; `none`: the state before it; `changed`: something else. */
function effectOf(store: SkillStore, change: SkillChange): Effect {
  const place = locationOf(store, change);
  if (!place.isUsable) return "changed";
  if (change.moved) {
    const isBack = exists(join(store.directory, change.moved.from));
    const isAway = exists(join(store.directory, change.moved.to));
    if (isAway && !isBack) return "there";
    return isBack && !isAway ? "none" : "changed";
  }
  if (change.file === null || !parseFilePath(change.file).ok) return "changed";
  const current = readIfThere(join(place.directory, change.file));
  const hash = hashOf(current);
  if (hash === change.after) return "there";
  return hash === change.before ? "none" : "changed";
}

/** The history is a file that anyone can edit, so its paths are checked before they are used. */
function locationOf(
  store: SkillStore,
  { root = store.directory, path, moved }: SkillChange,
): { readonly root: string; readonly directory: string; readonly isUsable: boolean } {
  const isKnownRoot = root === store.directory || store.externalDirs.includes(root);
  const paths = [path, ...(moved ? [moved.from, moved.to] : [])];
  const isUsable = isKnownRoot && paths.every(isPlainPath);
  return { root, directory: join(root, path), isUsable };
}

function isPlainPath(path: string): boolean {
  return path
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && !/[\\\0]/.test(part));
}

function usageAfter({ action, moved, usage }: SkillChange): UsageChange | null | undefined {
  if (action === "create") return null;
  if (moved === undefined || action === "undo") return undefined;
  if (action === "restore") return markArchived;
  return usage === undefined ? markActive : () => ({ ...NO_USAGE, ...usage });
}
