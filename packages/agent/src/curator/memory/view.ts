// A target as the curator looks at it. Reads only: a dry run leaves no trace, not even in the journal.
import type { MemoryConfig } from "@hermes-memory/core/config";
import {
  Journal,
  type MemoryTarget,
  measure,
  parseEntries,
  pinsPath,
  readMemoryFile,
  readPins,
  targetPaths,
  withoutDuplicates,
} from "@hermes-memory/core/curated";
import { describeCause, err, ok, type Result, sha256 } from "@hermes-memory/core/lib";
import type { TargetView } from "../types.ts";

export type ViewOptions = {
  readonly directory: string;
  readonly config: Pick<
    MemoryConfig,
    "memoryCharLimit" | "userCharLimit" | "historyMaxBytes" | "historyKeep"
  >;
  readonly now: Date;
  /** Entries a person wrote less than this ago are left alone; 0 for none. */
  readonly spareMs: number;
};

/** Whose entries are a person's own words. */
const PEOPLE: ReadonlySet<string> = new Set(["cli", "external", "approval"]);

/** The error says why this target cannot be looked at now. */
export function viewTarget(target: MemoryTarget, options: ViewOptions): Result<TargetView, string> {
  const { directory, config, now, spareMs } = options;
  const paths = targetPaths(directory, target);
  const file = readMemoryFile(paths.file);
  if (file.kind === "unreadable") return err(`${paths.file} cannot be read (${file.reason}).`);
  try {
    const listed = parseEntries(file.text);
    const entries = withoutDuplicates(listed);
    const limit = target === "user" ? config.userCharLimit : config.memoryCharLimit;
    const pins = readPins(pinsPath(directory))[target];
    const journal = new Journal(paths.journal, {
      maxBytes: config.historyMaxBytes,
      keepChanges: config.historyKeep,
    });
    const { known } = journal.replay(file.hash);
    const knownSince = (entry: string): Date | undefined => {
      const since = known.get(entry)?.since;
      return since === undefined ? undefined : new Date(since);
    };
    return ok({
      target,
      entries,
      copies: entries.filter((entry) => listed.indexOf(entry) !== listed.lastIndexOf(entry)),
      used: measure(entries, limit).used,
      limit,
      isPinned: (entry) => pins.size > 0 && pins.has(sha256(entry)),
      isSpared: (entry) => {
        const since = knownSince(entry);
        if (spareMs <= 0 || since === undefined || !PEOPLE.has(known.get(entry)?.origin ?? "")) return false;
        return now.getTime() - since.getTime() < spareMs;
      },
      knownSince,
    });
  } catch (cause) {
    return err(`What is kept about ${paths.file} cannot be read: ${describeCause(cause)}.`);
  }
}
