// A skill as an agent or a person reads it: found, allowed, read once, filled in.
import { basename, extname } from "node:path";
import { describeCause, err, ok, type Result } from "../../lib/index.ts";
import { scanThreats } from "../../security/index.ts";
import { parseFilePath } from "../change/file-path.ts";
import { readSkillText, textOf, textsOf } from "../frontmatter/header.ts";
import { fieldOf, loadFrontmatterParser } from "../frontmatter/parse.ts";
import { SKILL_FILE } from "../limits.ts";
import type { SkillStore } from "../store.ts";
import type { Skill, SkillError } from "../types.ts";
import { linkedFiles, readSkillFile } from "./files.ts";
import { type Readiness, readinessOf } from "./readiness.ts";
import { fillTemplate } from "./template.ts";

export type SkillView = Readiness & {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly related_skills: readonly string[];
  readonly content: string;
  /** Of the file below its root. */
  readonly path: string;
  /** Null for a skill without a directory of its own. */
  readonly skill_dir: string | null;
  readonly linked_files: Readonly<Record<string, readonly string[]>> | null;
  readonly usage_hint: string | null;
  readonly compatibility?: string;
  readonly metadata?: unknown;
  /** The content matches these threat patterns; what it asks for is not to be done blindly. */
  readonly security_findings?: readonly string[];
};

export type SkillFileView = {
  readonly name: string;
  readonly file: string;
  readonly content: string;
  /** The ending, with its dot. */
  readonly file_type?: string;
  readonly is_binary?: true;
};

const NAMES_SHOWN = 20;

/** Finds one that may be used here. A missing one comes with what there is. */
export async function findUsable(store: SkillStore, asked: string): Promise<Result<Skill, SkillError>> {
  const found = await store.find(asked);
  if (!found.ok) {
    if (found.error.kind !== "not_found") return found;
    const names = (await store.visible()).skills.map(({ name }) => name).sort();
    const details = { available_skills: names.slice(0, NAMES_SHOWN), hint: "skills_list shows them all." };
    return err({ ...found.error, details });
  }
  const reason = store.hiddenReason(found.value);
  const { name } = found.value;
  if (reason === "disabled")
    return err({ kind: "disabled", message: `The skill '${name}' is switched off (skills.disabled).` });
  if (reason === "platform") {
    const message = `The skill '${name}' is made for ${found.value.header.platforms.join(", ")}, not for this system.`;
    return err({ kind: "unsupported", message, details: { readiness_status: "unsupported" } });
  }
  return found;
}

export async function viewSkill(
  store: SkillStore,
  skill: Skill,
  options: { readonly sessionId?: string | undefined } = {},
): Promise<Result<SkillView, SkillError>> {
  const file = basename(skill.file);
  const read = readSkillFile(skill.directory, file);
  if (!read.ok) return read;
  if (read.value.kind === "binary")
    return err({ kind: "invalid", message: `${skill.file} is not a UTF-8 text. Write it anew.` });
  const raw = read.value.text;
  const { fields } = readSkillText(raw, await loadFrontmatterParser());
  const hermes = fieldOf(fieldOf(fields, "metadata"), "hermes");
  const linked = skill.isFlat ? {} : linkedFiles(skill.directory);
  const first = Object.values(linked)[0]?.[0];
  const findings = scanThreats(raw, "context").map(({ id }) => id);
  const compatibility = textOf(fieldOf(fields, "compatibility"));
  const metadata = plainJson(fieldOf(fields, "metadata"));
  return ok({
    name: skill.name,
    description: skill.header.description,
    tags: textsOf(fieldOf(hermes, "tags") ?? fieldOf(fields, "tags")),
    related_skills: textsOf(fieldOf(hermes, "related_skills") ?? fieldOf(fields, "related_skills")),
    content: store.templateVars
      ? fillTemplate(raw, { skillDirectory: skill.directory, sessionId: options.sessionId })
      : raw,
    path: skill.isFlat ? `${skill.relativePath}.md` : `${skill.relativePath}/${SKILL_FILE}`,
    skill_dir: skill.isFlat ? null : skill.directory,
    linked_files: first === undefined ? null : linked,
    usage_hint:
      first === undefined
        ? null
        : `Load a linked file with skill_view, the same name and a file_path such as '${first}'.`,
    ...readinessOf(store, fields),
    ...(compatibility === "" ? {} : { compatibility }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(findings.length === 0 ? {} : { security_findings: findings }),
  });
}

export function viewSkillFile(skill: Skill, asked: string): Result<SkillFileView, SkillError> {
  const file = parseFilePath(asked);
  if (!file.ok) return file;
  if (skill.isFlat) return err({ kind: "not_found", message: `The skill '${skill.name}' is a single file.` });
  const read = readSkillFile(skill.directory, file.value);
  if (!read.ok) return read;
  const shared = { name: skill.name, file: file.value };
  if (read.value.kind === "text")
    return ok({ ...shared, content: read.value.text, file_type: extname(file.value) });
  const content = `[Binary file: ${basename(file.value)}, ${read.value.bytes} bytes]`;
  return ok({ ...shared, content, is_binary: true });
}

/** YAML can hold what JSON cannot, such as a list that contains itself. */
function plainJson(value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (cause) {
    return `not shown: ${describeCause(cause).split("\n")[0] ?? ""}`;
  }
}
