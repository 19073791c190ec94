// The files of a skill beside SKILL.md: which there are, and what is in one of them. Links that lead out are not there.
import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { describeCause, err, errnoCode, ok, type Result } from "../../lib/index.ts";
import { MAX_FILE_BYTES, SUPPORT_DIRECTORIES } from "../limits.ts";
import { pathWithin } from "../paths.ts";
import type { SkillError } from "../types.ts";

const MAX_LISTED = 200;
const MAX_DEPTH = 5;

/** Paths below the skill's directory, sorted, by support directory; those without files are absent. */
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

export type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "binary"; readonly bytes: number };

/** Reads once, and only what may be shown. */
export function readSkillFile(directory: string, file: string): Result<FileText, SkillError> {
  const path = join(directory, file);
  try {
    const real = realpathSync(path);
    if (pathWithin(realpathSync(directory), real) === undefined)
      return err({ kind: "invalid", message: `'${file}' leads out of the skill's directory.` });
    const stats = statSync(real);
    if (!stats.isFile()) return err(missing(directory, file));
    if (stats.size > MAX_FILE_BYTES) {
      const message = `'${file}' has ${stats.size} bytes; files over ${MAX_FILE_BYTES} are not loaded.`;
      return err({ kind: "too_large", message });
    }
    const bytes = readFileSync(real);
    if (bytes.includes(0)) return ok({ kind: "binary", bytes: bytes.length });
    return ok({ kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) });
  } catch (cause) {
    if (cause instanceof TypeError) return ok({ kind: "binary", bytes: statSync(path).size }); // not UTF-8
    if (errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR") return err(missing(directory, file));
    return err({ kind: "io", message: `Cannot read '${file}': ${describeCause(cause)}.` });
  }
}

export function missing(directory: string, file: string): SkillError {
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
      else if (entry.isDirectory() && depth < MAX_DEPTH) enter(path, depth + 1);
    }
  };
  enter(top, 1);
  return found.sort();
}

function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return []; // not there, or not for us: it shows when somebody asks for one of its files
  }
}
