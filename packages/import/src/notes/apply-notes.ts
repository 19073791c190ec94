// Carries out a plan of notes: the overflow file first, then one change of the curated store per format and target.
import {
  ENTRY_DELIMITER,
  MEMORY_TARGETS,
  type MemoryError,
  type MemoryOpOutcome,
  type MemoryStore,
  type MemoryTarget,
  parseEntries,
} from "@hermes-memory/core/internal/curated";
import { type ReadFailure, type Result, randomHex, updateTextFile } from "@hermes-memory/core/internal/lib";
import { collapsed } from "../transcripts/kit/markdown.ts";
import { IMPORT_ORIGIN, type PlannedNote } from "./plan-notes.ts";

export type AppliedNotes = {
  readonly outcomes: readonly MemoryOpOutcome[];
  /** The store refused a change; those in `outcomes` were made before. */
  readonly error?: { readonly target: MemoryTarget; readonly error: MemoryError };
};

/** Entries that are added together can be undone together: they are one line of the journal. */
export async function applyNotes(
  plan: readonly PlannedNote[],
  store: Pick<MemoryStore, "applyAll" | "keepInArchive">,
): Promise<AppliedNotes> {
  const added = plan.filter(({ status }) => status === "add");
  const formats = new Set(added.map(({ format }) => format.name));
  const group = `${IMPORT_ORIGIN}${randomHex(4)}`;
  const outcomes: MemoryOpOutcome[] = [];
  for (const name of formats)
    for (const target of MEMORY_TARGETS) {
      const notes = added.filter((note) => note.format.name === name && note.target === target);
      if (notes.length === 0) continue;
      const ops = notes.map(({ text }) => ({ action: "add" as const, content: text }));
      const paths = [...new Set(notes.map(({ path }) => path))];
      const outcome = await store.applyAll(target, ops, {
        origin: `${IMPORT_ORIGIN}${name}`,
        reason: `imported from ${paths.join(", ")}`,
        group,
      });
      if (!outcome.ok) return { outcomes, error: { target, error: outcome.error } };
      outcomes.push(outcome.value);
    }
  for (const target of MEMORY_TARGETS) {
    const notes = plan.filter((note) => note.status === "archive" && note.target === target);
    const [first] = notes;
    if (first === undefined) continue;
    const origin = `${IMPORT_ORIGIN}${first.format.name}` as const;
    const texts = notes.map(({ text }) => text);
    const kept = await store.keepInArchive(target, texts, { origin, group });
    if (!kept.ok) return { outcomes, error: { target, error: kept.error } };
  }
  return { outcomes };
}

/** Notes that have no room. */
export function overflowOf(plan: readonly PlannedNote[]): PlannedNote[] {
  return plan.filter(({ status }) => status === "over_budget" || status === "too_long");
}

/**
 * Adds the notes to a file in the format of MEMORY.md, which `hermes memory import` reads again. Those that are in it already are not
 * repeated. Returns how many were new.
 */
export function keepOverflow(path: string, notes: readonly PlannedNote[]): Result<number, ReadFailure> {
  return updateTextFile<number, ReadFailure>(path, {
    change: (before = "") => {
      const kept = parseEntries(before);
      const known = new Set(kept.map(collapsed));
      const fresh = notes.map(({ text }) => text).filter((text) => !known.has(collapsed(text)));
      const text = fresh.length === 0 ? before : `${[...kept, ...fresh].join(ENTRY_DELIMITER)}\n`;
      return { ok: true, value: { text, outcome: fresh.length } };
    },
    unreadable: (failure) => failure,
    modes: { mode: 0o600 },
  });
}
