// Staged writes that hold a text: records, half-written ones, and those an approver has in hand.
import { readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { errnoCode } from "../../lib/index.ts";
import { listPendingFiles, lookAtPending, pendingTexts } from "../approval/pending.ts";
import type { Needle } from "./needle.ts";

/** How many there are. They go unless it is a dry run. */
export function sweepPending(directory: string, needle: Needle, { isDryRun }: { isDryRun: boolean }): number {
  // Read where that is possible, because JSON may spell a text in several ways; else as bytes.
  const records = lookAtPending(directory).records.filter(({ payload, summary }) =>
    [...pendingTexts(payload), summary].some(needle.isIn),
  );
  const known = new Set(records.map(({ id }) => join(directory, `${id}.json`)));
  const hits = listPendingFiles(directory).filter((path) => known.has(path) || isHit(path, needle));
  if (!isDryRun) for (const path of hits) unlessGone(() => unlinkSync(path));
  return hits.length;
}

function isHit(path: string, needle: Needle): boolean {
  return unlessGone(() => needle.isInRaw(readFileSync(path))) ?? false;
}

/** An approver may finish with a record between our listing it and our looking at it. */
function unlessGone<T>(step: () => T): T | undefined {
  try {
    return step();
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
    return undefined;
  }
}
