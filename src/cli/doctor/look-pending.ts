// The staged writes of a home, only looked at: reading them the usual way also gives back what a dead approver held.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isPendingId } from "../../curated/index.ts";
import { errnoCode } from "../../lib/index.ts";
import { namesIn, statOf } from "./files.ts";

export type PendingLook = {
  readonly waiting: number;
  /** Names of files that are no staged write. */
  readonly skipped: readonly string[];
  /** Names of writes an approver took and did not bring back. */
  readonly staleClaims: readonly string[];
};

// A claim is held for one write; the reader of pending writes gives one back after five seconds, too.
const CLAIM_GRACE_MS = 5000;

/** Staged writes of a home, `<home>/pending/memory`. Gives nothing back that an approver left behind. */
export function lookAtPending(directory: string, now: Date): PendingLook {
  const names = namesIn(directory);
  const records = names.filter((name) => name.endsWith(".json"));
  const usable = records.filter((name) => isStagedWrite(directory, name));
  const staleClaims = names.filter((name) => {
    const pid = /^[0-9a-f]{8}\.json\.claim-(\d+)$/.exec(name)?.[1];
    const claimedAt = statOf(join(directory, name))?.ctimeMs ?? now.getTime();
    return pid !== undefined && !isAlive(Number(pid)) && now.getTime() - claimedAt > CLAIM_GRACE_MS;
  });
  return { waiting: usable.length, skipped: records.filter((name) => !usable.includes(name)), staleClaims };
}

/** The same rule the approver has: the id is the name, and there is something to replay. */
function isStagedWrite(directory: string, name: string): boolean {
  try {
    const value = JSON.parse(readFileSync(join(directory, name), "utf8")) as Record<string, unknown>;
    const { id, payload } = value;
    return (
      isPendingId(String(id)) && `${id}.json` === name && typeof payload === "object" && payload !== null
    );
  } catch {
    return false; // told by name, as one that makes no sense
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return errnoCode(cause) === "EPERM";
  }
}
