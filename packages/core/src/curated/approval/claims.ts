// Who may act on a pending write: one approver at a time, and none for ever.
import { existsSync, renameSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describeCause, err, errnoCode, namesIn, ok, type Result } from "../../lib/index.ts";
import type { MemoryError } from "../types.ts";
import { isPendingId, lookAtPending, type PendingRecord, type PendingWrites, readRecord } from "./pending.ts";

/** What waits for a decision, what a dead approver held included. */
export function readPendingWrites(directory: string): PendingWrites {
  recoverClaims(directory);
  return lookAtPending(directory);
}

export type Claim = {
  readonly record: PendingRecord;
  /** False once somebody forgot the text of the write while it was in hand. */
  isStillHeld(): boolean;
  finish(): void;
  giveBack(): void;
};

/** Renames the file to this process's name, so that of two approvers only one can act on it. */
export function claimPending(directory: string, id: string): Result<Claim, MemoryError> {
  const unknown: MemoryError = { kind: "no_match", message: `No pending memory write with id '${id}'.` };
  if (!isPendingId(id)) return err(unknown);
  recoverClaims(directory);
  const path = join(directory, `${id}.json`);
  const claimed = `${path}.claim-${process.pid}`;
  try {
    renameSync(path, claimed);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(unknown);
    return err({ kind: "io", message: `Cannot open pending write '${id}': ${describeCause(cause)}.` });
  }
  held.add(claimed);
  const record = readRecord(claimed);
  const letGo = (step: () => void): void => {
    held.delete(claimed);
    unlessGone(step);
  };
  const giveBack = (): void => letGo(() => renameSync(claimed, path));
  if (!record) {
    giveBack();
    return err({ kind: "io", message: `Pending write '${id}' is damaged. Look at ${path}, or reject it.` });
  }
  return ok({
    record,
    isStillHeld: () => existsSync(claimed),
    finish: () => letGo(() => unlinkSync(claimed)),
    giveBack,
  });
}

/** Somebody who forgets a text takes its pending write away even from an approver. */
function unlessGone(step: () => void): void {
  try {
    step();
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
  }
}

export function rejectPending(directory: string, id: string): Result<void, MemoryError> {
  const missing: MemoryError = { kind: "no_match", message: `No pending memory write with id '${id}'.` };
  if (!isPendingId(id)) return err(missing);
  recoverClaims(directory);
  try {
    unlinkSync(join(directory, `${id}.json`));
    return ok(undefined);
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return err(missing);
    return err({ kind: "io", message: `Cannot delete pending write '${id}': ${describeCause(cause)}.` });
  }
}

const CLAIM = /^([0-9a-f]{8}\.json)\.claim-(\d+)$/;
// Process numbers of another container on the same volume mean nothing here, so a fresh claim is left alone.
const CLAIM_GRACE_MS = 5000;
// An approval waits for a lock, ten minutes at the very most.
const LONGEST_CLAIM_MS = 15 * 60_000;
/** What this process holds now. */
const held = new Set<string>();

/** Names of writes that an approver took and, being dead, will not bring back. */
export function staleClaims(directory: string, now = new Date()): string[] {
  return namesIn(directory).filter((name) => {
    const [, , pid] = CLAIM.exec(name) ?? [];
    const path = join(directory, name);
    const stats = pid ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (!pid || !stats || held.has(path)) return false;
    // In a container that was started again, another process may have the number the dead one had.
    const mostMs = isAlive(Number(pid)) && Number(pid) !== process.pid ? LONGEST_CLAIM_MS : CLAIM_GRACE_MS;
    return now.getTime() - stats.ctimeMs > mostMs;
  });
}

/** Gives back what an approver that died was holding. */
function recoverClaims(directory: string): void {
  for (const name of staleClaims(directory)) {
    const [, original = name] = CLAIM.exec(name) ?? [];
    try {
      renameSync(join(directory, name), join(directory, original));
    } catch {
      // Another process was faster, or the home is read-only: listing what waits must work all the same.
    }
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
