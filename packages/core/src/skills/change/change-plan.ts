// Decides what a call would do and checks it completely: rights, text, scan. Changes nothing. Runs under the lock, so it is
// synchronous.
import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { err, ok, type Result, takeCodePoints } from "../../lib/index.ts";
import type { CatalogContents } from "../catalog.ts";
import { checkSkillText, type FrontmatterParser } from "../frontmatter.ts";
import { hashOf } from "../history.ts";
import { pathWithin } from "../paths.ts";
import { provenanceOf, readOrigins, refusalOf } from "../provenance.ts";
import { screenProblem } from "../scan.ts";
import {
  MAX_FILE_BYTES,
  MAX_SKILL_FILES,
  SKILL_FILE,
  type Skill,
  type SkillAction,
  type SkillError,
  type SkillOrigin,
  shownName,
} from "../skill.ts";
import {
  allLinkedFiles,
  exists,
  isReallyAt,
  missingFile,
  placeInSkill,
  readIfThere,
} from "../skill-files.ts";
import { findIn, type SkillStore } from "../store.ts";
import { readUsage, usageProblem } from "../usage.ts";
import { patchText } from "./patch-text.ts";
import { type Conditions, expectedPath, fileProblem, type SkillCall } from "./skill-call.ts";

// The plan as data: shown as a diff, staged, or carried out.

/** Where a skill is, or will be. */
export type SkillLocation = Pick<
  Skill,
  "directoryName" | "relativePath" | "root" | "directory" | "isExternal"
>;

/** Fields of the answer once it is done. */
export type Reply = Readonly<Record<string, unknown>>;

/** As in the history. */
type ChangeAction = SkillAction | "archive" | "restore";

type Shared = { readonly action: ChangeAction; readonly place: SkillLocation; readonly reply: Reply };

type OneFile = { readonly file: string; readonly path: string };

export type Plan =
  | (Shared &
      OneFile & {
        readonly kind: "write";
        /** Undefined: the file is new. */
        readonly before: Uint8Array | undefined;
        readonly after: string;
      })
  | (Shared & OneFile & { readonly kind: "remove"; readonly before: Uint8Array })
  | (Shared & {
      readonly kind: "delete";
      /** Archived skills stay listed as archived; deleted ones can only be restored from the history. */
      readonly destination: "archive" | "deleted";
      readonly absorbedInto?: string;
    });

type Planned = Result<Plan, SkillError>;

type CallOf<Action extends SkillAction> = Extract<SkillCall, { action: Action }>;

/** The input of a plan: the state of the disk while the lock is held. */
type PlanContext = {
  readonly store: SkillStore;
  readonly contents: CatalogContents;
  readonly parse: FrontmatterParser;
  readonly origin: SkillOrigin;
};

export function planCall(call: SkillCall, context: PlanContext): Planned {
  if (call.action === "create") return unlessBroken(planCreate(call, context), call, undefined, context);
  const found = findIn(context.contents, call.name);
  if (!found.ok) return found;
  const skill = found.value;
  const refusal = rightsProblem(call.action, skill, context);
  if (refusal) return err(refusal);
  return unlessBroken(planExisting(call, skill, context), call, skill, context);
}

/** Checked after the plan has read its file: a later change of that file is noticed when it is replaced. */
function unlessBroken(
  plan: Planned,
  call: SkillCall,
  skill: Skill | undefined,
  context: PlanContext,
): Planned {
  const broken = plan.ok ? brokenCondition(call, skill, context) : undefined;
  return broken ? err(broken) : plan;
}

function planExisting(
  call: Exclude<SkillCall, { action: "create" }>,
  skill: Skill,
  context: PlanContext,
): Planned {
  switch (call.action) {
    case "edit":
      return planEdit(call, skill, context);
    case "patch":
      return planPatch(call, skill, context);
    case "write_file":
      return planWriteFile(call, skill, context);
    case "remove_file":
      return planRemoveFile(call, skill);
    case "delete":
      return planDelete(call, skill, context);
    default:
      return call satisfies never;
  }
}

function rightsProblem(
  action: SkillAction,
  skill: Skill,
  { store, origin }: PlanContext,
): SkillError | undefined {
  if (skill.isFlat) {
    const message = `'${skill.name}' is a single file without a directory of its own. Create a skill to replace it.`;
    return { kind: "protected", message };
  }
  const takesAway = action === "delete" || action === "remove_file";
  const problem = takesAway && origin !== "cli" ? usageProblem(store) : undefined;
  if (problem !== undefined)
    return { kind: "protected", message: `${problem} '${skill.name}' may be pinned and was left alone.` };
  const origins = readOrigins(store);
  return refusalOf(action, origin, {
    name: skill.name,
    provenance: provenanceOf(skill, origins),
    isProvenanceKnown: origins.isReliable,
    isPinned: readUsage(store).get(skill.directoryName)?.pinned ?? false,
  });
}

// Creating a skill. Its name must not be taken in any root, and it must not be inside of another skill.

function planCreate(call: CallOf<"create">, context: PlanContext): Planned {
  const { store, contents, parse } = context;
  const { name, content, category } = call;
  const relativePath = category === undefined ? name : `${category}/${name}`;
  const directory = join(store.directory, relativePath);
  // Names are lower case, but a directory made by hand need not be, and some file systems ignore case.
  const taken = contents.skills.find(
    (skill) => skill.directoryName.toLowerCase() === name || skill.name.toLowerCase() === name,
  );
  if (taken) {
    const message = `A skill '${name}' exists already, in ${taken.directory}. Use 'patch' or 'edit', or another name.`;
    return err({ kind: "exists", message });
  }
  const inWay = obstacle(store.directory, directory, category);
  if (inWay) return err(inWay);
  const checked = checkSkillText(content, { directoryName: name }, parse);
  if (!checked.ok) return checked;
  const blocked = screenProblem(content, context);
  if (blocked) return err(blocked);
  const path = join(directory, SKILL_FILE);
  return ok({
    kind: "write",
    action: "create",
    place: { directoryName: name, relativePath, root: store.directory, directory, isExternal: false },
    file: SKILL_FILE,
    path,
    before: undefined,
    after: content,
    reply: {
      message: `Skill '${name}' created.`,
      path: relativePath,
      skill_md: path,
      _change: { description: checked.value.description },
      category,
      hint: "Add files with action 'write_file' and a file_path under references/, templates/, scripts/ or assets/.",
    },
  });
}

function obstacle(root: string, directory: string, category: string | undefined): SkillError | undefined {
  if (category !== undefined) {
    const folder = join(root, category);
    if (exists(join(folder, SKILL_FILE))) {
      const message = `'${category}' is a skill, and skills cannot be nested. Choose another category.`;
      return { kind: "invalid", message };
    }
    if (exists(folder) && !isWithinRoot(root, folder)) {
      const message = `The category '${category}' leads out of the skills directory. Choose another.`;
      return { kind: "invalid", message };
    }
  }
  if (!exists(directory) || isAbandoned(directory)) return undefined;
  return { kind: "exists", message: `${directory} exists already. Choose another name.` };
}

/** True for the leftovers of a writer that was killed before its first file was in place. */
function isAbandoned(directory: string): boolean {
  if (!lstatSync(directory).isDirectory()) return false;
  return readdirSync(directory).every((name) => name.startsWith(`.${SKILL_FILE}.tmp.`));
}

function isWithinRoot(root: string, folder: string): boolean {
  return pathWithin(realpathSync(root), realpathSync(folder)) !== undefined;
}

// Rewriting SKILL.md, and patching any file of a skill.

const CHANGE_CHARS = 200;

function planEdit(call: CallOf<"edit">, skill: Skill, context: PlanContext): Planned {
  const target = fileToWrite(skill, SKILL_FILE);
  if (!target.ok) return target;
  const draft = {
    action: "edit",
    place: skill,
    file: SKILL_FILE,
    ...target.value,
    after: call.content,
  } as const;
  return planWrite(draft, skill, context, (description) => ({
    message: `Skill '${skill.name}' updated (full rewrite).`,
    path: target.value.path,
    _change: { description },
  }));
}

function planPatch(call: CallOf<"patch">, skill: Skill, context: PlanContext): Planned {
  const { file, oldText, newText, replaceAll } = call;
  const target = fileToWrite(skill, file);
  if (!target.ok) return target;
  const { before } = target.value;
  if (before === undefined) return err(missingFile(skill.directory, file));
  const text = asText(before);
  if (text === undefined)
    return err({ kind: "invalid", message: `'${file}' is not a UTF-8 text and cannot be patched.` });
  const patched = patchText(text, { file, oldText, newText, replaceAll });
  if (!patched.ok) return patched;
  const { text: after, count } = patched.value;
  const draft = { action: "patch", place: skill, file, ...target.value, after } as const;
  return planWrite(draft, skill, context, () => ({
    message: `Patched ${file} in skill '${skill.name}' (${count} replacement${count === 1 ? "" : "s"}).`,
    path: target.value.path,
    _change: { old: takeCodePoints(oldText, CHANGE_CHARS), new: takeCodePoints(newText, CHANGE_CHARS) },
  }));
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

// Writing and removing other files.

function planWriteFile(call: CallOf<"write_file">, skill: Skill, context: PlanContext): Planned {
  const { file, content } = call;
  const target = fileToWrite(skill, file);
  if (!target.ok) return target;
  if (target.value.before === undefined && allLinkedFiles(skill.directory).length >= MAX_SKILL_FILES) {
    const message = `The skill '${skill.name}' has ${MAX_SKILL_FILES} files already. Merge some of them first.`;
    return err({ kind: "too_large", message });
  }
  const draft = { action: "write_file", place: skill, file, ...target.value, after: content } as const;
  return planWrite(draft, skill, context, () => ({
    message: `File '${file}' written to skill '${skill.name}'.`,
    path: target.value.path,
  }));
}

function planRemoveFile(call: CallOf<"remove_file">, skill: Skill): Planned {
  const { file } = call;
  const target = fileToWrite(skill, file);
  if (!target.ok) return target;
  const { path, before } = target.value;
  if (before === undefined) return err(missingFile(skill.directory, file));
  return ok({
    kind: "remove",
    action: "remove_file",
    place: skill,
    file,
    path,
    before,
    reply: { message: `File '${file}' removed from skill '${skill.name}'.`, path },
  });
}

// Removing a whole skill. Unattended writers archive it; for others the history keeps it.

function planDelete(call: CallOf<"delete">, skill: Skill, { store, contents, origin }: PlanContext): Planned {
  const { absorbedInto } = call;
  const inWay = cannotMove(skill, store, contents);
  if (inWay) return err(inWay);
  if (absorbedInto) {
    const other = findIn(contents, absorbedInto);
    const shown = shownName(absorbedInto);
    if (!other.ok) {
      const message = `absorbed_into names '${shown}', which is no skill. Create it first, or leave the argument out.`;
      return err({ kind: "invalid", message });
    }
    if (other.value.directory === skill.directory)
      return err({ kind: "invalid", message: `A skill cannot be absorbed into itself ('${shown}').` });
  }
  const isArchived = origin === "review" || origin === "curator";
  const where = absorbedInto ? ` Its content was absorbed into '${shownName(absorbedInto)}'.` : "";
  return ok({
    kind: "delete",
    action: "delete",
    place: skill,
    destination: isArchived ? "archive" : "deleted",
    absorbedInto,
    reply: { message: `Skill '${skill.name}' ${isArchived ? "archived" : "deleted"}.${where}` },
  });
}

/** A skill that is reached through a link, or that contains another skill, is not moved. */
export function cannotMove(
  skill: Skill,
  store: SkillStore,
  contents: CatalogContents,
): SkillError | undefined {
  const isLink = lstatSync(skill.directory).isSymbolicLink();
  if (isLink || !isReallyAt(store.directory, skill.relativePath, skill.directory)) {
    const message = `The skill '${skill.name}' is reached through a symbolic link. Remove the link by hand.`;
    return { kind: "protected", message };
  }
  const nested = contents.skills.find((other) => other.directory.startsWith(`${skill.directory}${sep}`));
  if (nested) {
    const message = `The directory of '${skill.name}' holds another skill, '${nested.name}'. Move that one first.`;
    return { kind: "protected", message };
  }
  return undefined;
}

// Checks shared by the plans above: the file to change, the new text, the conditions of the call.

type WritableFile = { readonly path: string; readonly before: Uint8Array | undefined };

/** Only a missing file has no content; an unreadable one throws. */
function fileToWrite(skill: Skill, file: string): Result<WritableFile, SkillError> {
  const place = placeInSkill(skill.directory, file);
  if (!place.ok) return place;
  const path = place.value;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return ok({ path, before: undefined });
  if (!stats.isFile()) return err({ kind: "invalid", message: `'${file}' is not a file.` });
  if (stats.size > MAX_FILE_BYTES) {
    const message = `'${file}' has ${stats.size} bytes; files over ${MAX_FILE_BYTES} are not changed here.`;
    return err({ kind: "too_large", message });
  }
  return ok({ path, before: readFileSync(path) });
}

type WriteDraft = Omit<Extract<Plan, { kind: "write" }>, "kind" | "reply">;

/** Refuses a text that may not be written. `reply` gets the description of a SKILL.md, "" for other files. */
function planWrite(
  draft: WriteDraft,
  skill: Skill,
  context: PlanContext,
  reply: (description: string) => Reply,
): Planned {
  const { file, before, after: text } = draft;
  const { parse } = context;
  let description = "";
  if (file === SKILL_FILE) {
    const previousName = skill.header.name === "" ? undefined : skill.header.name;
    const checked = checkSkillText(text, { directoryName: skill.directoryName, previousName }, parse);
    if (!checked.ok) return checked;
    description = checked.value.description;
  } else {
    const broken = fileProblem(text);
    if (broken) return err(broken);
  }
  // The path is shown to agents too.
  const blocked =
    screenProblem(text, context, new TextDecoder().decode(before ?? new Uint8Array())) ??
    screenProblem(file, context);
  return blocked ? err(blocked) : ok({ kind: "write", ...draft, reply: reply(description) });
}

/** The condition that does not hold. Reads only files of known skills, whatever paths are given. */
function brokenCondition(
  { expected = {}, unusedSince }: Conditions,
  skill: Skill | undefined,
  { contents, store }: PlanContext,
): SkillError | undefined {
  const own = contents.skills.filter((each) => !each.isExternal && !each.isFlat);
  for (const [path, hash] of Object.entries(expected)) {
    const source = own.find((each) => expectedPath(each) === path);
    if (source === undefined || hashOf(readIfThere(source.file)) !== hash) {
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
  const message = `The skill '${skill.name}' was to be removed because it was unused, but it has been used since. It was left alone.`;
  return { kind: "conflict", message };
}
