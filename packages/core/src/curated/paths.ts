// Where the parts of one memory directory live.
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { resolveLinks } from "../lib/index.ts";
import { fileNameOf } from "./format.ts";
import type { MemoryTarget } from "./types.ts";

export type TargetPaths = {
  readonly file: string;
  readonly journal: string;
  readonly archive: string;
  /** Start of the name of a temporary file of this target; random digits and `.tmp` follow. */
  readonly tempPrefix: string;
};

export function targetPaths(dir: string, target: MemoryTarget): TargetPaths {
  return {
    file: join(dir, fileNameOf(target)),
    journal: join(dir, ".history", `${target}.jsonl`),
    archive: join(dir, ".archive", `${target}.jsonl`),
    tempPrefix: `.mem_${target}_`,
  };
}

export function pinsPath(dir: string): string {
  return join(dir, ".pins.json");
}

/** Where a target's file really is, and the locks to take before touching it. */
export type LockedFile = { readonly real: string; readonly locks: readonly string[] };

/**
 * Locks are taken in this order: the one beside the file, which the Python original also takes, and, when the file is a
 * link, the one beside the real file, which other homes linking to it take too.
 */
export function lockedFile(file: string): LockedFile {
  const path = resolve(file);
  const real = resolveLinks(path);
  const own = `${path}.lock`;
  // Beside a device or a directory nobody keeps memory, and there would be no place for a lock either.
  const hasSecond = real !== path && (statSync(real, { throwIfNoEntry: false })?.isFile() ?? true);
  return { real, locks: hasSecond ? [own, `${real}.lock`] : [own] };
}

export function lockPaths(file: string): readonly string[] {
  return lockedFile(file).locks;
}
