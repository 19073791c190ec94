// Tidying steps that wait for a person's word.
import { err, ok, type Result } from "../../lib/index.ts";
import type { MemoryCuration, MemoryError, MemoryTarget } from "../types.ts";
import { type PendingRecord, stagePending } from "./pending.ts";

export type CurationDraft = {
  readonly target: MemoryTarget;
  readonly curation: MemoryCuration;
  readonly summary: string;
  /** Eight hex digits; ties the records of one run. */
  readonly group: string;
};

/** The record can be approved and rejected like every staged write. */
export function stageCuration(
  directory: string,
  { target, curation, summary, group }: CurationDraft,
  now: Date,
): Result<PendingRecord, MemoryError> {
  const payload = {
    action: "curate",
    target,
    // What other programs look at when they search for a text.
    content: curation.text ?? null,
    old_text: curation.remove[0] ?? null,
    curation,
  };
  const staged = stagePending(
    directory,
    { action: "curate", summary, origin: "curator", payload, group },
    now,
  );
  return staged.ok ? ok(staged.value) : err(staged.error);
}
