// The transcript files the original may have written beside the database.
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { namesIn } from "../../lib/index.ts";

const DUMP = "request_dump_";

/** Best effort, outside any transaction: the database is the truth, and a file that stays does no harm. */
export async function removeTranscripts(directory: string, ids: Iterable<string>): Promise<void> {
  const safe = new Set([...ids].filter(isFileName));
  if (safe.size === 0) return;
  for (const name of filesIn(directory)) {
    if (!sessionsNamedBy(name).some((id) => safe.has(id))) continue;
    try {
      await rm(join(directory, name));
    } catch {
      // Someone else's lock or permission; see above.
    }
  }
}

/** An id with a path in it names no file of ours, whatever program stored it. */
function isFileName(id: string): boolean {
  return id === basename(id) && !id.includes("\\") && !id.includes("\0");
}

/** The ids a file may belong to: `<id>.json`, `<id>.jsonl`, `request_dump_<id>_<anything>.json`. */
function sessionsNamedBy(name: string): string[] {
  const [, stem] = /^(.*)\.jsonl?$/s.exec(name) ?? [];
  if (stem === undefined) return [];
  const ids = [stem];
  if (!name.startsWith(DUMP) || !name.endsWith(".json")) return ids;
  // An id may hold the separator too, so each place where it could end counts.
  for (let end = stem.indexOf("_", DUMP.length); end >= 0; end = stem.indexOf("_", end + 1))
    ids.push(stem.slice(DUMP.length, end));
  return ids;
}

function filesIn(directory: string): readonly string[] {
  try {
    return namesIn(directory);
  } catch {
    return [];
  }
}
