// Names of skills and categories: part of a path, so nothing but plain characters. Pure.
import { codePointLength, preview } from "../lib/index.ts";
import { IGNORED_DIRECTORIES, MAX_NAME_CHARS, SUPPORT_DIRECTORIES } from "./limits.ts";
import type { SkillError } from "./types.ts";

const PLAIN = /^[a-z0-9][a-z0-9._-]*$/;
const RULE = "Use lower-case letters, digits, '.', '_' and '-', starting with a letter or digit.";

/** Why a new skill or category cannot be called this, or nothing. */
export function nameProblem(kind: "skill" | "category", name: string): SkillError | undefined {
  const shown = shownName(name);
  if (name === "") return { kind: "missing_arg", message: `The ${kind} name is empty. ${RULE}` };
  if (name.length > 2 * MAX_NAME_CHARS || codePointLength(name) > MAX_NAME_CHARS) {
    const message = `The ${kind} name '${shown}' is too long: at most ${MAX_NAME_CHARS} characters.`;
    return { kind: "invalid", message };
  }
  if (!PLAIN.test(name)) {
    const segments = kind === "category" ? " A category is one folder, without '/'." : "";
    return { kind: "invalid", message: `Invalid ${kind} name '${shown}'. ${RULE}${segments}` };
  }
  if (IGNORED_DIRECTORIES.has(name) || SUPPORT_DIRECTORIES.some((each) => each === name)) {
    const message = `'${shown}' cannot be a ${kind} name: folders of that name are not looked into. Choose another.`;
    return { kind: "invalid", message };
  }
  return undefined;
}

/** A name somebody sent, short and on one line. */
export function shownName(name: string): string {
  return preview(name.replace(/[\x00-\x1f\x7f-\x9f]+/g, " "), 80);
}
