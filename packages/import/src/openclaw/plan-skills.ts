// Plans the skills: those of the workspace, of the state folder, of the user and of projects go to skills/openclaw-imports.
import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isDirectory } from "@hermes-memory/core/internal/lib";
import { nameProblem, skillsDirectory } from "@hermes-memory/core/internal/skills";
import {
  archivedCopy,
  archiveItem,
  findFolder,
  findingsIn,
  itemOf,
  type PlanContext,
  type PlannedItem,
} from "./plan-context.ts";
import { realpathOf, type SourceFile, SourceFiles } from "./source-files.ts";

const CATEGORY = "openclaw-imports";
const CATEGORY_TEXT = "Skills that came from an OpenClaw workspace.\n";
const SKILL_FILE = "SKILL.md";
/** Folders that a tool can make again; they may hold thousands of files. */
const LEFT_OUT = /(?:^|\/)(?:\.git|node_modules|__pycache__|\.venv)(?:\/|$)|\.pyc$/;

/** A folder of skills. `bound`: nothing outside it is read. */
type SkillFolder = { readonly kind: string; readonly path: string; readonly bound: string };

export function planWorkspaceSkills(context: PlanContext): PlannedItem[] {
  const found = findFolder(context, "skills");
  if (found === undefined)
    return [{ item: itemOf("skills", "skipped", "No OpenClaw skills directory found") }];
  const folders = [{ kind: "skill", path: found.path, bound: found.workspace.path }];
  return planFolders(context, "skills", folders);
}

export function planSharedSkills(context: PlanContext): PlannedItem[] {
  const { source, deps } = context;
  const agents = join(deps.userHome, ".agents", "skills");
  const folders: SkillFolder[] = [
    { kind: "shared-skills", path: join(source.root, "skills"), bound: source.root },
    { kind: "personal-skills", path: agents, bound: agents },
    ...["workspace", "workspace.default"].map((name) => ({
      kind: "project-skills",
      path: join(source.root, name, ".agents", "skills"),
      bound: join(source.root, name),
    })),
  ];
  const present = folders.filter(({ path }) => isDirectory(path));
  const none = "No shared OpenClaw skills directories found";
  if (present.length === 0) return [{ item: itemOf("shared-skills", "skipped", none) }];
  return planFolders(context, "shared-skills", present);
}

function planFolders(context: PlanContext, option: string, folders: readonly SkillFolder[]): PlannedItem[] {
  const planned = folders.flatMap((folder) => planFolder(context, folder));
  if (planned.length === 0)
    return [
      { item: itemOf(option, "skipped", "No skills with SKILL.md found", { source: folders[0]?.path }) },
    ];
  const isCopying = planned.some(({ operation }) => operation?.action === "copy-skill");
  return isCopying ? [...planCategory(context, option), ...planned] : planned;
}

/** `DESCRIPTION.md` of the folder that receives the skills. */
function planCategory({ request, plannedSkills }: PlanContext, option: string): PlannedItem[] {
  const path = join(skillsDirectory(request.home), CATEGORY, "DESCRIPTION.md");
  if (existsSync(path) || plannedSkills.has(path)) return [];
  plannedSkills.set(path, []);
  const kind = option === "skills" ? "skill-category" : "shared-skill-category";
  const operation = { action: "write-file" as const, path, text: CATEGORY_TEXT };
  return [{ item: itemOf(kind, "migrated", "Would create", { destination: path }), operation }];
}

function planFolder(context: PlanContext, folder: SkillFolder): PlannedItem[] {
  const files = filesFor(context, folder);
  const names = files.foldersIn(folder.path, folder.bound);
  return names.flatMap((name) => {
    const path = join(folder.path, name);
    return existsSync(join(path, SKILL_FILE)) ? [planSkill(context, folder, path)] : [];
  });
}

/** `~/.agents` lies outside the OpenClaw folder and has its own bounds. */
function filesFor({ source }: PlanContext, { kind, path }: SkillFolder): SourceFiles {
  return kind === "personal-skills" ? new SourceFiles(path) : source.files;
}

function planSkill(context: PlanContext, folder: SkillFolder, path: string): PlannedItem {
  const { request } = context;
  const { kind, bound } = folder;
  const source = filesFor(context, folder);
  const { files, leftOut } = source.tree(path, bound, (name) => !LEFT_OUT.test(name));
  if (!files.some(({ name }) => name === SKILL_FILE)) {
    const reason = "It is a link out of its folder, which is not followed";
    return { item: itemOf(kind, "skipped", reason, { source: path }) };
  }
  const skillBound = realpathOf(path) ?? path;
  for (const { path: file, name } of files) {
    const read = source.read(file, skillBound);
    if (!read.ok) return { item: itemOf(kind, "error", `${name}: ${read.error}`, { source: path }) };
  }
  const details = leftOut.length === 0 ? {} : { links_not_followed: leftOut.slice(0, 20) };
  const findings = files.flatMap((file) => findingsOf(context, source, file, skillBound));
  if (findings.length > 0)
    return quarantined(context, folder, { path, files, findings: [...new Set(findings)] });
  const name = skillName(basename(path));
  if (name === undefined) return quarantined(context, folder, { path, files, findings: ["unusable_name"] });
  const wanted = join(skillsDirectory(request.home), CATEGORY, name);
  const isSame = (destination: string): boolean =>
    isSameSkill(context, source, files, skillBound, destination);
  const isTaken = (destination: string): boolean =>
    existsSync(destination) || context.plannedSkills.has(destination);
  const present = (destination: string): PlannedItem => {
    context.plannedSkills.set(destination, files); // no other skill of this name may replace it
    return { item: itemOf(kind, "skipped", "Target already matches source", { ...where, destination }) };
  };
  const copy = (to: string, more: object = {}): PlannedItem => {
    context.plannedSkills.set(to, files);
    return {
      item: itemOf(kind, "migrated", "Would copy", {
        source: path,
        destination: to,
        details: { ...details, ...more, files: files.length },
      }),
      operation: { action: "copy-skill", to, files, bound: skillBound },
    };
  };
  const cleaned = name === basename(path) ? {} : { renamed_from: basename(path) };
  const where = { source: path, destination: wanted, details };
  if (!isTaken(wanted)) return copy(wanted, cleaned);
  if (isSame(wanted)) return present(wanted);
  if (request.skillConflict === "skip")
    return { item: itemOf(kind, "conflict", "Destination skill already exists", where) };
  if (request.skillConflict === "overwrite" && !context.plannedSkills.has(wanted))
    return copy(wanted, cleaned);
  for (let count = 1; ; count += 1) {
    const renamed = `${wanted}-imported${count === 1 ? "" : `-${count}`}`;
    if (isSame(renamed)) return present(renamed);
    if (!isTaken(renamed)) return copy(renamed, { renamed_from: basename(path) });
  }
}

function findingsOf(context: PlanContext, source: SourceFiles, file: SourceFile, bound: string): string[] {
  const rules = { redactor: context.redactor, allowSecrets: context.deps.config.skills.allowSecrets };
  const named = findingsIn(file.name, "strict", rules);
  const bytes = source.read(file.path, bound);
  if (!bytes.ok || bytes.value === undefined || !isUtf8(bytes.value)) return named;
  return [...named, ...findingsIn(bytes.value.toString("utf8"), "strict", rules)];
}

function quarantined(
  context: PlanContext,
  { kind, path: folder }: SkillFolder,
  skill: {
    readonly path: string;
    readonly files: readonly SourceFile[];
    readonly findings: readonly string[];
  },
): PlannedItem {
  const name = `skills-for-review/${basename(folder)}/${basename(skill.path)}`;
  const bound = realpathOf(skill.path) ?? skill.path;
  const files = skill.files.map((file) => archivedCopy(context, file, bound, `${name}/${file.name}`));
  const reason = `The safety scan found ${skill.findings.join(", ")}; it is kept for review`;
  return archiveItem(
    context,
    kind,
    { source: skill.path, name, files },
    { reason, details: { findings: skill.findings } },
  );
}

/** The folder's name where skills can have it, else a similar one; undefined when nothing is left of it. */
function skillName(name: string): string | undefined {
  if (nameProblem("skill", name) === undefined) return name;
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "")
    .slice(0, 60);
  return nameProblem("skill", plain) === undefined ? plain : undefined;
}

/** Compares with the skill on disk, or with the one that is planned for this place. */
function isSameSkill(
  { plannedSkills }: PlanContext,
  source: SourceFiles,
  files: readonly SourceFile[],
  bound: string,
  destination: string,
): boolean {
  const planned = plannedSkills.get(destination);
  const present = planned ?? new SourceFiles(destination).tree(destination, destination).files;
  if (present.length !== files.length) return false;
  return files.every(({ path, name }) => {
    const other = present.find((file) => file.name === name);
    const bytes = source.read(path, bound);
    try {
      return (
        other !== undefined &&
        bytes.ok &&
        bytes.value !== undefined &&
        readFileSync(other.path).equals(bytes.value)
      );
    } catch {
      return false; // it cannot be read, so it counts as different
    }
  });
}
