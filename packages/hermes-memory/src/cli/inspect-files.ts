// Reads files of a home without changing anything. Opening a store would make its directory and note changes in the journal.
import { type Stats, statSync } from "node:fs";
import type { MemoryConfig } from "@hermes-memory/core/internal/config";
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
} from "@hermes-memory/core/internal/curated";

/** MEMORY.md or USER.md as it is on disk. */
export type TargetFile = {
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

export function inspectTarget(directory: string, target: MemoryTarget, config: MemoryConfig): TargetFile {
  const limit = target === "user" ? config.userCharLimit : config.memoryCharLimit;
  const { file: path } = targetPaths(directory, target);
  const head = { target, name: fileNameOf(target), path, limit };
  const file = readMemoryFile(path);
  if (file.kind === "unreadable")
    return { ...head, trouble: file.reason, exists: true, entries: [], used: 0, hash: null };
  const entries = withoutDuplicates(parseEntries(file.text));
  return {
    ...head,
    exists: file.kind === "text",
    entries,
    used: measure(entries, limit).used,
    hash: file.hash,
    drift: findDrift(file.text, limit),
  };
}

/** Undefined when there is no such file. Follows links. */
export function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

/** False also where this user has no permission to look; `doctor` reports that with its check of the home. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
