// Files of sessions in the folder beside the database: JSON snapshots, and transcripts the original may have written.
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { namesIn } from "../../lib/index.ts";

const DUMP = "request_dump_";
const SNAPSHOT = "session_";

/**
 * Best effort, outside any transaction: the database is the truth, and a file that stays does no harm. A name can fit two
 * sessions (`session_a.json` is the snapshot of `a` and a transcript of `session_a`); the file stays while one of them exists.
 */
export async function removeTranscripts(
  directory: string,
  ids: Iterable<string>,
  exists: (id: string) => Promise<boolean>,
): Promise<void> {
  const safe = new Set([...ids].filter(isFileName));
  if (safe.size === 0) return;
  for (const name of filesIn(directory)) {
    const named = sessionsNamedBy(name);
    if (!named.some((id) => safe.has(id))) continue;
    const others = named.filter((id) => !safe.has(id));
    if ((await Promise.all(others.map(exists))).includes(true)) continue;
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

/** The ids a file may belong to: `<id>.json`, `<id>.jsonl`, `session_<id>.json`, `request_dump_<id>_<anything>.json`. */
function sessionsNamedBy(name: string): string[] {
  const [, stem] = /^(.*)\.jsonl?$/s.exec(name) ?? [];
  if (stem === undefined) return [];
  const ids = [stem];
  if (name.startsWith(SNAPSHOT) && name.endsWith(".json")) ids.push(stem.slice(SNAPSHOT.length));
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
