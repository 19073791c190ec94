// Writes that wait for a person's word: one private JSON file each, in the form the Python original uses.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  describeCause,
  distinctSeconds,
  err,
  namesIn,
  ok,
  type Result,
  randomHex,
  writeFileAtomic,
} from "../../lib/index.ts";
import type { MemoryCuration, MemoryError } from "../types.ts";
import { curationJson, readCuration } from "./curation-payload.ts";

export type PendingPayload = {
  readonly action: string;
  readonly target: string;
  readonly content: string | null;
  readonly old_text: string | null;
  /** `old_text` is a whole entry, and means no other. */
  readonly match?: "entry";
  /** A step on several entries, as the curator proposes it; action `curate`. */
  readonly curation?: MemoryCuration;
  /** Operations that are approved and applied as one; action `batch`. */
  readonly operations?: readonly PendingStep[];
};

/** One operation of a batch, with the names it has in the tool's call. */
export type PendingStep = {
  readonly action: string;
  readonly content?: string;
  readonly old_text?: string;
  readonly match?: "entry";
};

/** Every text a staged write is about. */
export function pendingTexts({ content, old_text, operations = [] }: PendingPayload): string[] {
  const steps = operations.flatMap((step) => [step.content, step.old_text]);
  return [content, old_text, ...steps].filter((text) => typeof text === "string");
}

export type PendingRecord = {
  readonly id: string;
  readonly subsystem: "memory";
  readonly action: string;
  readonly summary: string;
  readonly origin: string;
  readonly created_at: number;
  readonly payload: PendingPayload;
  /** Ties the records that one curator run left. */
  readonly group?: string;
};

/** How the names of temporary files begin that a run of the curator makes among the staged changes. */
export const CURATOR_TEMP = ".curator-";

/** Eight hex digits and nothing else: an id is part of a path. */
export function isPendingId(id: string): boolean {
  return /^[0-9a-f]{8}$/.test(id);
}

export function stagePending(
  directory: string,
  draft: Omit<PendingRecord, "id" | "subsystem" | "created_at">,
  now: Date,
): Result<PendingRecord, MemoryError> {
  const id = randomHex(4);
  const { action, summary, origin, payload, group } = draft;
  const record: PendingRecord = {
    id,
    subsystem: "memory",
    action,
    summary,
    origin,
    created_at: distinctSeconds(now.getTime()),
    payload,
    ...(group === undefined ? {} : { group }),
  };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileAtomic(join(directory, `${id}.json`), `${JSON.stringify(written(record), null, 2)}\n`, {
      // Runs of the curator exclude each other, so the next one knows whose such a leftover is.
      tempName: group === undefined ? `${id}.json.tmp` : `${CURATOR_TEMP}${id}.json.tmp`,
    });
    return ok(record);
  } catch (cause) {
    return err({
      kind: "io",
      message: `The write could not be staged in ${directory}: ${describeCause(cause)}. Nothing was saved.`,
    });
  }
}

/** The names in the file are those of the wire. */
function written(record: PendingRecord): object {
  const { curation, action, target, operations } = record.payload;
  if (operations !== undefined) return { ...record, payload: { action, target, operations } };
  if (curation === undefined) return record;
  return { ...record, payload: { ...record.payload, curation: curationJson(curation) } };
}

export type PendingWrites = {
  /** Oldest first. */
  readonly records: readonly PendingRecord[];
  /** Names of files that make no sense. */
  readonly skipped: readonly string[];
};

/** Changes nothing: what a dead approver still holds stays where it is. */
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

/** Every file of staged writes, also half-written, claimed and damaged ones. */
export function listPendingFiles(directory: string): string[] {
  const names = namesIn(directory).filter((name) =>
    /^(\.curator-)?[0-9a-f]{8}\.json(\.tmp|\.claim-\d+)?$/.test(name),
  );
  return names.map((name) => join(directory, name));
}

export function readRecord(path: string): PendingRecord | undefined {
  try {
    const value = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    const payload = value.payload as Record<string, unknown>;
    const text = (field: unknown): string | null => (typeof field === "string" ? field : null);
    if (typeof value.id !== "string" || typeof payload !== "object" || payload === null) return undefined;
    const curation = readCuration(payload.curation);
    const operations = readSteps(payload.operations);
    return {
      id: value.id,
      subsystem: "memory",
      action: String(value.action),
      summary: String(value.summary ?? ""),
      origin: String(value.origin ?? ""),
      created_at: isTime(value.created_at) ? value.created_at : 0,
      payload: {
        action: String(payload.action),
        target: String(payload.target ?? "memory"),
        content: text(payload.content),
        old_text: text(payload.old_text),
        ...(payload.match === "entry" ? { match: payload.match } : {}),
        ...(curation === undefined ? {} : { curation }),
        ...(operations === undefined ? {} : { operations }),
      },
      ...(typeof value.group === "string" && isPendingId(value.group) ? { group: value.group } : {}),
    };
  } catch {
    return undefined;
  }
}

/** Undefined for anything that is no list of operations. Half of a batch would not be what was asked for. */
function readSteps(value: unknown): readonly PendingStep[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const steps = value.map((item: unknown): PendingStep | undefined => {
    if (typeof item !== "object" || item === null) return undefined;
    const { action, content, new_text, old_text, match } = item as Record<string, unknown>;
    const text = content ?? new_text; // another program may have kept the alias
    return {
      action: String(action),
      ...(typeof text === "string" ? { content: text } : {}),
      ...(typeof old_text === "string" ? { old_text } : {}),
      ...(match === "entry" ? { match } : {}),
    };
  });
  return steps.every((step) => step !== undefined) ? steps : undefined;
}

/** Seconds that a date can hold. */
function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= 8.64e12;
}
