// What a skill is to the rest of the program, who changes it, and what can go wrong.
import type { SkillHeader } from "./frontmatter/header.ts";

export const SKILL_ACTIONS = ["create", "patch", "edit", "delete", "write_file", "remove_file"] as const;
export type SkillAction = (typeof SKILL_ACTIONS)[number];

/** `tool`: the agent in a conversation. `review` and `curator` write unattended. `cli`: a person. */
export type SkillOrigin = "tool" | "review" | "curator" | "cli";

export type Skill = {
  /** From the frontmatter, or the directory's name. */
  readonly name: string;
  /** Key of usage, provenance and history. */
  readonly directoryName: string;
  /** Null for a skill directly under its root. */
  readonly category: string | null;
  /** Of its directory below the root, with `/`; for a flat skill of its file. */
  readonly relativePath: string;
  readonly root: string;
  readonly directory: string;
  /** SKILL.md, or the one file of a flat skill. */
  readonly file: string;
  /** Found in one of `skills.external_dirs`. */
  readonly isExternal: boolean;
  /** `<name>.md` without a directory of its own: can be viewed, and nothing else. */
  readonly isFlat: boolean;
  readonly header: SkillHeader;
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

export type SkillError = {
  readonly kind: SkillErrorKind;
  readonly message: string;
  /** More fields for the tool's JSON: `matches`, `available_files`, `file_preview`, ... */
  readonly details?: Readonly<Record<string, unknown>>;
};
