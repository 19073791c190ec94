// One target as it is on disk. Opening a store would make its directory and note changes in the journal; looking at
// somebody's home must leave no trace.
import type { MemoryConfig } from "@hermes-memory/core/config";
import {
  type Drift,
  fileNameOf,
  findDrift,
  type MemoryTarget,
  measure,
  parseEntries,
  readMemoryFile,
  targetPaths,
  withoutDuplicates,
} from "@hermes-memory/core/curated";

export type TargetLook = {
  readonly target: MemoryTarget;
  readonly name: "MEMORY.md" | "USER.md";
  readonly path: string;
  /** Why the file cannot be read. Its entries are then unknown. */
  readonly trouble?: string;
  readonly exists: boolean;
  readonly entries: readonly string[];
  readonly used: number;
  readonly limit: number;
  readonly drift?: Drift;
  readonly hash: string | null;
};

export function lookAtTarget(directory: string, target: MemoryTarget, config: MemoryConfig): TargetLook {
  const limit = target === "user" ? config.userCharLimit : config.memoryCharLimit;
  const { file: path } = targetPaths(directory, target);
  const head = { target, name: fileNameOf(target), path, limit };
  const file = readMemoryFile(path);
  if (file.kind === "unreadable")
    return { ...head, trouble: file.reason, exists: true, entries: [], used: 0, hash: null };
  const entries = withoutDuplicates(parseEntries(file.text));
  const drift = findDrift(file.text, limit);
  return {
    ...head,
    exists: file.kind === "text",
    entries,
    used: measure(entries, limit).used,
    hash: file.hash,
    ...(drift === undefined ? {} : { drift }),
  };
}
