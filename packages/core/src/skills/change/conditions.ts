// What must still hold when a call is carried out: a call made from texts read earlier, or approved days later, must not undo
// what a person did since.
import { readFileSync } from "node:fs";
import { err, errnoCode, ok, type Result, sha256 } from "../../lib/index.ts";
import { SKILL_FILE } from "../limits.ts";
import type { Skill, SkillError } from "../types.ts";
import { readUsage } from "../usage.ts";
import type { Scene } from "./plan-types.ts";

export type Conditions = {
  /** SHA-256 of each SKILL.md the call was made from, by its path below the skills directory. */
  readonly expected?: Readonly<Record<string, string>>;
  /** The skill goes because nobody used it: a use at this time (ISO) or later keeps it. */
  readonly unusedSince?: string;
};

/** The key of `expected`. */
export function expectedPath(skill: Pick<Skill, "relativePath">): string {
  return `${skill.relativePath}/${SKILL_FILE}`;
}

/** A condition that makes no sense is an error: leaving it out would be to say that it holds. */
export function parseConditions(given: Readonly<Record<string, unknown>>): Result<Conditions, SkillError> {
  const { expected, unused_since: since } = given;
  if (expected != null && !isHashes(expected))
    return err({ kind: "invalid", message: "expected must be an object of paths and SHA-256 sums." });
  if (since != null && (typeof since !== "string" || Number.isNaN(Date.parse(since))))
    return err({ kind: "invalid", message: "unused_since must be a time." });
  return ok({ ...(expected == null ? {} : { expected }), ...(since == null ? {} : { unusedSince: since }) });
}

/** Under the names `parseConditions` reads. */
export function conditionFields({ expected, unusedSince }: Conditions): Readonly<Record<string, unknown>> {
  return {
    ...(expected === undefined ? {} : { expected }),
    ...(unusedSince === undefined ? {} : { unused_since: unusedSince }),
  };
}

/** Which condition does not hold. Only files of skills in the list are read, whatever path is given. */
export function brokenCondition(
  { expected = {}, unusedSince }: Conditions,
  skill: Skill | undefined,
  { contents, store }: Scene,
): SkillError | undefined {
  const own = contents.skills.filter((each) => !each.isExternal && !each.isFlat);
  for (const [path, sum] of Object.entries(expected)) {
    const source = own.find((each) => expectedPath(each) === path);
    if (source === undefined || sumOf(source.file) !== sum) {
      const message = `'${path.slice(0, 200)}' was changed or removed since this change was made from it. Nothing was done; make the change again from the present text.`;
      return { kind: "conflict", message };
    }
  }
  if (unusedSince === undefined || skill === undefined) return undefined;
  const usage = readUsage(store).get(skill.directoryName);
  const isUsed = [usage?.last_used_at, usage?.last_viewed_at].some(
    (time) => typeof time === "string" && Date.parse(time) >= Date.parse(unusedSince),
  );
  if (!isUsed) return undefined;
  const message = `The skill '${skill.name}' was to go because nobody used it, and has been used since. It was left alone.`;
  return { kind: "conflict", message };
}

function isHashes(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === "string");
}

function sumOf(file: string): string | undefined {
  try {
    return sha256(readFileSync(file));
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return undefined;
    throw cause;
  }
}
