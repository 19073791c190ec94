// The history of skill changes on disk: one line per change in `.history/changes.jsonl`, and earlier file contents under
// their hash in `.history/blobs/`. A line is written before its change takes effect. The oldest changes are dropped.
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { appendJsonLines, namesIn, randomHex, readJsonLines, sha256, writeFileAtomic } from "../lib/index.ts";
import { fieldOf } from "./frontmatter.ts";
import { deletedDirectory, historyDirectory } from "./paths.ts";
import type { SkillUsage } from "./usage.ts";

export type SkillChange = {
  readonly id: string;
  readonly time: string;
  /** An action of `skill_manage`, or `archive`, `restore`, `undo`. */
  readonly action: string;
  /** The skill's directory name. */
  readonly skill: string;
  /** Its directory below the root. */
  readonly path: string;
  /** Only for a skill outside of the home. */
  readonly root?: string;
  /** Path below the skill's directory; null when the whole skill moved. */
  readonly file: string | null;
  /** SHA-256 of the file; null when there was none. The earlier content is kept under its hash. */
  readonly before: string | null;
  readonly after: string | null;
  /** Paths below the skills directory. */
  readonly moved?: { readonly from: string; readonly to: string };
  readonly origin: string;
  readonly session?: string;
  readonly undoes?: string;
  readonly absorbed_into?: string;
  /** Id of the staged change it came from. */
  readonly approval?: string;
  /** Usage record of a deleted skill, to restore it on undo. */
  readonly usage?: SkillUsage;
};

/** Undefined for a line without the required fields. */
function toChange(value: unknown): SkillChange | undefined {
  const text = (name: string): string | undefined => {
    const field = fieldOf(value, name);
    return typeof field === "string" ? field : undefined;
  };
  const hash = (name: string): string | null => {
    const field = text(name);
    return field !== undefined && /^[0-9a-f]{64}$/.test(field) ? field : null;
  };
  const id = text("id");
  const skill = text("skill");
  const path = text("path");
  if (id === undefined || skill === undefined || path === undefined || !/^[0-9a-f]{8}$/.test(id))
    return undefined;
  const moved = fieldOf(value, "moved");
  const from = fieldOf(moved, "from");
  const to = fieldOf(moved, "to");
  return {
    id,
    time: text("time") ?? "",
    action: text("action") ?? "",
    skill,
    path,
    file: text("file") ?? null,
    before: hash("before"),
    after: hash("after"),
    origin: text("origin") ?? "",
    root: text("root"),
    moved: typeof from === "string" && typeof to === "string" ? { from, to } : undefined,
    session: text("session"),
    undoes: text("undoes"),
    absorbed_into: text("absorbed_into"),
    approval: text("approval"),
    usage: fieldOf(value, "usage") as SkillUsage | undefined,
  };
}

type HistoryLimits = { readonly keep: number; readonly slack: number; readonly maxBlobBytes: number };

const HISTORY_LIMITS: HistoryLimits = { keep: 200, slack: 100, maxBlobBytes: 32 * 1_048_576 };

/** Oldest first. */
export function readChanges(skills: string): readonly SkillChange[] {
  return readJsonLines(linesPath(skills)).values.flatMap((value) => toChange(value) ?? []);
}

export type ChangeDraft = Omit<SkillChange, "id" | "before" | "after">;
type Contents = {
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | string | undefined;
};

export function newChange(draft: ChangeDraft, { before, after }: Contents): SkillChange {
  return { id: randomHex(4), ...draft, before: hashOf(before), after: hashOf(after) };
}

/** Stores the content first, so that a line never refers to missing content. Call it before the change takes effect. */
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

/** Drops the oldest changes and their contents once there are too many. Call it under the lock. */
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
    // The newest change always stays, because it is the one that gets undone. Reduced to half the limit, so that pruning is
    // rare.
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

/** Null when there is no content. */
export function hashOf(content: Uint8Array | string | undefined): string | null {
  return content === undefined ? null : sha256(content);
}

function linesPath(skills: string): string {
  return join(historyDirectory(skills), "changes.jsonl");
}

function blobsDirectory(skills: string): string {
  return join(historyDirectory(skills), "blobs");
}
