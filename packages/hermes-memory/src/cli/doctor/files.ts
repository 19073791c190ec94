// Looking at files without touching them.
import { readdirSync, type Stats, statSync } from "node:fs";
import { errnoCode } from "@hermes-memory/core/lib";

/** Undefined when there is no such file. Follows links. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (cause) {
    if (isAbsence(cause)) return undefined;
    throw cause;
  }
}

/** False also where this user may not look; the check of the home tells about that. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (cause) {
    if (isAbsence(cause)) return [];
    throw cause;
  }
}

function isAbsence(cause: unknown): boolean {
  return errnoCode(cause) === "ENOENT" || errnoCode(cause) === "ENOTDIR";
}
