// Erases a text wherever this memory keeps one, or tells where it is: one sweep does both, so that they cannot differ.
import { describeCause, err, errnoCode, ok, type Result } from "../../lib/index.ts";
import type { TargetStore } from "../target-store.ts";
import type { MemoryError, WriteMeta } from "../types.ts";
import { makeNeedle } from "./needle.ts";
import { sweepPending } from "./sweep-pending.ts";
import { type Forgotten, sweepTarget } from "./sweep-target.ts";

type Places = { readonly pendingDirectory?: string };

/** What `forget` would touch, for a person to look at first. Takes no lock and changes nothing. */
export function findTraces(
  text: string,
  stores: readonly TargetStore[],
  { pendingDirectory }: Places,
): Forgotten {
  const needle = makeNeedle(text);
  if (!needle) return NOTHING;
  const found = stores.map((store) => sweepTarget(store, needle, { isDryRun: true }));
  const pending = pendingDirectory ? sweepPending(pendingDirectory, needle, { isDryRun: true }) : 0;
  return { ...found.reduce(sum, NOTHING), pending };
}

/** Every entry that contains the text goes whole. Can be repeated: each place is cleaned on its own. */
export async function eraseEverywhere(
  text: string,
  stores: readonly TargetStore[],
  options: Places & { readonly meta?: WriteMeta },
): Promise<Result<Forgotten, MemoryError>> {
  const needle = makeNeedle(text);
  if (!needle) return err({ kind: "empty", message: "The text to forget cannot be empty." });
  // Staged writes first: an approver that holds one looks for it again once it has the lock.
  let total = NOTHING;
  try {
    const { pendingDirectory } = options;
    total = {
      ...total,
      pending: pendingDirectory ? sweepPending(pendingDirectory, needle, { isDryRun: false }) : 0,
    };
  } catch (cause) {
    return err(stoppedAt(options.pendingDirectory, cause));
  }
  for (const store of stores) {
    const sweep = (): Result<Forgotten, MemoryError> => {
      const swept = sweepTarget(store, needle, { isDryRun: false, meta: options.meta ?? {} });
      store.load();
      return ok(swept);
    };
    const outcome = await store.exclusively(sweep, (cause) => stoppedAt(store.paths.file, cause));
    if (!outcome.ok) return outcome;
    total = sum(total, outcome.value);
  }
  return ok(total);
}

const NOTHING: Forgotten = {
  entries: [],
  journalLines: 0,
  archived: 0,
  backups: 0,
  leftovers: 0,
  pending: 0,
};

function sum(a: Forgotten, b: Forgotten): Forgotten {
  return {
    entries: [...a.entries, ...b.entries],
    journalLines: a.journalLines + b.journalLines,
    archived: a.archived + b.archived,
    backups: a.backups + b.backups,
    leftovers: a.leftovers + b.leftovers,
    pending: a.pending + b.pending,
  };
}

function stoppedAt(path: string | undefined, cause: unknown): MemoryError {
  const place = path && errnoCode(cause) === undefined ? ` at ${path}` : "";
  return {
    kind: "io",
    message: `Forgetting stopped${place}: ${describeCause(cause)}. What was erased before stays erased; mend this and forget again.`,
  };
}
