// The history on disk: one line per change in `.history/changes.jsonl`, and what a file held before under its hash in
// `.history/blobs/`. A line is written before the change takes effect. Kept within bounds; the oldest go first.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import {
  appendJsonLines,
  namesIn,
  randomHex,
  readJsonLines,
  sha256,
  writeFileAtomic,
} from "../../lib/index.ts";
import { deletedDirectory, historyDirectory } from "../paths.ts";
import { type SkillChange, toChange } from "./record.ts";

export type HistoryLimits = { readonly keep: number; readonly slack: number; readonly maxBlobBytes: number };

const HISTORY_LIMITS: HistoryLimits = { keep: 200, slack: 100, maxBlobBytes: 32 * 1_048_576 };

/** Oldest first. */
export function readChanges(skills: string): readonly SkillChange[] {
  return readJsonLines(linesPath(skills)).values.flatMap((value) => toChange(value) ?? []);
}

export type ChangeDraft = Omit<SkillChange, "id" | "before" | "after">;
export type Contents = {
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | string | undefined;
};

export function newChange(draft: ChangeDraft, { before, after }: Contents): SkillChange {
  return { id: randomHex(4), ...draft, before: hashOf(before), after: hashOf(after) };
}

/** Keeps the content first: a line must never promise what is not there. Call it before the change takes effect. */
export function recordChange(skills: string, change: SkillChange, before: Uint8Array | undefined): void {
  if (before !== undefined) keepBlob(skills, before);
  appendJsonLines(linesPath(skills), [change], { isDurable: true });
}

/** Undefined when it is gone. */
export function readBlob(skills: string, hash: string): Uint8Array | undefined {
  const path = join(blobsDirectory(skills), hash);
  if (!existsSync(path)) return undefined;
  const bytes = readFileSync(path);
  return sha256(bytes) === hash ? bytes : undefined;
}

/** Drops the oldest changes once there are too many, with what was kept for them. Call it under the lock. */
export function pruneHistory(skills: string, limits: HistoryLimits = HISTORY_LIMITS): void {
  const changes = readChanges(skills);
  const blobs = namesIn(blobsDirectory(skills));
  const sizes = new Map(blobs.map((name) => [name, statSync(join(blobsDirectory(skills), name)).size]));
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (changes.length <= limits.keep + limits.slack && total <= limits.maxBlobBytes) return;
  const kept = newestWithin(changes, sizes, limits);
  const text = kept.map((change) => `${JSON.stringify(change)}\n`).join("");
  writeFileAtomic(linesPath(skills), text);
  const hashes = new Set(kept.map(({ before }) => before));
  for (const name of blobs) if (!hashes.has(name)) unlinkSync(join(blobsDirectory(skills), name));
  const places = new Set(kept.flatMap(({ moved }) => (moved ? [moved.from, moved.to] : [])));
  for (const name of namesIn(deletedDirectory(skills)))
    if (!places.has(`.archive/.deleted/${name}`))
      rmSync(join(deletedDirectory(skills), name), { recursive: true, force: true });
}

function newestWithin(
  changes: readonly SkillChange[],
  sizes: ReadonlyMap<string, number>,
  { keep, maxBlobBytes }: HistoryLimits,
): SkillChange[] {
  const counted = new Set<string>();
  const kept: SkillChange[] = [];
  let bytes = 0;
  for (const change of changes.toReversed()) {
    const { before } = change;
    if (before !== null && !counted.has(before)) {
      counted.add(before);
      bytes += sizes.get(before) ?? 0;
    }
    // The newest one stays whatever it costs: it is the one that gets undone. Down to half, so that this is rare.
    if (kept.length > 0 && (kept.length >= keep || bytes > maxBlobBytes / 2)) break;
    kept.push(change);
  }
  return kept.reverse();
}

function keepBlob(skills: string, bytes: Uint8Array): void {
  const directory = blobsDirectory(skills);
  const path = join(directory, sha256(bytes));
  if (existsSync(path)) return;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileAtomic(path, bytes);
}

function hashOf(content: Uint8Array | string | undefined): string | null {
  return content === undefined ? null : sha256(content);
}

function linesPath(skills: string): string {
  return join(historyDirectory(skills), "changes.jsonl");
}

function blobsDirectory(skills: string): string {
  return join(historyDirectory(skills), "blobs");
}
