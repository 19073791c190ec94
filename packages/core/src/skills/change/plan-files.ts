// Writing and removing the files beside SKILL.md.
import { err, ok, type Result } from "../../lib/index.ts";
import { MAX_SKILL_FILES } from "../limits.ts";
import type { Skill, SkillError } from "../types.ts";
import { allLinkedFiles, missing } from "../view/files.ts";
import type { SkillCall } from "./call.ts";
import { fileToWrite, newTextProblem } from "./existing-file.ts";
import type { Plan, Scene } from "./plan-types.ts";

export function planWriteFile(
  call: Extract<SkillCall, { action: "write_file" }>,
  skill: Skill,
  scene: Scene,
): Result<Plan, SkillError> {
  const { file, content } = call;
  const target = fileToWrite(skill, file);
  if (!target.ok) return target;
  if (target.value.before === undefined && allLinkedFiles(skill.directory).length >= MAX_SKILL_FILES) {
    const message = `The skill '${skill.name}' has ${MAX_SKILL_FILES} files already. Merge some of them first.`;
    return err({ kind: "too_large", message });
  }
  const checked = newTextProblem(content, file, skill, { ...scene, before: target.value.before });
  if (!checked.ok) return checked;
  return ok({
    kind: "write",
    action: "write_file",
    place: skill,
    file,
    ...target.value,
    after: content,
    reply: { message: `File '${file}' written to skill '${skill.name}'.`, path: target.value.path },
  });
}

export function planRemoveFile(
  call: Extract<SkillCall, { action: "remove_file" }>,
  skill: Skill,
): Result<Plan, SkillError> {
  const { file } = call;
  const target = fileToWrite(skill, file);
  if (!target.ok) return target;
  const { path, before } = target.value;
  if (before === undefined) return err(missing(skill.directory, file));
  return ok({
    kind: "remove",
    action: "remove_file",
    place: skill,
    file,
    path,
    before,
    reply: { message: `File '${file}' removed from skill '${skill.name}'.`, path },
  });
}
