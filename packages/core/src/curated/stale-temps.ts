// Temporary files that a killed writer left behind.
import { statSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { namesIn, resolveLinks } from "../lib/index.ts";
import { HELD_SUFFIX } from "./held-file.ts";
import type { TargetPaths } from "./paths.ts";

// A writer needs milliseconds. Where locks do not work, another one may be at it right now.
export const STALE_AFTER_MS = 60_000;

export function listTemps(directory: string, prefix: string, suffix = ".tmp"): string[] {
  const names = namesIn(directory).filter((name) => name.startsWith(prefix) && name.endsWith(suffix));
  return names.map((name) => join(directory, name));
}

/** Everything that writes under the target's lock can leave. */
export function tempsOf(paths: TargetPaths): string[] {
  return [
    ...listTemps(dirname(resolveLinks(paths.file)), paths.tempPrefix),
    ...listTemps(dirname(paths.file), `.${basename(paths.file)}.bak.`),
    ...[paths.journal, paths.archive].flatMap((path) => listTemps(dirname(path), `.${basename(path)}.`)),
  ];
}

/**
 * Tidying up never stops a write. `onHeld` gets the second names of files that were being replaced when their writer died:
 * such a file may hold an edit that is nowhere else.
 */
export function removeStaleTemps(
  directory: string,
  prefix: string,
  now: Date,
  onHeld: (path: string) => void,
): void {
  try {
    for (const path of listTemps(directory, prefix)) {
      if (!path.endsWith(HELD_SUFFIX)) removeIfStale(path, now);
      // A link is as old as the file; when it was made shows in the time of the inode's change.
      else if (now.getTime() - statSync(path).ctimeMs > STALE_AFTER_MS) onHeld(path);
    }
  } catch {
    // A directory that may be written but not listed keeps its leftovers.
  }
}

function removeIfStale(path: string, now: Date): void {
  try {
    if (now.getTime() - statSync(path).mtimeMs > STALE_AFTER_MS) unlinkSync(path);
  } catch {
    // Somebody else was faster.
  }
}
