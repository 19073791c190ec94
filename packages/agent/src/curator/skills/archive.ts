// Skills in the archive: what is there, and the way back.
import { lstatSync, renameSync } from "node:fs";
import { join } from "node:path";
import { describeCause, err, namesIn, ok, type Result, withFileLocks } from "@hermes-memory/core/lib";
import {
  archiveDirectory,
  changeLockPath,
  changeUsage,
  nameProblem,
  readOrigins,
  readUsage,
  type SkillError,
  type SkillStore,
  skillHistory,
  undoSkillChange,
} from "@hermes-memory/core/skills";

export type ArchivedSkill = {
  /** Of its directory in the archive. */
  readonly name: string;
  readonly archivedAt: string | null;
  readonly absorbedInto: string | null;
};

export function listArchivedSkills(store: SkillStore): ArchivedSkill[] {
  const usage = readUsage(store);
  const history = skillHistory(store);
  return namesIn(archiveDirectory(store.directory))
    .filter((name) => !name.startsWith(".") && isDirectory(join(archiveDirectory(store.directory), name)))
    .sort()
    .map((name) => {
      const move = history.find((change) => change.moved?.to === `.archive/${name}`);
      const archivedAt = usage.get(name)?.archived_at ?? move?.time ?? null;
      return { name, archivedAt, absorbedInto: move?.absorbed_into ?? null };
    });
}

/** Back to where it was, when the history tells; else directly under the skills. Never over another skill. */
export async function restoreArchivedSkill(
  store: SkillStore,
  name: string,
): Promise<Result<string, SkillError>> {
  if (!listArchivedSkills(store).some((each) => each.name === name)) {
    const message = `The archive has no skill '${name.slice(0, 80)}'. 'hermes curator list-archived' shows what is there.`;
    return err({ kind: "not_found", message });
  }
  const move = skillHistory(store).find(
    (change) => change.moved?.to === `.archive/${name}` && change.undone_by === undefined,
  );
  if (move) {
    const undone = await undoSkillChange(store, move.id);
    return undone.ok ? ok(move.path) : undone;
  }
  return moveBack(store, name);
}

async function moveBack(store: SkillStore, name: string): Promise<Result<string, SkillError>> {
  // A second archiving of the same skill got a time behind its name.
  const plain = name.replace(/-\d{14}(-[0-9a-f]{8})?$/, "");
  const problem = nameProblem("skill", plain);
  if (problem) return err(problem);
  const place = join(store.directory, plain);
  const isTaken = (): boolean =>
    lstatSync(place, { throwIfNoEntry: false }) !== undefined || readOrigins(store).hub.has(plain);
  try {
    const options = { timeoutMs: store.lockTimeoutMs };
    const done = await withFileLocks(
      [changeLockPath(store.directory)],
      options,
      (): SkillError | undefined => {
        if (isTaken())
          return { kind: "exists", message: `There is a skill '${plain}' already. Move that one first.` };
        renameSync(join(archiveDirectory(store.directory), name), place);
        return undefined;
      },
    );
    if (!done.ok)
      return err({ kind: "locked", message: "Another process is changing the skills. Try again." });
    if (done.value) return err(done.value);
    await changeUsage(store, new Map([[plain, () => ({ state: "active" as const, archived_at: null })]]));
    return ok(plain);
  } catch (cause) {
    return err({ kind: "io", message: `The skill could not be restored: ${describeCause(cause)}.` });
  }
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
