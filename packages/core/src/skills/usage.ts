// `.usage.json`: how often each skill was viewed, used and changed, and whether it is pinned. One record per skill under its
// directory name, in the format of the Python original. A failed count never makes the counted action fail.
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  describeCause,
  err,
  errnoCode,
  isRecord,
  ok,
  type Result,
  withFileLocks,
  writeFileAtomic,
} from "../lib/index.ts";
import { fieldOf } from "./frontmatter.ts";
import type { SkillError } from "./skill.ts";
import type { SkillStore } from "./store.ts";

/** How a skill is used, and whether it is pinned or archived. */
export type SkillUsage = {
  readonly created_by: string | null;
  readonly use_count: number;
  readonly view_count: number;
  readonly last_used_at: string | null;
  readonly last_viewed_at: string | null;
  readonly patch_count: number;
  readonly last_patched_at: string | null;
  readonly created_at: string | null;
  readonly state: "active" | "stale" | "archived";
  readonly pinned: boolean;
  readonly archived_at: string | null;
};

/** By directory name. Unreadable records count as missing. */
export function readUsage(store: SkillStore): ReadonlyMap<string, SkillUsage> {
  const content = readContent(usagePath(store));
  const records = content.kind === "records" ? content.records : {};
  return new Map(
    Object.entries(records).flatMap(([name, record]) => (isRecord(record) ? [[name, toUsage(record)]] : [])),
  );
}

/** The reason why it is not known which skills are pinned; undefined when it is known. Without a file, none is pinned. */
export function usageProblem(store: SkillStore): string | undefined {
  const path = usagePath(store);
  const { kind } = readContent(path);
  if (kind === "records") return undefined;
  return `${path} ${kind === "damaged" ? "is damaged" : "cannot be read"}, so it is not known which skills are pinned. A person should repair it.`;
}

/** Computes the fields of a skill's usage that change. */
export type UsageChange = (current: SkillUsage, now: string) => Partial<SkillUsage>;

/** Reads, changes and writes records under the lock. `null` removes a record. */
export async function changeUsage(
  store: SkillStore,
  changes: ReadonlyMap<string, UsageChange | null>,
): Promise<Result<void, SkillError>> {
  const path = usagePath(store);
  try {
    mkdirSync(store.directory, { recursive: true, mode: 0o700 });
    const work = (): Result<void, SkillError> => applyChanges(path, changes, isoTime(store.clock.now()));
    const done = await withFileLocks([`${path}.lock`], { timeoutMs: store.lockTimeoutMs }, work);
    if (done.ok) return done.value;
    const message = `Another process kept ${path}.lock for ${done.error.waitedMs} ms. Try again.`;
    return err({ kind: "locked", message });
  } catch (cause) {
    return err({ kind: "io", message: `Cannot write ${path}: ${describeCause(cause)}.` });
  }
}

export const countView: UsageChange = (current, now) => ({
  view_count: current.view_count + 1,
  last_viewed_at: now,
  use_count: current.use_count + 1,
  last_used_at: now,
});

export const countPatch: UsageChange = (current, now) => ({
  patch_count: current.patch_count + 1,
  last_patched_at: now,
});

export const markArchived: UsageChange = (_current, now) => ({ state: "archived", archived_at: now });

/** For a skill that was archived and is back. */
export const markActive: UsageChange = () => ({ state: "active", archived_at: null });

export function markCreated(isByAgent: boolean): UsageChange {
  return (_current, now) => ({ ...NO_USAGE, created_at: now, created_by: isByAgent ? "agent" : null });
}

/** For a user's own skill under the name of an archived one. A pin on it can only be the user's. */
export const markReplaced: UsageChange = (current, now) =>
  current.state === "archived" ? { ...markCreated(false)(current, now), pinned: current.pinned } : {};

/** Pinned skills are never deleted or archived, and lose no files. */
export async function setPinned(
  store: SkillStore,
  asked: string,
  isPinned: boolean,
): Promise<Result<SkillUsage, SkillError>> {
  const skill = await store.find(asked);
  if (!skill.ok) return skill;
  const key = skill.value.directoryName;
  const changed = await changeUsage(store, new Map([[key, () => ({ pinned: isPinned })]]));
  return changed.ok ? ok(readUsage(store).get(key) ?? { ...NO_USAGE, pinned: isPinned }) : changed;
}

export const NO_USAGE: SkillUsage = {
  created_by: null,
  use_count: 0,
  view_count: 0,
  last_used_at: null,
  last_viewed_at: null,
  patch_count: 0,
  last_patched_at: null,
  created_at: null,
  state: "active",
  pinned: false,
  archived_at: null,
};

/** With the offset Python writes. */
export function isoTime(date: Date): string {
  return date.toISOString().replace(/Z$/, "+00:00");
}

function usagePath(store: SkillStore): string {
  return join(store.directory, ".usage.json");
}

type Content =
  | { readonly kind: "records"; readonly records: Readonly<Record<string, unknown>> }
  | { readonly kind: "damaged" }
  | { readonly kind: "unreadable"; readonly cause: unknown };

function readContent(path: string): Content {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    return errnoCode(cause) === "ENOENT" ? { kind: "records", records: {} } : { kind: "unreadable", cause };
  }
  try {
    const content: unknown = JSON.parse(text);
    return isRecord(content) ? { kind: "records", records: content } : { kind: "damaged" };
  } catch {
    return { kind: "damaged" };
  }
}

function applyChanges(
  path: string,
  changes: ReadonlyMap<string, UsageChange | null>,
  now: string,
): Result<void, SkillError> {
  const content = readContent(path);
  if (content.kind === "unreadable")
    return err({
      kind: "io",
      message: `Cannot read ${path}: ${describeCause(content.cause)}. It was left alone.`,
    });
  if (content.kind === "damaged" && !existsSync(`${path}.bak`)) copyFileSync(path, `${path}.bak`); // it may contain pins
  const records = new Map(Object.entries(content.kind === "records" ? content.records : {}));
  for (const [name, change] of changes) {
    const record = records.get(name);
    if (change === null) records.delete(name);
    else {
      const known = isRecord(record) ? record : { created_at: now };
      const usage = { ...toUsage(known), ...change(toUsage(known), now) };
      // Fields of other programs stay. The older field for agent skills must not contradict `created_by`.
      const older = "agent_created" in known ? { agent_created: usage.created_by === "agent" } : {};
      records.set(name, { ...known, ...usage, ...older });
    }
  }
  const sorted = [...records].sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileAtomic(path, `${JSON.stringify(Object.fromEntries(sorted.map(sortFields)), null, 2)}\n`);
  return ok(undefined);
}

function sortFields([name, record]: [string, unknown]): [string, unknown] {
  if (!isRecord(record)) return [name, record];
  return [name, Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))];
}

function toUsage(record: Readonly<Record<string, unknown>>): SkillUsage {
  const count = (name: string): number => {
    const value = fieldOf(record, name);
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
  };
  const text = (name: string): string | null => {
    const value = fieldOf(record, name);
    return typeof value === "string" ? value : null;
  };
  const state = fieldOf(record, "state");
  return {
    created_by: text("created_by") ?? (fieldOf(record, "agent_created") === true ? "agent" : null),
    use_count: count("use_count"),
    view_count: count("view_count"),
    last_used_at: text("last_used_at"),
    last_viewed_at: text("last_viewed_at"),
    patch_count: count("patch_count"),
    last_patched_at: text("last_patched_at"),
    created_at: text("created_at"),
    state: state === "stale" || state === "archived" ? state : "active",
    pinned: fieldOf(record, "pinned") === true,
    archived_at: text("archived_at"),
  };
}
