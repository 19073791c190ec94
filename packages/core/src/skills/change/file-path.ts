// The path of a file in a skill, as somebody sent it. Pure, apart from `placeInSkill`, which looks at the disk.
import { lstatSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { err, hasLoneSurrogate, ok, type Result } from "../../lib/index.ts";
import { SKILL_FILE, SUPPORT_DIRECTORIES } from "../limits.ts";
import { shownName } from "../names.ts";
import { pathWithin } from "../paths.ts";
import type { SkillError } from "../types.ts";

const MAX_PATH_BYTES = 512;
const MAX_PART_BYTES = 200; // the temporary file's name is longer, and 255 is all a file system takes

/** `SKILL.md`, or a path with `/` below one of the four support directories. */
export function parseFilePath(path: string): Result<string, SkillError> {
  const shown = shownName(path);
  if (path === "") return invalid("file_path is empty.");
  if (path.length > MAX_PATH_BYTES || byteLength(path) > MAX_PATH_BYTES)
    return invalid(`file_path is too long: '${shown}'.`);
  if (/[\x00-\x1f\x7f\\]/.test(path) || hasLoneSurrogate(path))
    return invalid(
      `file_path '${shown}' has characters that do not belong into a path. Use '/' between names.`,
    );
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path))
    return invalid(`file_path '${shown}' is absolute. Give it below the skill's directory.`);
  const parts = path.replace(/^(\.\/)+/, "").split("/");
  if (parts.includes(".."))
    return invalid(`file_path '${shown}' climbs with '..'. Stay in the skill's directory.`);
  // A file system that forgives a final dot or blank would take 'SKILL.md.' for SKILL.md.
  if (
    parts.some(
      (part) => part === "" || part === "." || /[. ]$/.test(part) || byteLength(part) > MAX_PART_BYTES,
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

/** The file's place on disk. No part of the way may be a link: what is written must land in the skill. */
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

/** A link anywhere between the root and the skill makes it somebody else's directory. */
export function isReallyAt(root: string, relativePath: string, directory: string): boolean {
  return pathWithin(realpathSync(root), realpathSync(directory)) === relativePath;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function invalid(message: string): Result<never, SkillError> {
  return err({ kind: "invalid", message });
}
