// Changes that wait for a person's word: one private JSON file each, in the form the Python original uses.
import { mkdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import {
  codePointLength,
  describeCause,
  distinctSeconds,
  err,
  errnoCode,
  namesIn,
  ok,
  type Result,
  randomHex,
  takeCodePoints,
  writeFileAtomic,
} from "../../lib/index.ts";
import type { SkillCall } from "../change/call.ts";
import { conditionFields } from "../change/conditions.ts";
import { fieldOf, isFields } from "../frontmatter/parse.ts";
import type { SkillError, SkillOrigin } from "../types.ts";

export type PendingSkillChange = {
  readonly id: string;
  readonly subsystem: "skills";
  readonly action: string;
  readonly summary: string;
  readonly origin: string;
  /** Seconds. */
  readonly created_at: number;
  /** The arguments of `skill_manage`. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** Proposals that belong together. */
  readonly group?: string;
};

export type PendingDraft = {
  readonly call: SkillCall;
  readonly origin: SkillOrigin;
  readonly group?: string | undefined;
};

const SUMMARY_CHARS = 120;
// A file of a megabyte, every character of it escaped.
const MAX_RECORD_BYTES = 8 * 1_048_576;

export function stagePendingSkill(
  directory: string,
  { call, origin, group }: PendingDraft,
  now: Date,
): Result<PendingSkillChange, SkillError> {
  const record: PendingSkillChange = {
    id: randomHex(4),
    subsystem: "skills",
    action: call.action,
    summary: summaryOf(call),
    origin: recordOrigin(origin),
    created_at: distinctSeconds(now.getTime()),
    payload: { ...payloadOf(call), ...conditionFields(call) },
    ...(group === undefined ? {} : { group }),
  };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileAtomic(join(directory, `${record.id}.json`), `${JSON.stringify(record, null, 2)}\n`, {
      tempName: `${group === undefined ? "" : ".curator-"}${record.id}.json.tmp`, // see curator/leftovers.ts
    });
    return ok(record);
  } catch (cause) {
    const message = `The change could not be staged in ${directory}: ${describeCause(cause)}. Nothing was saved.`;
    return err({ kind: "io", message });
  }
}

export type PendingSkillChanges = {
  /** Oldest first. */
  readonly records: readonly PendingSkillChange[];
  /** Names of files that make no sense. */
  readonly skipped: readonly string[];
};

export function readPendingSkills(directory: string): PendingSkillChanges {
  const records: PendingSkillChange[] = [];
  const skipped: string[] = [];
  for (const name of namesIn(directory).filter((each) => each.endsWith(".json"))) {
    const record = readPendingSkill(directory, name.slice(0, -5));
    if (record.ok) records.push(record.value);
    else skipped.push(name);
  }
  return { records: records.sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)), skipped };
}

export function readPendingSkill(directory: string, id: string): Result<PendingSkillChange, SkillError> {
  if (!isPendingId(id)) return err(unknown(id));
  const path = join(directory, `${id}.json`);
  try {
    if (statSync(path).size > MAX_RECORD_BYTES) return err(damaged(id, path));
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const payload = fieldOf(value, "payload");
    if (fieldOf(value, "id") !== id || !isFields(payload)) return err(damaged(id, path));
    const time = fieldOf(value, "created_at");
    const group = fieldOf(value, "group");
    return ok({
      id,
      subsystem: "skills",
      action: String(fieldOf(value, "action") ?? fieldOf(payload, "action") ?? ""),
      summary: String(fieldOf(value, "summary") ?? ""),
      origin: String(fieldOf(value, "origin") ?? ""),
      created_at: typeof time === "number" && Math.abs(time) <= 8.64e12 ? time : 0,
      payload,
      ...(typeof group === "string" ? { group } : {}),
    });
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(unknown(id));
    return err(damaged(id, path));
  }
}

/** Also for a record that makes no sense. */
export function removePendingSkill(directory: string, id: string): Result<void, SkillError> {
  if (!isPendingId(id)) return err(unknown(id));
  try {
    unlinkSync(join(directory, `${id}.json`));
    return ok(undefined);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(unknown(id));
    return err({ kind: "io", message: `Cannot delete pending change '${id}': ${describeCause(cause)}.` });
  }
}

/** What a person is told in one line. */
export function summaryOf(call: SkillCall): string {
  const detail = detailOf(call);
  const shown =
    codePointLength(detail) > SUMMARY_CHARS ? `${takeCodePoints(detail, SUMMARY_CHARS)}...` : detail;
  return `${call.action} skill '${call.name}'${shown === "" ? "" : `: ${shown}`}`;
}

export function originOf({ origin }: PendingSkillChange): SkillOrigin {
  if (origin === "background_review" || origin === "review") return "review";
  return origin === "curator" || origin === "cli" ? origin : "tool";
}

function detailOf(call: SkillCall): string {
  switch (call.action) {
    case "create":
    case "edit":
      return /^description:[ \t]*(.+)$/m.exec(call.content)?.[1] ?? "";
    case "patch":
      return call.file;
    case "write_file":
    case "remove_file":
      return call.file;
    case "delete":
      return call.absorbedInto ? `absorbed into ${call.absorbedInto}` : "";
    default:
      return call satisfies never;
  }
}

/** Under the tool's own names, so that it can be replayed as it was sent. */
function payloadOf(call: SkillCall): Readonly<Record<string, unknown>> {
  const { action, name } = call;
  switch (call.action) {
    case "create":
      return {
        action,
        name,
        content: call.content,
        ...(call.category === undefined ? {} : { category: call.category }),
      };
    case "edit":
      return { action, name, content: call.content };
    case "patch": {
      const { file, oldText, newText, replaceAll } = call;
      return {
        action,
        name,
        file_path: file,
        old_string: oldText,
        new_string: newText,
        replace_all: replaceAll,
      };
    }
    case "write_file":
      return { action, name, file_path: call.file, file_content: call.content };
    case "remove_file":
      return { action, name, file_path: call.file };
    case "delete":
      return {
        action,
        name,
        ...(call.absorbedInto === undefined ? {} : { absorbed_into: call.absorbedInto }),
      };
    default:
      return call satisfies never;
  }
}

/** The names other programs know from pending records. */
function recordOrigin(origin: SkillOrigin): string {
  if (origin === "review") return "background_review";
  return origin === "tool" ? "assistant_tool" : origin;
}

/** Eight hex digits and nothing else: an id is part of a path. */
function isPendingId(id: string): boolean {
  return /^[0-9a-f]{8}$/.test(id);
}

function unknown(id: string): SkillError {
  return { kind: "not_found", message: `No pending skill change with id '${id.slice(0, 40)}'.` };
}

function damaged(id: string, path: string): SkillError {
  return {
    kind: "invalid",
    message: `Pending skill change '${id}' is damaged. Look at ${path}, or reject it.`,
  };
}
