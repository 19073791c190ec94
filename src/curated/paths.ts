// Where the parts of one memory directory live.
import { basename, dirname, join } from "node:path";
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

/**
 * The locks of one target, in the order they are taken: the one beside the file, which the Python original also takes,
 * and, when the file is a link, the one beside the real file, which other homes linking to it take too.
 */
export function lockPaths(file: string): string[] {
  // Both are written the long way round: a home reached through a link must not look like two files, because a second
  // lock on the same file would wait for the first.
  const own = `${join(resolveLinks(dirname(file)), basename(file))}.lock`;
  const real = `${resolveLinks(file)}.lock`;
  return own === real ? [own] : [own, real];
}
