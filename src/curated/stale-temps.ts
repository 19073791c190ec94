// Temporary files that a killed writer left behind.
import { statSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { namesIn, resolveLinks } from "../lib/index.ts";
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

/** Tidying up never stops a write. */
export function removeStaleTemps(directory: string, prefix: string, now: Date): void {
  try {
    for (const path of listTemps(directory, prefix)) removeIfStale(path, now);
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
