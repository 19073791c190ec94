// Writes that wait for the user's approval: one private JSON file each, in the form the Python original uses.
import { join } from "node:path";
import {
  describeCause,
  err,
  findStaged,
  isRecord,
  isStringList,
  listStagedFiles,
  namesIn,
  ok,
  type Result,
  readStagedFile,
  removeStagedFile,
  type StagedRecord,
  type StagedRecords,
  stageFile,
} from "../../lib/index.ts";
import {
  MEMORY_TARGETS,
  type MemoryCuration,
  type MemoryError,
  type MemoryTarget,
  memoryError,
  refused,
} from "../types.ts";

export type PendingPayload = {
  readonly action: string;
  readonly target: MemoryTarget;
  readonly content: string | null;
  readonly old_text: string | null;
  /** `old_text` is the whole text of an entry and matches no other. */
  readonly match?: "entry";
  /** A step on several entries, proposed by the curator; action `curate`. */
  readonly curation?: MemoryCuration;
  /** Operations that are approved and applied as one; action `batch`. */
  readonly operations?: readonly PendingStep[];
};

/** One operation of a batch, with the field names of the tool call. */
export type PendingStep = {
  readonly action: string;
  readonly content?: string;
  readonly old_text?: string;
  readonly match?: "entry";
};

/** A write that waits for approval, as it is stored in `pending/`. */
export type PendingRecord = StagedRecord<"memory", PendingPayload>;

/** The writes that wait, and files beside them that are none. */
export type PendingWrites = StagedRecords<PendingRecord>;

/** Every text a staged write is about. */
export function pendingTexts({ content, old_text, operations = [] }: PendingPayload): string[] {
  const steps = operations.flatMap((step) => [step.content, step.old_text]);
  return [content, old_text, ...steps].filter((text) => typeof text === "string");
}

// ---- Staging and reading ----

export function stagePending(
  directory: string,
  draft: Omit<PendingRecord, "id" | "subsystem" | "created_at">,
  now: Date,
): Result<PendingRecord, MemoryError> {
  return stageFile(directory, { ...draft, subsystem: "memory" }, now, storedPayload(draft.payload));
}

function storedPayload(payload: PendingPayload): object {
  const { curation, action, target, operations } = payload;
  if (operations !== undefined) return { action, target, operations };
  if (curation === undefined) return payload;
  const { remove, text, keep, isArchived: archive } = curation;
  return { ...payload, curation: { remove, text, keep, archive } };
}

/** The memory writes that wait for approval in `directory`, oldest first. */
export function readPendingWrites(directory: string): PendingWrites {
  return listStagedFiles(directory, readRecord);
}

/** An error for an id under which no usable write waits. */
export function readPendingWrite(directory: string, id: string): Result<PendingRecord, MemoryError> {
  const found = findStaged(directory, id, readRecord);
  if (found.ok) return found;
  const { kind, path } = found.error;
  if (kind === "unknown") return err(unknownId(id));
  return refused({ kind: "io", message: `Pending write '${id}' is damaged. Look at ${path}, or reject it.` });
}

/** Every file of staged writes, half-written and damaged ones included. (Version 0.1 renamed one to `.claim-<pid>` while it was approved.) */
export function listPendingFiles(directory: string): string[] {
  const names = namesIn(directory).filter((name) =>
    /^(\.curator-)?[0-9a-f]{8}\.json(\.tmp|\.claim-\d+)?$/.test(name),
  );
  return names.map((name) => join(directory, name));
}

function readRecord(path: string): PendingRecord | undefined {
  const record = readStagedFile(path, "memory");
  if (record === undefined) return undefined;
  const { payload } = record;
  const target = MEMORY_TARGETS.find((each) => each === (payload.target ?? "memory"));
  if (target === undefined) return undefined;
  const text = (field: unknown): string | null => (typeof field === "string" ? field : null);
  return {
    ...record,
    payload: {
      action: String(payload.action),
      target,
      content: text(payload.content),
      old_text: text(payload.old_text),
      match: payload.match === "entry" ? payload.match : undefined,
      curation: readCuration(payload.curation),
      operations: readSteps(payload.operations),
    },
  };
}

/** Undefined for anything that is no list of operations: applying only the readable half of a batch would be wrong. */
function readSteps(value: unknown): readonly PendingStep[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const steps = value.map((item: unknown): PendingStep | undefined => {
    if (typeof item !== "object" || item === null) return undefined;
    const { action, content, new_text, old_text, match } = item as Record<string, unknown>;
    const text = content ?? new_text; // another program may have kept the alias
    return {
      action: String(action),
      content: typeof text === "string" ? text : undefined,
      old_text: typeof old_text === "string" ? old_text : undefined,
      match: match === "entry" ? match : undefined,
    };
  });
  return steps.every((step) => step !== undefined) ? steps : undefined;
}

/** Undefined for anything that is no complete step: half of one would remove entries without their replacement. */
function readCuration(value: unknown): MemoryCuration | undefined {
  if (!isRecord(value)) return undefined;
  const { remove, text, keep, archive } = value;
  if (!isStringList(remove) || !(text === undefined || typeof text === "string")) return undefined;
  if (!(keep === undefined || isStringList(keep)) || !(archive === undefined || typeof archive === "boolean"))
    return undefined;
  return { remove, text, keep, isArchived: archive };
}

/** Drops a write that waits for approval. */
export function rejectPending(directory: string, id: string): Result<void, MemoryError> {
  try {
    return removeStagedFile(directory, id) ? ok(undefined) : err(unknownId(id));
  } catch (cause) {
    return refused({ kind: "io", message: `Cannot delete pending write '${id}': ${describeCause(cause)}.` });
  }
}

function unknownId(id: string): MemoryError {
  return memoryError({ kind: "no_match", message: `No pending memory write with id '${id}'.` });
}
