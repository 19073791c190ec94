// The JSON shapes of the `memory` tool. Other programs match on them; key order included.
import { formatFraction, formatUsage, measure } from "./budget.ts";
import { entryId, entryIds } from "./entry-id.ts";
import { fileNameOf } from "./format.ts";
import type { MemoryError, MemoryOpOutcome, MemoryTarget } from "./types.ts";

/**
 * Of a call with one action. `entries` is what callers of June's tool read; today's tool leaves it out and has `done` and `note`
 * instead. Both find what they look for here.
 */
export function outcomeJson(outcome: MemoryOpOutcome): object {
  const { target, entries } = outcome;
  const { usage, entry_count, message, ...more } = factsOf(outcome);
  return {
    success: true,
    target,
    entries,
    usage,
    entry_count,
    message,
    ...more,
    entry_ids: entryIds(target, entries),
    ...(outcome.followed === undefined ? {} : { followed_changes: outcome.followed }),
    done: true,
    note: DONE_NOTE,
  };
}

/** Of a call with `operations`, which June's tool does not have: as today's tool answers, without the entries. */
export function batchJson(outcome: MemoryOpOutcome): object {
  const { followed } = outcome;
  return {
    success: true,
    done: true,
    target: outcome.target,
    ...factsOf(outcome),
    ...(followed === undefined ? {} : { followed_changes: followed }),
    note: DONE_NOTE,
  };
}

const DONE_NOTE =
  "The change is complete; do not repeat it. Later sessions have it in their prompt; the prompt of this one stays as it is.";

function factsOf({ entryCount, message, usedChars, charLimit, warning, archived, removed }: MemoryOpOutcome) {
  return {
    usage: formatUsage({ used: usedChars, limit: charLimit }),
    entry_count: entryCount,
    message,
    ...(warning === undefined ? {} : { warning }),
    ...(archived === undefined ? {} : { archived }),
    ...(removed === undefined ? {} : { removed }),
  };
}

/** What is stored now, in the fields that a refusal for want of room has, too. */
export function currentEntries(target: MemoryTarget, entries: readonly string[], limit: number): object {
  return {
    current_entries: entries,
    usage: formatFraction(measure(entries, limit)),
    current_entry_ids: entryIds(target, entries),
  };
}

/** The error is worded as in today's Hermes; other programs match on it. */
export function disabledTarget(target: MemoryTarget): object {
  const key = target === "user" ? "memory.user_profile_enabled" : "memory.memory_enabled";
  return {
    ...refusedCall(`Built-in ${fileNameOf(target)} writes are disabled in memory config.`),
    hint: `The user can allow them by setting ${key} to true.`,
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
        ...currentEntries(target, error.currentEntries, error.charLimit),
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
