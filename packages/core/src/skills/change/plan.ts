// Decides what a call would do and checks it whole: rights, text, scan. Changes nothing. Runs under the lock, so it is
// synchronous.
import { err, type Result } from "../../lib/index.ts";
import { provenanceOf, readOrigins } from "../provenance.ts";
import { findIn } from "../store.ts";
import type { Skill, SkillAction, SkillError } from "../types.ts";
import { readUsage, usageProblem } from "../usage.ts";
import type { SkillCall } from "./call.ts";
import { brokenCondition } from "./conditions.ts";
import { planCreate } from "./plan-create.ts";
import { planDelete } from "./plan-delete.ts";
import { planRemoveFile, planWriteFile } from "./plan-files.ts";
import { planEdit, planPatch } from "./plan-text.ts";
import type { Plan, Scene } from "./plan-types.ts";
import { refusalOf } from "./protection.ts";

export function planCall(call: SkillCall, scene: Scene): Result<Plan, SkillError> {
  if (call.action === "create") return ifHolds(planCreate(call, scene), call, undefined, scene);
  const found = findIn(scene.contents, call.name);
  if (!found.ok) return found;
  const skill = found.value;
  const refusal = refused(call.action, skill, scene);
  if (refusal) return err(refusal);
  return ifHolds(planExisting(call, skill, scene), call, skill, scene);
}

/** Asked once the plan has read its file: a change of that file after this is noticed when it is replaced. */
function ifHolds(
  plan: Result<Plan, SkillError>,
  call: SkillCall,
  skill: Skill | undefined,
  scene: Scene,
): Result<Plan, SkillError> {
  const broken = plan.ok ? brokenCondition(call, skill, scene) : undefined;
  return broken ? err(broken) : plan;
}

function planExisting(
  call: Exclude<SkillCall, { action: "create" }>,
  skill: Skill,
  scene: Scene,
): Result<Plan, SkillError> {
  switch (call.action) {
    case "edit":
      return planEdit(call, skill, scene);
    case "patch":
      return planPatch(call, skill, scene);
    case "write_file":
      return planWriteFile(call, skill, scene);
    case "remove_file":
      return planRemoveFile(call, skill);
    case "delete":
      return planDelete(call, skill, scene);
    default:
      return call satisfies never;
  }
}

function refused(action: SkillAction, skill: Skill, { store, origin }: Scene): SkillError | undefined {
  if (skill.isFlat) {
    const message = `'${skill.name}' is a single file without a directory of its own. Create a skill to replace it.`;
    return { kind: "protected", message };
  }
  const takesAway = action === "delete" || action === "remove_file";
  const problem = takesAway && origin !== "cli" ? usageProblem(store) : undefined;
  if (problem !== undefined)
    return { kind: "protected", message: `${problem} '${skill.name}' may be pinned and was left alone.` };
  const origins = readOrigins(store);
  return refusalOf(action, origin, {
    name: skill.name,
    provenance: provenanceOf(skill, origins),
    isProvenanceKnown: origins.isReliable,
    isPinned: readUsage(store).get(skill.directoryName)?.pinned ?? false,
  });
}
