// The transcript files the original may have written beside the database.
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { namesIn } from "../../lib/index.ts";

/** Best effort, outside any transaction: the database is the truth, and a file that stays does no harm. */
export function removeTranscripts(directory: string, ids: readonly string[]): void {
  // An id with a path in it names no file of ours, whatever program stored it.
  const safe = ids.filter((id) => id === basename(id) && !id.includes("\\") && !id.includes("\0"));
  const exact = new Set(safe.flatMap((id) => [`${id}.json`, `${id}.jsonl`]));
  const dumps = safe.map((id) => `request_dump_${id}_`);
  for (const name of filesIn(directory)) {
    const isDump = name.endsWith(".json") && dumps.some((prefix) => name.startsWith(prefix));
    if (!exact.has(name) && !isDump) continue;
    try {
      rmSync(join(directory, name));
    } catch {
      // Someone else's lock or permission; see above.
    }
  }
}

function filesIn(directory: string): readonly string[] {
  try {
    return namesIn(directory);
  } catch {
    return [];
  }
}
