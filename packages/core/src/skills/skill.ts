// The types of a skill, of its writers and of failures, and the limits and names that other programs rely on.
import { codePointLength, preview } from "../lib/index.ts";

export const SKILL_ACTIONS = ["create", "patch", "edit", "delete", "write_file", "remove_file"] as const;
/** What `skill_manage` can do. */
export type SkillAction = (typeof SKILL_ACTIONS)[number];

/** `tool`: the agent in a conversation. `review` and `curator` write unattended. `cli`: a user. */
export type SkillOrigin = "tool" | "review" | "curator" | "cli";

/** A skill in the catalog. */
export type Skill = {
  /** From the frontmatter, or the directory's name. */
  readonly name: string;
  /** Key of usage, provenance and history. */
  readonly directoryName: string;
  /** Null for a skill directly under its root. */
  readonly category: string | null;
  /** Path of its directory below the root, with `/`; of its file for a flat skill. */
  readonly relativePath: string;
  readonly root: string;
  readonly directory: string;
  /** SKILL.md, or the single file of a flat skill. */
  readonly file: string;
  /** Found in one of `skills.external_dirs`. */
  readonly isExternal: boolean;
  /** `<name>.md` without a directory: it can only be viewed. */
  readonly isFlat: boolean;
  readonly header: SkillHeader;
};

export type SkillHeader = {
  /** Empty: the frontmatter has none. */
  readonly name: string;
  /** On one line, at most 1,024 characters. */
  readonly description: string;
  /** `macos`, `linux`, `windows`; empty: all. */
  readonly platforms: readonly string[];
  /** `kanban`, `docker`, `s6`; empty: all. */
  readonly environments: readonly string[];
  readonly requiresTools: readonly string[];
  readonly requiresToolsets: readonly string[];
  /** The skill is hidden when one of these tools is available. */
  readonly fallbackForTools: readonly string[];
  readonly fallbackForToolsets: readonly string[];
};

type SkillErrorKind =
  | "bad_action"
  | "not_allowed"
  | "missing_arg"
  | "invalid"
  | "too_large"
  | "not_found"
  | "ambiguous"
  | "exists"
  | "no_match"
  | "blocked"
  | "protected"
  | "disabled"
  | "unsupported"
  | "conflict"
  | "locked"
  | "io";

/** Why a skill could not be read or changed. */
export type SkillError = {
  readonly kind: SkillErrorKind;
  readonly message: string;
  /** More fields for the tool's JSON: `matches`, `available_files`, `file_preview`, ... */
  readonly details?: Readonly<Record<string, unknown>>;
};

// Limits and file names.

export const MAX_NAME_CHARS = 64;
export const MAX_DESCRIPTION_CHARS = 1024;
/** Of a SKILL.md that is written, in code points. */
export const MAX_CONTENT_CHARS = 100_000;
/** Of any other file of a skill. */
export const MAX_FILE_BYTES = 1_048_576;
/** A skill with more files was probably filled by an unattended agent by mistake. */
export const MAX_SKILL_FILES = 50;

export const SKILL_FILE = "SKILL.md";
export const CATEGORY_FILE = "DESCRIPTION.md";

/** Directories of a skill for the files SKILL.md refers to. */
export const SUPPORT_DIRECTORIES = ["references", "templates", "scripts", "assets"] as const;

/** Never searched for skills. The last two are made by our history and by the curator. */
export const IGNORED_DIRECTORIES: ReadonlySet<string> = new Set([
  ".git",
  ".github",
  ".hub",
  ".archive",
  ".venv",
  "venv",
  "node_modules",
  "site-packages",
  "__pycache__",
  ".tox",
  ".nox",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  ".history",
  ".curator_backups",
]);

// Names of skills and categories. They are part of a path, so only plain characters are allowed. Pure.

const PLAIN = /^[a-z0-9][a-z0-9._-]*$/;
const RULE = "Use lower-case letters, digits, '.', '_' and '-', starting with a letter or digit.";

/** The reason why a new skill or category cannot have this name; undefined when it can. */
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

/** A name from outside, shortened and on one line, for messages. */
export function shownName(name: string): string {
  return preview(name.replace(/[\x00-\x1f\x7f-\x9f]+/g, " "), 80);
}
