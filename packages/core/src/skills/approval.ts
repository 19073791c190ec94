// Approval of skill changes: a change is staged, listed, shown as a diff, then approved or rejected.
import {
  codePointLength,
  describeCause,
  err,
  findStaged,
  listStagedFiles,
  ok,
  type Result,
  readStagedFile,
  removeStagedFile,
  type StagedRecord,
  type StagedRecords,
  stageFile,
  takeCodePoints,
} from "../lib/index.ts";
import type { Plan } from "./change/change-plan.ts";
import { performCall, previewCall, type SkillChanged, underLock } from "./change/change-skill.ts";
import { parseSkillCall, type SkillCall } from "./change/skill-call.ts";
import { pendingSkillsDirectory } from "./paths.ts";
import type { SkillError, SkillOrigin } from "./skill.ts";
import type { SkillStore } from "./store.ts";
import { earlierChange } from "./undo.ts";

/** `payload` has the arguments of `skill_manage`. */
export type PendingSkillChange = StagedRecord<"skills", Readonly<Record<string, unknown>>>;

const SUMMARY_CHARS = 120;

export function stagePendingSkill(
  directory: string,
  {
    call,
    origin,
    group,
  }: { readonly call: SkillCall; readonly origin: SkillOrigin; readonly group?: string },
  now: Date,
): Result<PendingSkillChange, SkillError> {
  const { action } = call;
  const draft = { action, summary: summaryOf(call), origin: recordOrigin(origin), payload: payloadOf(call) };
  return stageFile(directory, { subsystem: "skills", ...draft, group }, now);
}

const read = (path: string): PendingSkillChange | undefined => readStagedFile(path, "skills");

export function readPendingSkills(directory: string): StagedRecords<PendingSkillChange> {
  return listStagedFiles(directory, read);
}

function readPendingSkill(directory: string, id: string): Result<PendingSkillChange, SkillError> {
  const found = findStaged(directory, id, read);
  if (found.ok) return found;
  const { kind, path } = found.error;
  if (kind === "unknown") return err(unknown(id));
  const message = `Pending skill change '${id}' is damaged. Look at ${path}, or reject it.`;
  return err({ kind: "invalid", message });
}

function removePendingSkill(directory: string, id: string): Result<void, SkillError> {
  try {
    return removeStagedFile(directory, id) ? ok(undefined) : err(unknown(id));
  } catch (cause) {
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

function unknown(id: string): SkillError {
  return { kind: "not_found", message: `No pending skill change with id '${id.slice(0, 40)}'.` };
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
