// Rewriting SKILL.md, and replacing a passage in any file of a skill.
import { join } from "node:path";
import { err, ok, type Result, takeCodePoints } from "../../lib/index.ts";
import { SKILL_FILE } from "../limits.ts";
import type { Skill, SkillError } from "../types.ts";
import { missing } from "../view/files.ts";
import type { SkillCall } from "./call.ts";
import { fileToWrite, newTextProblem } from "./existing-file.ts";
import { findText, replaceAt } from "./find-text.ts";
import type { Plan, Scene } from "./plan-types.ts";

const CHANGE_CHARS = 200;
const PREVIEW_CHARS = 500;

export function planEdit(
  call: Extract<SkillCall, { action: "edit" }>,
  skill: Skill,
  scene: Scene,
): Result<Plan, SkillError> {
  const target = fileToWrite(skill, SKILL_FILE);
  if (!target.ok) return target;
  const checked = newTextProblem(call.content, SKILL_FILE, skill, { ...scene, before: target.value.before });
  if (!checked.ok) return checked;
  return ok({
    kind: "write",
    action: "edit",
    place: skill,
    file: SKILL_FILE,
    ...target.value,
    after: call.content,
    reply: {
      message: `Skill '${skill.name}' updated (full rewrite).`,
      path: join(skill.directory, SKILL_FILE),
      _change: { description: checked.value },
    },
  });
}

export function planPatch(
  call: Extract<SkillCall, { action: "patch" }>,
  skill: Skill,
  scene: Scene,
): Result<Plan, SkillError> {
  const { file, oldText, newText, replaceAll } = call;
  const target = fileToWrite(skill, file);
  if (!target.ok) return target;
  const { before } = target.value;
  if (before === undefined) return err(missing(skill.directory, file));
  const text = asText(before);
  if (text === undefined)
    return err({ kind: "invalid", message: `'${file}' is not a UTF-8 text and cannot be patched.` });
  const patched = patchText(text, { file, oldText, newText, replaceAll });
  if (!patched.ok) return patched;
  const { text: after, count } = patched.value;
  const checked = newTextProblem(after, file, skill, { ...scene, before: before });
  if (!checked.ok) return checked;
  return ok({
    kind: "write",
    action: "patch",
    place: skill,
    file,
    ...target.value,
    after,
    reply: {
      message: `Patched ${file} in skill '${skill.name}' (${count} replacement${count === 1 ? "" : "s"}).`,
      path: target.value.path,
      _change: { old: takeCodePoints(oldText, CHANGE_CHARS), new: takeCodePoints(newText, CHANGE_CHARS) },
    },
  });
}

export type PatchRequest = {
  readonly file: string;
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
};

/** Pure. A file with Windows line ends keeps them, and takes a patch that knows nothing of them. */
export function patchText(
  text: string,
  { file, oldText, newText, replaceAll }: PatchRequest,
): Result<{ readonly text: string; readonly count: number }, SkillError> {
  const isWindows = text.includes("\r\n") && !/(^|[^\r])\n/.test(text);
  const toLf = (value: string): string => (isWindows ? value.replaceAll("\r\n", "\n") : value);
  const plain = toLf(text);
  const { places } = findText(plain, toLf(oldText));
  const count = places.length;
  if (count === 0) {
    const message = `old_string was not found in ${file}. Read the file again with skill_view and copy the passage.`;
    return err({ kind: "no_match", message, details: { file_preview: takeCodePoints(text, PREVIEW_CHARS) } });
  }
  if (count > 1 && !replaceAll) {
    const message = `old_string fits ${count} places in ${file}. Add more of the text around it, or pass replace_all.`;
    return err({ kind: "ambiguous", message, details: { match_count: count } });
  }
  const replaced = replaceAt(plain, places, toLf(newText));
  const after = isWindows ? replaced.replaceAll("\n", "\r\n") : replaced;
  if (after === text)
    return err({ kind: "no_match", message: `${file} says so already. Nothing was changed.` });
  return ok({ text: after, count });
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
