// The JSON shapes of the `memory` tool. Other programs match on them; key order included.
import { formatFraction, formatUsage } from "./budget.ts";
import { entryId, entryIds } from "./entry-id.ts";
import type { MemoryError, MemoryOpOutcome, MemoryTarget } from "./types.ts";

export function outcomeJson(outcome: MemoryOpOutcome): object {
  const { target, entries, entryCount, message, usedChars, charLimit, warning, archived, removed, followed } =
    outcome;
  return {
    success: true,
    target,
    entries,
    usage: formatUsage({ used: usedChars, limit: charLimit }),
    entry_count: entryCount,
    message,
    ...(warning === undefined ? {} : { warning }),
    ...(archived === undefined ? {} : { archived }),
    ...(removed === undefined ? {} : { removed }),
    entry_ids: entryIds(target, entries),
    ...(followed === undefined ? {} : { followed_changes: followed }),
  };
}

/** The call itself was refused, before the store had a say. */
export function refusedCall(error: string): object {
  return { error, success: false };
}

export function failure(error: MemoryError, target: MemoryTarget): object {
  const base = { success: false, error: error.message };
  switch (error.kind) {
    case "ambiguous":
      return {
        ...base,
        matches: error.matches,
        match_ids: error.entries.map((entry) => entryId(target, entry)),
      };
    case "over_limit":
      return {
        ...base,
        current_entries: error.currentEntries,
        usage: formatFraction({ used: error.usedChars, limit: error.charLimit }),
        current_entry_ids: entryIds(target, error.currentEntries),
      };
    case "drift":
      return { ...base, drift_backup: error.backup, remediation: error.remediation };
    case "bad_target":
    case "bad_action":
    case "missing_arg":
    case "denied":
      return refusedCall(error.message);
    default:
      return base;
  }
}

export function staged(pendingId: string): object {
  return {
    success: true,
    staged: true,
    pending_id: pendingId,
    message:
      "Staged for approval (memory.write_approval is on). Not yet saved — review with /memory pending.",
  };
}
