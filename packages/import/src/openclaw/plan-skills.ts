// Plans the skills: those of the workspace, of the state folder, of the user and of projects go to skills/openclaw-imports.
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { err, isDirectory, ok, type Result } from "@hermes-memory/core/internal/lib";
import { nameProblem, skillsDirectory } from "@hermes-memory/core/internal/skills";
import {
  archivedCopy,
  archiveItem,
  findFolder,
  findingsIn,
  forReview,
  type PlanContext,
  type PlannedItem,
  planned,
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
  if (found === undefined) return [planned("skills", "skipped", "No OpenClaw skills directory found")];
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
  if (present.length === 0) return [planned("shared-skills", "skipped", none)];
  return planFolders(context, "shared-skills", present);
}

function planFolders(context: PlanContext, option: string, folders: readonly SkillFolder[]): PlannedItem[] {
  const skills = folders.flatMap((folder) => planFolder(context, folder));
  if (skills.length === 0)
    return [planned(option, "skipped", "No skills with SKILL.md found", { source: folders[0]?.path })];
  const isCopying = skills.some(({ operation }) => operation?.action === "copy-skill");
  return isCopying ? [...planCategory(context, option), ...skills] : skills;
}

/** `DESCRIPTION.md` of the folder that receives the skills. */
function planCategory({ request, plannedSkills }: PlanContext, option: string): PlannedItem[] {
  const path = join(skillsDirectory(request.home), CATEGORY, "DESCRIPTION.md");
  if (existsSync(path) || plannedSkills.has(path)) return [];
  plannedSkills.set(path, "");
  const kind = option === "skills" ? "skill-category" : "shared-skill-category";
  const operation = { action: "write-file" as const, path, text: CATEGORY_TEXT };
  return [planned(kind, "migrated", "Would create", { destination: path, operation })];
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
  const { request, plannedSkills } = context;
  const { kind } = folder;
  const source = filesFor(context, folder);
  const bound = realpathOf(path) ?? path;
  const { files, leftOut } = source.tree(path, folder.bound, (name) => !LEFT_OUT.test(name));
  if (!files.some(({ name }) => name === SKILL_FILE)) {
    const reason = "It is a link out of its folder, which is not followed";
    return planned(kind, "skipped", reason, { source: path });
  }
  const read = readAll(source, files, bound);
  if (!read.ok) return planned(kind, "error", read.error, { source: path });
  const name = skillName(basename(path));
  const found = name === undefined ? ["unusable_name"] : findingsOf(context, read.value);
  if (name === undefined || found.length > 0) {
    const place = `skills-for-review/${basename(folder.path)}/${basename(path)}`;
    const copies = files.map((file) => archivedCopy(context, file, bound, `${place}/${file.name}`));
    const about = { reason: forReview(found), details: { findings: found } };
    return archiveItem(context, kind, { source: path, name: place, files: copies, ...about });
  }
  const wanted = join(skillsDirectory(request.home), CATEGORY, name);
  const details = leftOut.length === 0 ? {} : { links_not_followed: leftOut.slice(0, 20) };
  const where = { source: path, destination: wanted, details };
  const digest = digestOf(read.value);
  const isSame = (destination: string): boolean => digestAt(context, destination) === digest;
  const isTaken = (destination: string): boolean => existsSync(destination) || plannedSkills.has(destination);
  const present = (destination: string): PlannedItem => {
    plannedSkills.set(destination, digest); // no other skill of this name may replace it
    return planned(kind, "skipped", "Target already matches source", { ...where, destination });
  };
  const copy = (to: string): PlannedItem => {
    plannedSkills.set(to, digest);
    const renamed = basename(to) === basename(path) ? {} : { renamed_from: basename(path) };
    return planned(kind, "migrated", "Would copy", {
      source: path,
      destination: to,
      details: { ...details, ...renamed, files: files.length },
      operation: { action: "copy-skill", to, files, bound },
    });
  };
  if (!isTaken(wanted)) return copy(wanted);
  if (isSame(wanted)) return present(wanted);
  if (request.skillConflict === "skip")
    return planned(kind, "conflict", "Destination skill already exists", where);
  if (request.skillConflict === "overwrite" && !plannedSkills.has(wanted)) return copy(wanted);
  for (let count = 1; ; count += 1) {
    const renamed = `${wanted}-imported${count === 1 ? "" : `-${count}`}`;
    if (isSame(renamed)) return present(renamed);
    if (!isTaken(renamed)) return copy(renamed);
  }
}

type FileBytes = { readonly name: string; readonly bytes: Buffer };

function readAll(
  source: SourceFiles,
  files: readonly SourceFile[],
  bound: string,
): Result<readonly FileBytes[], string> {
  const all: FileBytes[] = [];
  for (const { path, name } of files) {
    const read = source.read(path, bound);
    if (!read.ok || read.value === undefined) return err(`${name}: ${read.ok ? "It is gone" : read.error}`);
    all.push({ name, bytes: read.value });
  }
  return ok(all);
}

function findingsOf({ redactor, deps }: PlanContext, files: readonly FileBytes[]): string[] {
  const rules = { redactor, allowSecrets: deps.config.skills.allowSecrets };
  const texts = files.flatMap(({ name, bytes }) => (isUtf8(bytes) ? [name, bytes.toString("utf8")] : [name]));
  return [...new Set(texts.flatMap((text) => findingsIn(text, "strict", rules)))];
}

/** The same for skills with the same files. */
function digestOf(files: readonly FileBytes[]): string {
  const hash = createHash("sha256");
  for (const { name, bytes } of files) hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  return hash.digest("hex");
}

/** Of the skill that is planned for this place, else of the one on disk. */
function digestAt({ plannedSkills }: PlanContext, destination: string): string | undefined {
  const source = new SourceFiles(destination);
  const read = readAll(source, source.tree(destination, destination).files, destination);
  return plannedSkills.get(destination) ?? (read.ok ? digestOf(read.value) : undefined);
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
