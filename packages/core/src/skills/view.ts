// A skill as an agent or a user reads it: found, allowed, read, template variables filled in, requirements checked.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { basename, delimiter, extname, join } from "node:path";
import { envFilePath, readEnvFile } from "../config/index.ts";
import { describeCause, err, ok, type Result } from "../lib/index.ts";
import { scanThreats } from "../security/index.ts";
import {
  type Fields,
  fieldOf,
  loadFrontmatterParser,
  readSkillText,
  textOf,
  textsOf,
} from "./frontmatter.ts";
import { pathWithin } from "./paths.ts";
import { SKILL_FILE, type Skill, type SkillError } from "./skill.ts";
import { linkedFiles, parseFilePath, readSkillFile } from "./skill-files.ts";
import type { SkillStore } from "./store.ts";

type SkillView = Readiness & {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly related_skills: readonly string[];
  readonly content: string;
  /** Path of the file below its root. */
  readonly path: string;
  /** Null for a flat skill. */
  readonly skill_dir: string | null;
  readonly linked_files: Readonly<Record<string, readonly string[]>> | null;
  readonly usage_hint: string | null;
  readonly compatibility?: string;
  readonly metadata?: unknown;
  /** Threat patterns in the content; the agent should not follow it blindly. */
  readonly security_findings?: readonly string[];
};

type SkillFileView = {
  readonly name: string;
  readonly file: string;
  readonly content: string;
  /** File extension with its dot. */
  readonly file_type?: string;
  readonly is_binary?: true;
};

const NAMES_SHOWN = 20;

/** Finds a skill that may be used here. The error for a missing one lists available skills. */
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
  return ok({
    name: skill.name,
    description: skill.header.description,
    tags: textsOf(fieldOf(hermes, "tags") ?? fieldOf(fields, "tags")),
    related_skills: textsOf(fieldOf(hermes, "related_skills") ?? fieldOf(fields, "related_skills")),
    content: store.templateVars ? fillTemplate(raw, skill.directory, options.sessionId) : raw,
    path: skill.isFlat ? `${skill.relativePath}.md` : `${skill.relativePath}/${SKILL_FILE}`,
    skill_dir: skill.isFlat ? null : skill.directory,
    linked_files: first === undefined ? null : linked,
    usage_hint:
      first === undefined
        ? null
        : `Load a linked file with skill_view, the same name and a file_path such as '${first}'.`,
    ...readinessOf(store, fields),
    compatibility: textOf(fieldOf(fields, "compatibility")) || undefined,
    metadata: plainJson(fieldOf(fields, "metadata")),
    security_findings: findings.length === 0 ? undefined : findings,
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

/** YAML can hold values JSON cannot, such as a list that contains itself. */
function plainJson(value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  try {
    return JSON.parse(JSON.stringify(value));
  } catch (cause) {
    return `not shown: ${describeCause(cause).split("\n")[0] ?? ""}`;
  }
}

/** Unknown variables, and those without a value, stay as written. Commands in a skill are never run. */
function fillTemplate(text: string, skillDirectory: string, sessionId: string | undefined): string {
  return text.replace(/\$\{(HERMES_SKILL_DIR|HERMES_SESSION_ID)\}/g, (whole, name: string) =>
    name === "HERMES_SKILL_DIR" ? skillDirectory : (sessionId ?? whole),
  );
}

// Requirements of a skill, and which of them this machine does not meet.

type NeededVariable = { readonly name: string; readonly prompt?: string; readonly help?: string };

type Readiness = {
  readonly required_environment_variables: readonly NeededVariable[];
  readonly required_commands: readonly string[];
  readonly missing_required_environment_variables: readonly string[];
  readonly missing_credential_files: readonly string[];
  readonly missing_required_commands: readonly string[];
  readonly setup_needed: boolean;
  /** Nothing here asks the user for values, so nothing is skipped. */
  readonly setup_skipped: false;
  readonly readiness_status: "available" | "setup_needed";
  readonly setup_note?: string;
};

function readinessOf(store: SkillStore, fields: Fields): Readiness {
  const variables = neededVariables(fields);
  const commands = textsOf(fieldOf(fieldOf(fields, "prerequisites"), "commands"));
  const credentials = listOf(fieldOf(fields, "required_credential_files")).map(
    (value) => textOf(fieldOf(value, "path")) || textOf(value),
  );
  const own = readEnvFile(envFilePath(store.home));
  const isSet = (name: string): boolean => Boolean(store.env[name] || (own.ok && own.value.values.get(name)));
  const missingVariables = variables.map(({ name }) => name).filter((name) => !isSet(name));
  const missingFiles = credentials.filter((path) => path !== "" && !isInHome(store.home, path));
  const missingCommands = commands.filter((command) => !isCommand(command, store.env.PATH ?? ""));
  const lacking = [...missingVariables, ...missingFiles, ...missingCommands];
  return {
    required_environment_variables: variables,
    required_commands: commands,
    missing_required_environment_variables: missingVariables,
    missing_credential_files: missingFiles,
    missing_required_commands: missingCommands,
    setup_needed: lacking.length > 0,
    setup_skipped: false,
    readiness_status: lacking.length > 0 ? "setup_needed" : "available",
    setup_note: lacking.length > 0 ? `Not set up yet: ${lacking.join(", ")}.` : undefined,
  };
}

/** `required_environment_variables`, and `prerequisites.env_vars` of older skills. */
function neededVariables(fields: Fields): NeededVariable[] {
  const listed = listOf(fieldOf(fields, "required_environment_variables")).map((each): NeededVariable => {
    const text = (field: string): string => textOf(fieldOf(each, field));
    return {
      name: text("name") || textOf(each),
      prompt: text("prompt") || undefined,
      help: text("help") || undefined,
    };
  });
  const older = textsOf(fieldOf(fieldOf(fields, "prerequisites"), "env_vars")).map((name) => ({ name }));
  return [...listed, ...older].filter(
    ({ name }, index, all) =>
      /^[A-Za-z_]\w*$/.test(name) && all.findIndex((other) => other.name === name) === index,
  );
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** A file outside of the home counts as missing. */
function isInHome(home: string, path: string): boolean {
  const full = join(home, path);
  return pathWithin(home, full) !== undefined && existsSync(full);
}

function isCommand(name: string, searchPath: string): boolean {
  if (!/^[\w.+-]+$/.test(name)) return false;
  const endings = process.platform === "win32" ? [".exe", ".cmd", ".bat", ""] : [""];
  return searchPath
    .split(delimiter)
    .some((directory) =>
      endings.some((ending) => directory !== "" && isExecutable(join(directory, name + ending))),
    );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
