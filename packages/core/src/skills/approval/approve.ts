// What becomes of a staged change: done, dropped, or shown. All of it under the lock of the skills, so that two people
// cannot decide about the same one.
import { err, ok, type Result } from "../../lib/index.ts";
import { parseSkillCall } from "../change/call.ts";
import { performCall, previewCall, type SkillChanged, underLock } from "../change/perform.ts";
import type { Plan } from "../change/plan-types.ts";
import { earlierChange } from "../history/undo.ts";
import { pendingSkillsDirectory } from "../paths.ts";
import type { SkillStore } from "../store.ts";
import type { SkillError } from "../types.ts";
import { lineDiff } from "./line-diff.ts";
import { originOf, readPendingSkill, removePendingSkill } from "./pending.ts";

/** The record goes when its change is on disk; after a failure it waits on. Rights and scan are checked again. */
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
      // Its process died between the change and the removal of the record.
      removePendingSkill(directory, id);
      const message = `Pending change '${id}' was done before, as change '${earlier}'. Its record is gone now.`;
      return { kind: "conflict", message };
    },
    onApplied: () => {
      removePendingSkill(directory, id); // one that stays is recognised above
    },
  });
}

export function rejectSkillChange(store: SkillStore, id: string): Promise<Result<void, SkillError>> {
  return underLock(store, () => removePendingSkill(pendingSkillsDirectory(store.home), id));
}

/** What approving it now would change, in lines; or why it could not be approved. */
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
