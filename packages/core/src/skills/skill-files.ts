// The files of a skill: which paths are allowed, where they are on disk, and reading them.
import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeCause, err, errnoCode, ok, type Result } from "../lib/index.ts";
import { pathWithin } from "./paths.ts";
import { MAX_FILE_BYTES, SKILL_FILE, type SkillError, SUPPORT_DIRECTORIES, shownName } from "./skill.ts";

const MAX_PATH_BYTES = 512;
const MAX_PART_BYTES = 200; // the temporary file's name is longer, and file systems allow 255 bytes

/** `SKILL.md`, or a path with `/` below one of the four support directories. Pure. */
export function parseFilePath(path: string): Result<string, SkillError> {
  const shown = shownName(path);
  if (path === "") return invalid("file_path is empty.");
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return invalid(`file_path is too long: '${shown}'.`);
  if (/[\x00-\x1f\x7f\\]/.test(path) || !path.isWellFormed())
    return invalid(
      `file_path '${shown}' has characters that do not belong into a path. Use '/' between names.`,
    );
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path))
    return invalid(`file_path '${shown}' is absolute. Give it below the skill's directory.`);
  const parts = path.replace(/^(\.\/)+/, "").split("/");
  if (parts.includes(".."))
    return invalid(`file_path '${shown}' climbs with '..'. Stay in the skill's directory.`);
  // A file system that ignores a final dot or blank would take 'SKILL.md.' for SKILL.md.
  if (
    parts.some(
      (part) => part === "" || part === "." || /[. ]$/.test(part) || Buffer.byteLength(part) > MAX_PART_BYTES,
    )
  )
    return invalid(`file_path '${shown}' has a part that cannot be a file's name.`);
  const [top = "", ...rest] = parts;
  const last = (parts.at(-1) ?? "").toLowerCase();
  if (rest.length === 0 && top === SKILL_FILE) return ok(SKILL_FILE);
  if (last === SKILL_FILE.toLowerCase())
    return invalid(
      `file_path '${shown}' is no place for a SKILL.md: a skill has one, at its top, spelled so.`,
    );
  if (!SUPPORT_DIRECTORIES.some((each) => each === top) || rest.length === 0) {
    const places = SUPPORT_DIRECTORIES.map((each) => `${each}/`).join(", ");
    return invalid(`file_path '${shown}' must be SKILL.md or a file under ${places}.`);
  }
  return ok(parts.join("/"));
}

/** The file's absolute path. No part of it may be a link, so that writes stay inside the skill. */
export function placeInSkill(directory: string, file: string): Result<string, SkillError> {
  let path = directory;
  for (const part of file.split("/")) {
    path = join(path, part);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) break;
    if (stats.isSymbolicLink())
      return invalid(`'${file}' goes through a symbolic link, and links are not written through.`);
  }
  return ok(join(directory, file));
}

/** False if there is a link between the root and the skill: the directory then belongs to another place. */
export function isReallyAt(root: string, relativePath: string, directory: string): boolean {
  return pathWithin(realpathSync(root), realpathSync(directory)) === relativePath;
}

function invalid(message: string): Result<never, SkillError> {
  return err({ kind: "invalid", message });
}

/** True also for a broken link. */
export function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    if (errnoCode(cause) === "ENOTDIR") return false;
    throw cause;
  }
}

/** Undefined for a missing file; throws for one that cannot be read. */
export function readIfThere(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR") return undefined;
    throw cause;
  }
}

// Reading. Links that lead out of the skill are ignored.

const MAX_LISTED = 200;
const MAX_LISTED_DEPTH = 5;

/** Paths below the skill's directory, sorted, by support directory; directories without files are left out. */
export function linkedFiles(directory: string): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    SUPPORT_DIRECTORIES.map((name) => [name, filesBelow(directory, name)] as const).filter(
      ([, files]) => files.length > 0,
    ),
  );
}

export function allLinkedFiles(directory: string): string[] {
  return Object.values(linkedFiles(directory)).flat();
}

type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "binary"; readonly bytes: number };

export function readSkillFile(directory: string, file: string): Result<FileText, SkillError> {
  const path = join(directory, file);
  try {
    const real = realpathSync(path);
    if (pathWithin(realpathSync(directory), real) === undefined)
      return err({ kind: "invalid", message: `'${file}' leads out of the skill's directory.` });
    const stats = statSync(real);
    if (!stats.isFile()) return err(missingFile(directory, file));
    if (stats.size > MAX_FILE_BYTES) {
      const message = `'${file}' has ${stats.size} bytes; files over ${MAX_FILE_BYTES} are not loaded.`;
      return err({ kind: "too_large", message });
    }
    const bytes = readFileSync(real);
    if (bytes.includes(0)) return ok({ kind: "binary", bytes: bytes.length });
    return ok({ kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) });
  } catch (cause) {
    if (cause instanceof TypeError) return ok({ kind: "binary", bytes: statSync(path).size }); // not UTF-8
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR")
      return err(missingFile(directory, file));
    return err({ kind: "io", message: `Cannot read '${file}': ${describeCause(cause)}.` });
  }
}

export function missingFile(directory: string, file: string): SkillError {
  const files = allLinkedFiles(directory);
  const message = `The skill has no file '${file}'.`;
  return { kind: "not_found", message, details: { available_files: files } };
}

function filesBelow(directory: string, top: string): string[] {
  const found: string[] = [];
  const enter = (folder: string, depth: number): void => {
    for (const entry of entriesOf(join(directory, folder))) {
      if (found.length >= MAX_LISTED) return;
      const path = `${folder}/${entry.name}`;
      if (entry.isFile() && !/^\..*\.tmp\./.test(entry.name)) found.push(path);
      else if (entry.isDirectory() && depth < MAX_LISTED_DEPTH) enter(path, depth + 1);
    }
  };
  enter(top, 1);
  return found.sort();
}

function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return []; // missing or not readable; the error shows when one of its files is asked for
  }
}
