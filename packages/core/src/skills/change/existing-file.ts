// The file a change is about: where it is, what is in it now, and whether the new text may take its place.
import { lstatSync, readFileSync } from "node:fs";
import { err, ok, type Result } from "../../lib/index.ts";
import { checkSkillText } from "../frontmatter/check.ts";
import { MAX_FILE_BYTES, SKILL_FILE } from "../limits.ts";
import type { Skill, SkillError } from "../types.ts";
import { fileProblem } from "./call.ts";
import { placeInSkill } from "./file-path.ts";
import type { Scene } from "./plan-types.ts";
import { screenProblem } from "./screen.ts";

export type WritableFile = { readonly path: string; readonly before: Uint8Array | undefined };

/** Only a missing file has nothing in it; one that cannot be read is an error, and throws. */
export function fileToWrite(skill: Skill, file: string): Result<WritableFile, SkillError> {
  const place = placeInSkill(skill.directory, file);
  if (!place.ok) return place;
  const path = place.value;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return ok({ path, before: undefined });
  if (!stats.isFile()) return err({ kind: "invalid", message: `'${file}' is not a file.` });
  if (stats.size > MAX_FILE_BYTES) {
    const message = `'${file}' has ${stats.size} bytes; files over ${MAX_FILE_BYTES} are not changed here.`;
    return err({ kind: "too_large", message });
  }
  return ok({ path, before: readFileSync(path) });
}

/** The description of a SKILL.md, "" for other files; or why the text may not be written. */
export function newTextProblem(
  text: string,
  file: string,
  skill: Skill,
  scene: Pick<Scene, "parse" | "origin" | "store"> & { readonly before: Uint8Array | undefined },
): Result<string, SkillError> {
  const { parse, before } = scene;
  let description = "";
  if (file === SKILL_FILE) {
    const previousName = skill.header.name === "" ? undefined : skill.header.name;
    const checked = checkSkillText(text, { directoryName: skill.directoryName, previousName }, parse);
    if (!checked.ok) return checked;
    description = checked.value.description;
  } else {
    const broken = fileProblem(text);
    if (broken) return err(broken);
  }
  // The path is shown to agents too, as one of the skill's files.
  const blocked =
    screenProblem(text, scene, new TextDecoder().decode(before ?? new Uint8Array())) ??
    screenProblem(file, scene);
  return blocked ? err(blocked) : ok(description);
}
