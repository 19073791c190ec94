// Pins: entries that overflow never moves to the archive. The pin file holds the SHA-256 of each pinned text.
import { readFileSync } from "node:fs";
import {
  errnoCode,
  HermesError,
  isRecord,
  isStringList,
  sha256,
  withFileLockSync,
  writeFileAtomic,
} from "../lib/index.ts";
import { lockedError } from "./file-errors.ts";
import { type Change, MEMORY_TARGETS, type MemoryTarget } from "./types.ts";

export type Pins = Readonly<Record<MemoryTarget, ReadonlySet<string>>>;

export const NO_PINS: Pins = { memory: new Set(), user: new Set() };

/** A missing file has no pins. A damaged one throws: ignoring it could archive an entry that the user pinned. */
export function readPins(path: string): Pins {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (errnoCode(cause) === "ENOENT") return NO_PINS;
    throw cause;
  }
  const pins = parsePins(text);
  if (pins) return pins;
  const hint = "Mend the JSON, or delete the file to unpin everything.";
  throw new HermesError("pins-damaged", `The pins in ${path} cannot be read: the file is damaged.`, { hint });
}

export function isPinned(pins: Pins, target: MemoryTarget, entry: string): boolean {
  return pins[target].size > 0 && pins[target].has(sha256(entry));
}

export function withPin(pins: Pins, target: MemoryTarget, entry: string, isOn: boolean): Pins {
  const next = new Set(pins[target]);
  if (isOn) next.add(sha256(entry));
  else next.delete(sha256(entry));
  return { ...pins, [target]: next };
}

const WAIT_MS = 500;

/** Call under the lock of a target. */
export function changePins(path: string, change: (pins: Pins) => Pins): void {
  const outcome = withFileLockSync(`${path}.lock`, { timeoutMs: WAIT_MS }, () => {
    const pins = change(readPins(path));
    const value = Object.fromEntries(MEMORY_TARGETS.map((target) => [target, [...pins[target]].sort()]));
    writeFileAtomic(path, `${JSON.stringify(value, null, 2)}\n`);
  });
  if (!outcome.ok) throw lockedError(path, outcome.error);
}

/** The replacement of a pinned entry is pinned too. The old hash stays, for an undo. */
export function carryPins(path: string, target: MemoryTarget, replaced: readonly Change[]): void {
  const pins = readPins(path);
  const pinned = replaced.filter(({ before }) => isPinned(pins, target, before ?? ""));
  if (pinned.length === 0) return;
  changePins(path, (now) => pinned.reduce((all, { after }) => withPin(all, target, after ?? "", true), now));
}

function parsePins(text: string): Pins | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value)) return undefined;
    const { memory = [], user = [] } = value;
    return isStringList(memory) && isStringList(user)
      ? { memory: new Set(memory), user: new Set(user) }
      : undefined;
  } catch {
    return undefined;
  }
}
