// Deletes everything kept for one target: the file, its journal, archive and backups, its pins and staged writes.
import { existsSync, statSync, unlinkSync } from "node:fs";
import { basename, dirname } from "node:path";
import { describeCause, ok, type Result, resolveLinks, syncDirectory } from "../lib/index.ts";
import { readPendingWrites, rejectPending } from "./approval/claims.ts";
import { listBackups } from "./backup.ts";
import { listTemps } from "./stale-temps.ts";
import type { TargetStore } from "./target-store.ts";
import type { MemoryError } from "./types.ts";

export type Purged = {
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  readonly pins: number;
  readonly pending: number;
};

/** What a purge would delete, for a person to look at first. Lock files stay: another process may be waiting on them. */
export function findPurgeable(store: TargetStore, pendingDirectory?: string): Purged {
  return {
    files: pathsOf(store).map((path) => ({
      path,
      bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0,
    })),
    pins: store.readPins()[store.target].size,
    pending: stagedFor(store, pendingDirectory).length,
  };
}

/** Nothing of it can be taken back. Stopped half-way it can be repeated. */
export function purgeTarget(
  store: TargetStore,
  pendingDirectory?: string,
): Promise<Result<Purged, MemoryError>> {
  return store.exclusively(() => {
    const found = findPurgeable(store, pendingDirectory);
    if (found.pins > 0) {
      const unpinned = store.changePins((pins) => ({ ...pins, [store.target]: new Set() }));
      if (!unpinned.ok) return unpinned;
    }
    // The curated file is the first of them: were the journal gone before it, the next reader would write one anew.
    for (const { path } of found.files) {
      if (path === store.paths.journal) store.journal.rewrite([]); // drops what this store remembers of its end
      unlinkSync(path);
      syncDirectory(dirname(path));
    }
    for (const id of stagedFor(store, pendingDirectory)) {
      const rejected = rejectPending(pendingDirectory as string, id);
      if (!rejected.ok && rejected.error.kind !== "no_match") return rejected;
    }
    store.load();
    return ok(found);
  }, stopped);
}

function stopped(cause: unknown): MemoryError {
  return {
    kind: "io",
    message: `The purge stopped: ${describeCause(cause)}. What came before it is gone; mend this and repeat it.`,
  };
}

function pathsOf({ paths }: TargetStore): string[] {
  const real = resolveLinks(paths.file); // of a link, the text behind it goes; the link is part of somebody's set-up
  const beside = [paths.journal, paths.archive].flatMap((path) => [
    path,
    ...listTemps(dirname(path), `.${basename(path)}.`),
  ]);
  return [
    real,
    ...beside,
    ...listBackups(paths.file),
    ...listTemps(dirname(real), paths.tempPrefix),
    ...listTemps(dirname(real), paths.tempPrefix, ".rescue"),
    ...listTemps(dirname(paths.file), `.${basename(paths.file)}.bak.`),
  ].filter((path) => existsSync(path));
}

function stagedFor({ target }: TargetStore, directory: string | undefined): string[] {
  if (directory === undefined) return [];
  return readPendingWrites(directory)
    .records.filter(({ payload }) => payload.target === target)
    .map(({ id }) => id);
}
