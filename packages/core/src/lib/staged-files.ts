// Changes that wait for the user's approval: one private JSON file each, in the form the Python original uses.
import { mkdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import {
  describeCause,
  distinctSeconds,
  err,
  errnoCode,
  isRecord,
  ok,
  type Result,
  randomHex,
} from "./basics.ts";
import { namesIn, writeFileAtomic } from "./files.ts";

/** What every staged change has; `payload` is the change itself. */
export type StagedRecord<Subsystem extends string, Payload> = {
  readonly id: string;
  readonly subsystem: Subsystem;
  readonly action: string;
  readonly summary: string;
  readonly origin: string;
  /** Seconds. */
  readonly created_at: number;
  readonly payload: Payload;
  /** Shared by the proposals of one curator run. */
  readonly group?: string;
};

/** What waits in a directory. */
export type StagedRecords<Staged> = {
  /** Oldest first. */
  readonly records: readonly Staged[];
  /** Names of files that are no staged changes, or that version 0.1 had renamed to approve them when it was killed. */
  readonly skipped: readonly string[];
};

/** Enough for a file of 1 MiB with every character escaped. */
const MAX_RECORD_BYTES = 8 * 1_048_576;

/** Eight hex digits and nothing else: an id is part of a path. */
function isStagedId(id: string): boolean {
  return /^[0-9a-f]{8}$/.test(id);
}

/** `stored` is the payload as it is written, when that differs. */
export function stageFile<Subsystem extends string, Payload>(
  directory: string,
  draft: Omit<StagedRecord<Subsystem, Payload>, "id" | "created_at">,
  now: Date,
  stored: unknown = draft.payload,
): Result<StagedRecord<Subsystem, Payload>, Error & { readonly kind: "io" }> {
  const id = randomHex(4);
  const { subsystem, action, summary, origin, payload, group } = draft;
  const created_at = distinctSeconds(now.getTime());
  const record = { id, subsystem, action, summary, origin, created_at, payload, group };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const text = `${JSON.stringify({ ...record, payload: stored }, null, 2)}\n`;
    writeFileAtomic(join(directory, `${id}.json`), text, { tempName: `${id}.json.tmp` });
    return ok(record);
  } catch (cause) {
    const message = `The change could not be staged in ${directory}: ${describeCause(cause)}. Nothing was saved.`;
    return err(Object.assign(new Error(message), { kind: "io" as const }));
  }
}

/** Undefined for a file that is no staged change, or cannot be read. */
export function readStagedFile<Subsystem extends string>(
  path: string,
  subsystem: Subsystem,
): StagedRecord<Subsystem, Readonly<Record<string, unknown>>> | undefined {
  try {
    if (statSync(path).size > MAX_RECORD_BYTES) return undefined;
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!isRecord(value) || typeof value.id !== "string" || !isRecord(value.payload)) return undefined;
    const { id, payload, created_at: time, group } = value;
    return {
      id,
      subsystem,
      action: String(value.action ?? payload.action ?? ""),
      summary: String(value.summary ?? ""),
      origin: String(value.origin ?? ""),
      created_at: typeof time === "number" && Math.abs(time) <= 8.64e12 ? time : 0, // seconds that a Date can hold
      payload,
      group: typeof group === "string" && isStagedId(group) ? group : undefined,
    };
  } catch {
    return undefined;
  }
}

/** `read` returns undefined for a file that cannot be used. */
export function listStagedFiles<Staged extends { readonly id: string; readonly created_at: number }>(
  directory: string,
  read: (path: string) => Staged | undefined,
): StagedRecords<Staged> {
  const records: Staged[] = [];
  const skipped: string[] = [];
  for (const name of namesIn(directory).filter((each) => /\.json(\.claim-\d+)?$/.test(each))) {
    const record = isStagedId(name.slice(0, -5)) ? read(join(directory, name)) : undefined;
    if (record && `${record.id}.json` === name) records.push(record);
    else skipped.push(name);
  }
  return { records: records.sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)), skipped };
}

/** `read` as for `listStagedFiles`. An error for an id under which no usable change waits. */
export function findStaged<Staged extends { readonly id: string }>(
  directory: string,
  id: string,
  read: (path: string) => Staged | undefined,
): Result<Staged, { readonly kind: "unknown" | "damaged"; readonly path: string }> {
  const path = join(directory, `${id}.json`);
  if (!isStagedId(id) || statSync(path, { throwIfNoEntry: false }) === undefined)
    return err({ kind: "unknown", path });
  const record = read(path);
  return record?.id === id ? ok(record) : err({ kind: "damaged", path });
}

/** Also removes a damaged file. False: there is none. */
export function removeStagedFile(directory: string, id: string): boolean {
  if (!isStagedId(id)) return false;
  try {
    unlinkSync(join(directory, `${id}.json`));
    return true;
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return false;
    throw cause;
  }
}
