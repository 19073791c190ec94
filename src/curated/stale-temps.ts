// Temporary files that a killed writer left behind.
import { readdirSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";

// A writer needs milliseconds. Where locks do not work, another one may be at it right now.
const STALE_AFTER_MS = 60_000;

export function listTemps(directory: string, prefix: string, suffix = ".tmp"): string[] {
  try {
    const names = readdirSync(directory).filter((name) => name.startsWith(prefix) && name.endsWith(suffix));
    return names.map((name) => join(directory, name));
  } catch {
    return []; // no directory, so nothing was left in it
  }
}

export function removeStaleTemps(directory: string, prefix: string, now: Date): void {
  for (const path of listTemps(directory, prefix)) {
    try {
      if (now.getTime() - statSync(path).mtimeMs > STALE_AFTER_MS) unlinkSync(path);
    } catch {
      // Somebody else was faster.
    }
  }
}
