// Writes that wait for the user's approval: one private JSON file each, in the form the Python original uses. An approver claims
// a file by renaming it; a claim whose process died is given back.
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import {
  describeCause,
  distinctSeconds,
  err,
  errnoCode,
  isRecord,
  isStringList,
  namesIn,
  ok,
  type Result,
  randomHex,
  writeFileAtomic,
} from "../../lib/index.ts";
import { type MemoryCuration, type MemoryError, memoryError, refused } from "../types.ts";

export type PendingPayload = {
  readonly action: string;
  readonly target: string;
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
export type PendingRecord = {
  readonly id: string;
  readonly subsystem: "memory";
  readonly action: string;
  readonly summary: string;
  readonly origin: string;
  readonly created_at: number;
  readonly payload: PendingPayload;
  /** Shared by the records of one curator run. */
  readonly group?: string;
};

/** Every text a staged write is about. */
export function pendingTexts({ content, old_text, operations = [] }: PendingPayload): string[] {
  const steps = operations.flatMap((step) => [step.content, step.old_text]);
  return [content, old_text, ...steps].filter((text) => typeof text === "string");
}

/** Eight hex digits and nothing else: an id is part of a path. */
export function isPendingId(id: string): boolean {
  return /^[0-9a-f]{8}$/.test(id);
}

// ---- Staging ----

/** Start of the names of temporary files that the curator makes among the staged writes. */
export const CURATOR_TEMP = ".curator-";

export function stagePending(
  directory: string,
  draft: Omit<PendingRecord, "id" | "subsystem" | "created_at">,
  now: Date,
): Result<PendingRecord, MemoryError> {
  const id = randomHex(4);
  const { action, summary, origin, payload, group } = draft;
  const created_at = distinctSeconds(now.getTime());
  const record: PendingRecord = {
    id,
    subsystem: "memory",
    action,
    summary,
    origin,
    created_at,
    payload,
    group,
  };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileAtomic(join(directory, `${id}.json`), `${JSON.stringify(toFile(record), null, 2)}\n`, {
      // Curator runs exclude each other, so the next run may delete a leftover with this name.
      tempName: group === undefined ? `${id}.json.tmp` : `${CURATOR_TEMP}${id}.json.tmp`,
    });
    return ok(record);
  } catch (cause) {
    return refused({
      kind: "io",
      message: `The write could not be staged in ${directory}: ${describeCause(cause)}. Nothing was saved.`,
    });
  }
}

function toFile(record: PendingRecord): object {
  const { curation, action, target, operations } = record.payload;
  if (operations !== undefined) return { ...record, payload: { action, target, operations } };
  if (curation === undefined) return record;
  const { remove, text, keep, isArchived: archive } = curation;
  return { ...record, payload: { ...record.payload, curation: { remove, text, keep, archive } } };
}

// ---- Reading ----

/** The writes that wait, and files beside them that are none. */
export type PendingWrites = {
  /** Oldest first. */
  readonly records: readonly PendingRecord[];
  /** Names of files that are no pending writes. */
  readonly skipped: readonly string[];
};

/** Returns to the list the writes that a dead approver had claimed. */
export function readPendingWrites(directory: string): PendingWrites {
  recoverClaims(directory);
  return lookAtPending(directory);
}

/** Changes nothing: writes that a dead approver had claimed stay claimed. */
export function lookAtPending(directory: string): PendingWrites {
  const records: PendingRecord[] = [];
  const skipped: string[] = [];
  for (const name of namesIn(directory).filter((each) => each.endsWith(".json"))) {
    const record = isPendingId(name.slice(0, -5)) ? readRecord(join(directory, name)) : undefined;
    if (record && `${record.id}.json` === name) records.push(record);
    else skipped.push(name);
  }
  return { records: records.sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)), skipped };
}

/** Every file of staged writes, half-written, claimed and damaged ones included. */
export function listPendingFiles(directory: string): string[] {
  const names = namesIn(directory).filter((name) =>
    /^(\.curator-)?[0-9a-f]{8}\.json(\.tmp|\.claim-\d+)?$/.test(name),
  );
  return names.map((name) => join(directory, name));
}

function readRecord(path: string): PendingRecord | undefined {
  try {
    const value = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    const payload = value.payload as Record<string, unknown>;
    const text = (field: unknown): string | null => (typeof field === "string" ? field : null);
    if (typeof value.id !== "string" || typeof payload !== "object" || payload === null) return undefined;
    return {
      id: value.id,
      subsystem: "memory",
      action: String(value.action),
      summary: String(value.summary ?? ""),
      origin: String(value.origin ?? ""),
      created_at: isDateSeconds(value.created_at) ? value.created_at : 0,
      payload: {
        action: String(payload.action),
        target: String(payload.target ?? "memory"),
        content: text(payload.content),
        old_text: text(payload.old_text),
        match: payload.match === "entry" ? payload.match : undefined,
        curation: readCuration(payload.curation),
        operations: readSteps(payload.operations),
      },
      group: typeof value.group === "string" && isPendingId(value.group) ? value.group : undefined,
    };
  } catch {
    return undefined;
  }
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

/** Seconds that a Date can hold. */
function isDateSeconds(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= 8.64e12;
}

// ---- Claims: one approver at a time ----

export type Claim = {
  readonly record: PendingRecord;
  /** False once the user has the text of this write forgotten. */
  isStillHeld(): boolean;
  finish(): void;
  giveBack(): void;
};

/** Renames the file to a name with this process's id, so that of two approvers only one can act on it. */
export function claimPending(directory: string, id: string): Result<Claim, MemoryError> {
  if (!isPendingId(id)) return err(unknownId(id));
  recoverClaims(directory);
  const path = join(directory, `${id}.json`);
  const claimed = `${path}.claim-${process.pid}`;
  try {
    renameSync(path, claimed);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(unknownId(id));
    return refused({ kind: "io", message: `Cannot open pending write '${id}': ${describeCause(cause)}.` });
  }
  ownClaims.add(claimed);
  const release = (step: () => void): void => {
    ownClaims.delete(claimed);
    try {
      step();
    } catch (cause) {
      if (errnoCode(cause) !== "ENOENT") throw cause; // `forget` deletes a pending write even from an approver
    }
  };
  const giveBack = (): void => release(() => renameSync(claimed, path));
  const record = readRecord(claimed);
  if (!record) {
    giveBack();
    return refused({
      kind: "io",
      message: `Pending write '${id}' is damaged. Look at ${path}, or reject it.`,
    });
  }
  return ok({
    record,
    isStillHeld: () => existsSync(claimed),
    finish: () => release(() => unlinkSync(claimed)),
    giveBack,
  });
}

/** Drops a write that waits for approval. */
export function rejectPending(directory: string, id: string): Result<void, MemoryError> {
  if (!isPendingId(id)) return err(unknownId(id));
  recoverClaims(directory);
  try {
    unlinkSync(join(directory, `${id}.json`));
    return ok(undefined);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(unknownId(id));
    return refused({ kind: "io", message: `Cannot delete pending write '${id}': ${describeCause(cause)}.` });
  }
}

function unknownId(id: string): MemoryError {
  return memoryError({ kind: "no_match", message: `No pending memory write with id '${id}'.` });
}

const CLAIM = /^([0-9a-f]{8}\.json)\.claim-(\d+)$/;
// Process ids of another container on the same volume mean nothing here, so a fresh claim is left alone.
const CLAIM_GRACE_MS = 5000;
// An approval waits for a lock, ten minutes at most.
const LONGEST_CLAIM_MS = 15 * 60_000;
/** Paths that this process has claimed now. */
const ownClaims = new Set<string>();

/** Names of files whose approver is dead. */
export function staleClaims(directory: string, now = new Date()): string[] {
  return namesIn(directory).filter((name) => {
    const [, , pid] = CLAIM.exec(name) ?? [];
    const path = join(directory, name);
    const stats = pid ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (!pid || !stats || ownClaims.has(path)) return false;
    // After a restart of the container, another process may have the id of the dead one.
    const mostMs = isAlive(Number(pid)) && Number(pid) !== process.pid ? LONGEST_CLAIM_MS : CLAIM_GRACE_MS;
    return now.getTime() - stats.ctimeMs > mostMs;
  });
}

function recoverClaims(directory: string): void {
  for (const name of staleClaims(directory)) {
    const [, original = name] = CLAIM.exec(name) ?? [];
    try {
      renameSync(join(directory, name), join(directory, original));
    } catch {
      // Another process was faster, or the home is read-only: listing pending writes must still work.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return errnoCode(cause) === "EPERM";
  }
}
