// The arguments of `skill_manage`: untyped in, one complete operation out, or the reason why not. Sizes are checked first, so
// that a huge text is not processed. Pure.
import { err, groupThousands, ok, type Result } from "../../lib/index.ts";
import { characterProblem, textProblem } from "../frontmatter.ts";
import {
  MAX_FILE_BYTES,
  nameProblem,
  SKILL_ACTIONS,
  SKILL_FILE,
  type Skill,
  type SkillAction,
  type SkillError,
  shownName,
} from "../skill.ts";
import { parseFilePath } from "../skill-files.ts";

export type SkillCall = Operation & Conditions;

type Operation =
  | { readonly action: "create"; readonly name: string; readonly content: string; readonly category?: string }
  | { readonly action: "edit"; readonly name: string; readonly content: string }
  | {
      readonly action: "patch";
      readonly name: string;
      readonly file: string;
      readonly oldText: string;
      readonly newText: string;
      readonly replaceAll: boolean;
    }
  | { readonly action: "delete"; readonly name: string; readonly absorbedInto?: string }
  | { readonly action: "write_file"; readonly name: string; readonly file: string; readonly content: string }
  | { readonly action: "remove_file"; readonly name: string; readonly file: string };

type Given = Readonly<Record<string, unknown>>;

/** Null counts as missing everywhere. */
export function parseSkillCall(args: unknown): Result<SkillCall, SkillError> {
  const given: Given = typeof args === "object" && args !== null ? (args as Given) : {};
  const action = SKILL_ACTIONS.find((each) => each === given.action);
  if (action === undefined) {
    const shown = typeof given.action === "string" ? shownName(given.action) : typeof given.action;
    const message = `Unknown action '${shown}'. Use: ${SKILL_ACTIONS.join(", ")}`;
    return err({ kind: "bad_action", message });
  }
  const odd = [
    "name",
    "content",
    "category",
    "file_path",
    "file_content",
    "old_string",
    "new_string",
    "absorbed_into",
  ]
    .filter((field) => given[field] != null && typeof given[field] !== "string")
    .map((field) => `${field} must be a string.`)[0];
  if (odd !== undefined) return err({ kind: "invalid", message: odd });
  const name = text(given, "name");
  if (!name) return missing("name", action);
  const operation = parsers[action](given, name);
  if (!operation.ok) return operation;
  const conditions = parseConditions(given);
  return conditions.ok ? ok({ ...operation.value, ...conditions.value }) : conditions;
}

const parsers: Readonly<Record<SkillAction, (given: Given, name: string) => Result<Operation, SkillError>>> =
  {
    create: (given, name) => {
      const category = text(given, "category") || undefined;
      const problem =
        nameProblem("skill", name) ??
        (category === undefined ? undefined : nameProblem("category", category));
      if (problem) return err(problem);
      const content = skillText(given, "content", "create");
      if (!content.ok) return content;
      return ok({
        action: "create",
        name,
        content: content.value,
        category,
      });
    },
    edit: (given, name) => {
      const content = skillText(given, "content", "edit");
      return content.ok ? ok({ action: "edit", name, content: content.value }) : content;
    },
    patch: (given, name) => {
      const oldText = text(given, "old_string");
      const newText = text(given, "new_string");
      if (!oldText) return missing("old_string", "patch");
      if (newText === undefined)
        return missing("new_string", "patch", " It may be empty, to delete the text.");
      const broken = fileProblem(oldText) ?? fileProblem(newText);
      if (broken) return err(broken);
      if (oldText === newText)
        return err({
          kind: "invalid",
          message: "old_string and new_string are the same. Nothing would change.",
        });
      const file = parseFilePath(text(given, "file_path") || SKILL_FILE);
      if (!file.ok) return file;
      const replaceAll = given.replace_all === true || given.replace_all === "true";
      return ok({ action: "patch", name, file: file.value, oldText, newText, replaceAll });
    },
    delete: (given, name) => {
      const absorbedInto = text(given, "absorbed_into");
      return ok({ action: "delete", name, absorbedInto });
    },
    write_file: (given, name) => {
      const file = neededPath(given, "write_file");
      if (!file.ok) return file;
      const content = text(given, "file_content");
      if (content === undefined) return missing("file_content", "write_file");
      // The same rules for SKILL.md, whichever action writes it.
      const broken = file.value === SKILL_FILE ? textProblem(content) : fileProblem(content);
      if (broken) return err(broken);
      if (file.value === SKILL_FILE) return ok({ action: "edit", name, content });
      return ok({ action: "write_file", name, file: file.value, content });
    },
    remove_file: (given, name) => {
      const file = neededPath(given, "remove_file");
      if (!file.ok) return file;
      if (file.value === SKILL_FILE) {
        const message =
          "SKILL.md cannot be removed: it is the skill. Use action 'delete' for the whole skill.";
        return err({ kind: "protected", message });
      }
      return ok({ action: "remove_file", name, file: file.value });
    },
  };

export function fileProblem(content: string): SkillError | undefined {
  if (Buffer.byteLength(content) > MAX_FILE_BYTES) {
    const message = `The file would be too large: at most ${groupThousands(MAX_FILE_BYTES)} bytes. Split it.`;
    return { kind: "too_large", message };
  }
  return characterProblem(content);
}

function skillText(given: Given, field: string, action: SkillAction): Result<string, SkillError> {
  const content = text(given, field);
  if (!content) return missing(field, action);
  const broken = textProblem(content);
  return broken ? err(broken) : ok(content);
}

function neededPath(given: Given, action: SkillAction): Result<string, SkillError> {
  const path = text(given, "file_path");
  return path ? parseFilePath(path) : missing("file_path", action);
}

function text(given: Given, field: string): string | undefined {
  const value = given[field];
  return typeof value === "string" ? value : undefined;
}

function missing(field: string, action: SkillAction, more = ""): Result<never, SkillError> {
  return err({ kind: "missing_arg", message: `${field} is required for '${action}'.${more}` });
}

// Conditions that must still hold when the call is carried out: a call made from texts read earlier, or approved days later,
// must not overwrite what a user did since.

export type Conditions = {
  /** SHA-256 of each SKILL.md the call was made from, by its path below the skills directory. */
  readonly expected?: Readonly<Record<string, string>>;
  /** The skill is removed because it is unused: a use at this time (ISO) or later keeps it. */
  readonly unusedSince?: string;
};

/** The key in `expected`. */
export function expectedPath(skill: Pick<Skill, "relativePath">): string {
  return `${skill.relativePath}/${SKILL_FILE}`;
}

/** An invalid condition is an error: ignoring it would mean that it holds. */
function parseConditions(given: Readonly<Record<string, unknown>>): Result<Conditions, SkillError> {
  const { expected, unused_since: since } = given;
  if (expected != null && !isHashes(expected))
    return err({ kind: "invalid", message: "expected must be an object of paths and SHA-256 sums." });
  if (since != null && (typeof since !== "string" || Number.isNaN(Date.parse(since))))
    return err({ kind: "invalid", message: "unused_since must be a time." });
  return ok({ expected: expected ?? undefined, unusedSince: since ?? undefined });
}

function isHashes(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === "string");
}
