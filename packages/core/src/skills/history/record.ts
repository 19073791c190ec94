// One line of the history of skills: what changed, from which content to which, or from where to where.
import { fieldOf } from "../frontmatter/parse.ts";
import type { SkillUsage } from "../usage.ts";

export type SkillChange = {
  readonly id: string;
  readonly time: string;
  /** One of `skill_manage`, or `archive`, `restore`, `undo`. */
  readonly action: string;
  /** The skill's directory name. */
  readonly skill: string;
  /** Its directory below the root. */
  readonly path: string;
  /** Only for a skill outside of the home. */
  readonly root?: string;
  /** Below the skill's directory; null when the whole skill moved. */
  readonly file: string | null;
  /** SHA-256 of the file; null: there was none. The content before is kept under its hash. */
  readonly before: string | null;
  readonly after: string | null;
  /** Below the skills directory. */
  readonly moved?: { readonly from: string; readonly to: string };
  readonly origin: string;
  readonly session?: string;
  readonly undoes?: string;
  readonly absorbed_into?: string;
  /** The staged change this one came from. */
  readonly approval?: string;
  /** Of a deleted skill, to be given back. */
  readonly usage?: SkillUsage;
};

/** Undefined for a line that nobody can act on. */
export function toChange(value: unknown): SkillChange | undefined {
  const text = (name: string): string | undefined => {
    const field = fieldOf(value, name);
    return typeof field === "string" ? field : undefined;
  };
  const hash = (name: string): string | null => {
    const field = text(name);
    return field !== undefined && /^[0-9a-f]{64}$/.test(field) ? field : null;
  };
  const id = text("id");
  const skill = text("skill");
  const path = text("path");
  if (id === undefined || skill === undefined || path === undefined || !/^[0-9a-f]{8}$/.test(id))
    return undefined;
  const moved = fieldOf(value, "moved");
  const from = fieldOf(moved, "from");
  const to = fieldOf(moved, "to");
  return {
    id,
    time: text("time") ?? "",
    action: text("action") ?? "",
    skill,
    path,
    file: text("file") ?? null,
    before: hash("before"),
    after: hash("after"),
    origin: text("origin") ?? "",
    ...optional("root", text("root")),
    ...(typeof from === "string" && typeof to === "string" ? { moved: { from, to } } : {}),
    ...optional("session", text("session")),
    ...optional("undoes", text("undoes")),
    ...optional("absorbed_into", text("absorbed_into")),
    ...optional("approval", text("approval")),
    ...optional("usage", fieldOf(value, "usage") as SkillUsage | undefined),
  };
}

export function optional<K extends string, V>(name: K, value: V | undefined): { [Key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in K]?: V });
}
