// Approval of skill changes: a change is staged, listed, shown as a diff, then approved or rejected.
import { mkdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import {
  codePointLength,
  describeCause,
  distinctSeconds,
  err,
  errnoCode,
  isRecord,
  namesIn,
  ok,
  type Result,
  randomHex,
  takeCodePoints,
  writeFileAtomic,
} from "../lib/index.ts";
import type { Plan } from "./change/change-plan.ts";
import { performCall, previewCall, type SkillChanged, underLock } from "./change/change-skill.ts";
import { parseSkillCall, type SkillCall } from "./change/skill-call.ts";
import { fieldOf } from "./frontmatter.ts";
import { pendingSkillsDirectory } from "./paths.ts";
import type { SkillError, SkillOrigin } from "./skill.ts";
import type { SkillStore } from "./store.ts";
import { earlierChange } from "./undo.ts";

// Staged changes: one private JSON file each, in the format of the Python original.

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
  /** Proposals with the same group belong together. */
  readonly group?: string;
};

const SUMMARY_CHARS = 120;
/** Enough for a file of 1 MiB with every character escaped. */
const MAX_RECORD_BYTES = 8 * 1_048_576;

export function stagePendingSkill(
  directory: string,
  {
    call,
    origin,
    group,
  }: { readonly call: SkillCall; readonly origin: SkillOrigin; readonly group?: string },
  now: Date,
): Result<PendingSkillChange, SkillError> {
  const record: PendingSkillChange = {
    id: randomHex(4),
    subsystem: "skills",
    action: call.action,
    summary: summaryOf(call),
    origin: recordOrigin(origin),
    created_at: distinctSeconds(now.getTime()),
    payload: payloadOf(call),
    group,
  };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    // The curator cleans up temporary files with this prefix.
    const tempName = `${group === undefined ? "" : ".curator-"}${record.id}.json.tmp`;
    writeFileAtomic(join(directory, `${record.id}.json`), `${JSON.stringify(record, null, 2)}\n`, {
      tempName,
    });
    return ok(record);
  } catch (cause) {
    const message = `The change could not be staged in ${directory}: ${describeCause(cause)}. Nothing was saved.`;
    return err({ kind: "io", message });
  }
}

type PendingSkillChanges = {
  /** Oldest first. */
  readonly records: readonly PendingSkillChange[];
  /** Names of files that are no valid record. */
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

function readPendingSkill(directory: string, id: string): Result<PendingSkillChange, SkillError> {
  if (!isPendingId(id)) return err(unknown(id));
  const path = join(directory, `${id}.json`);
  try {
    if (statSync(path).size > MAX_RECORD_BYTES) return err(damaged(id, path));
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const payload = fieldOf(value, "payload");
    if (fieldOf(value, "id") !== id || !isRecord(payload)) return err(damaged(id, path));
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
      group: typeof group === "string" ? group : undefined,
    });
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(unknown(id));
    return err(damaged(id, path));
  }
}

/** Also removes an invalid record. */
function removePendingSkill(directory: string, id: string): Result<void, SkillError> {
  if (!isPendingId(id)) return err(unknown(id));
  try {
    unlinkSync(join(directory, `${id}.json`));
    return ok(undefined);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(unknown(id));
    return err({ kind: "io", message: `Cannot delete pending change '${id}': ${describeCause(cause)}.` });
  }
}

/** One line for the user. */
export function summaryOf(call: SkillCall): string {
  const detail = detailOf(call);
  const shown =
    codePointLength(detail) > SUMMARY_CHARS ? `${takeCodePoints(detail, SUMMARY_CHARS)}...` : detail;
  return `${call.action} skill '${call.name}'${shown === "" ? "" : `: ${shown}`}`;
}

function originOf({ origin }: PendingSkillChange): SkillOrigin {
  if (origin === "background_review" || origin === "review") return "review";
  return origin === "curator" || origin === "cli" ? origin : "tool";
}

function detailOf(call: SkillCall): string {
  switch (call.action) {
    case "create":
    case "edit":
      return /^description:[ \t]*(.+)$/m.exec(call.content)?.[1] ?? "";
    case "patch":
    case "write_file":
    case "remove_file":
      return call.file;
    case "delete":
      return call.absorbedInto ? `absorbed into ${call.absorbedInto}` : "";
    default:
      return call satisfies never;
  }
}

/** Under the tool's argument names, so that the call can be repeated unchanged. */
function payloadOf(call: SkillCall): Readonly<Record<string, unknown>> {
  const { action, name, expected, unusedSince } = call;
  const common = { action, name, expected, unused_since: unusedSince };
  switch (call.action) {
    case "create":
      return { ...common, content: call.content, category: call.category };
    case "edit":
      return { ...common, content: call.content };
    case "patch": {
      const { file: file_path, oldText: old_string, newText: new_string, replaceAll: replace_all } = call;
      return { ...common, file_path, old_string, new_string, replace_all };
    }
    case "write_file":
      return { ...common, file_path: call.file, file_content: call.content };
    case "remove_file":
      return { ...common, file_path: call.file };
    case "delete":
      return { ...common, absorbed_into: call.absorbedInto };
    default:
      return call satisfies never;
  }
}

/** The names other programs know from pending records. */
function recordOrigin(origin: SkillOrigin): string {
  if (origin === "review") return "background_review";
  return origin === "tool" ? "assistant_tool" : origin;
}

/** Exactly eight hex digits, because the id is part of a path. */
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

// Decisions about a staged change. They run under the skills lock, so that two users cannot decide about the same change.

/** The record is removed once its change is on disk; after a failure it stays. Rights and scan are checked again. */
export async function approveSkillChange(
  store: SkillStore,
  id: string,
  options: { readonly sessionId?: string } = {},
): Promise<Result<SkillChanged, SkillError>> {
  const directory = pendingSkillsDirectory(store.home);
  const record = readPendingSkill(directory, id);
  if (!record.ok) return record;
  const call = parseSkillCall(record.value.payload);
  if (!call.ok)
    return err({ ...call.error, message: `${call.error.message} Reject the pending change '${id}'.` });
  const context = { origin: originOf(record.value), approval: id, sessionId: options.sessionId };
  return performCall(store, call.value, context, {
    guard: () => {
      const still = readPendingSkill(directory, id);
      if (!still.ok) return still.error;
      const earlier = earlierChange(store, id);
      if (earlier === undefined) return undefined;
      // An earlier process died between applying the change and removing the record.
      removePendingSkill(directory, id);
      const message = `Pending change '${id}' was done before, as change '${earlier}'. Its record is gone now.`;
      return { kind: "conflict", message };
    },
    onApplied: () => {
      removePendingSkill(directory, id); // if this fails, the check above finds the change next time
    },
  });
}

export function rejectSkillChange(store: SkillStore, id: string): Promise<Result<void, SkillError>> {
  return underLock(store, () => removePendingSkill(pendingSkillsDirectory(store.home), id));
}

/** The lines that approving it now would change, or the reason why it cannot be approved. */
export async function diffSkillChange(
  store: SkillStore,
  id: string,
): Promise<Result<readonly string[], SkillError>> {
  const record = readPendingSkill(pendingSkillsDirectory(store.home), id);
  if (!record.ok) return record;
  const call = parseSkillCall(record.value.payload);
  if (!call.ok) return call;
  const plan = await previewCall(store, call.value, originOf(record.value));
  return plan.ok ? ok(planLines(plan.value)) : plan;
}

function planLines(plan: Plan): readonly string[] {
  if (plan.kind === "delete") return [`- ${plan.place.relativePath}/`];
  const name = `${plan.place.relativePath}/${plan.file}`;
  const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes ?? new Uint8Array());
  return [
    `--- ${plan.before === undefined ? "/dev/null" : name}`,
    `+++ ${plan.kind === "remove" ? "/dev/null" : name}`,
    ...lineDiff(text(plan.before), plan.kind === "write" ? plan.after : ""),
  ];
}

// Lines that differ, with three lines around them: one hunk from the first difference to the last. Pure.
const CONTEXT_LINES = 3;

function lineDiff(before: string, after: string): readonly string[] {
  const old = linesOf(before);
  const fresh = linesOf(after);
  let top = 0;
  while (top < old.length && top < fresh.length && old[top] === fresh[top]) top += 1;
  let bottom = 0;
  const most = Math.min(old.length, fresh.length) - top;
  while (bottom < most && old.at(-1 - bottom) === fresh.at(-1 - bottom)) bottom += 1;
  const gone = old.slice(top, old.length - bottom);
  const come = fresh.slice(top, fresh.length - bottom);
  if (gone.length === 0 && come.length === 0) return [];
  const start = Math.max(0, top - CONTEXT_LINES);
  return [
    `@@ line ${top + 1} @@`,
    ...old.slice(start, top).map((line) => ` ${line}`),
    ...gone.map((line) => `-${line}`),
    ...come.map((line) => `+${line}`),
    ...old.slice(old.length - bottom, old.length - bottom + CONTEXT_LINES).map((line) => ` ${line}`),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}
