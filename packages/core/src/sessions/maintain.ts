// Maintenance of the session database when a long-running program starts.
import type { SessionFiles } from "../home.ts";
import { describeCause } from "../lib/index.ts";
import { findOrphans, type OrphanFile, removeOrphans } from "./session-files.ts";
import type { AutoMaintenance, HomeStore } from "./store.ts";

/** What maintenance may remove, and how often it runs. */
export type MaintenanceSettings = {
  readonly autoPrune: boolean;
  readonly retentionDays: number;
  readonly vacuumAfterPrune: boolean;
  readonly minIntervalHours: number;
  /** Files that belong to no session are removed after this many days. 0 or absent: never. */
  readonly orphanFileDays?: number;
  /** Records of turns, and what was recalled for them, are removed after this many days. Absent: never. */
  readonly turnDays?: number;
};

/** What one round of maintenance removed. */
export type Maintained = {
  readonly ghosts: number;
  readonly orphans: number;
  /** Null when pruning is switched off. */
  readonly pruning: AutoMaintenance | null;
  /** How many files of deleted sessions were removed because of their age. */
  readonly orphanFiles: number;
  readonly problems: readonly string[];
};

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const FILES_TIDIED = "hermes_memory_files_tidied";

/** Never rejects: a conversation must not fail because maintenance failed. */
export async function maintainSessions(
  store: HomeStore,
  settings: MaintenanceSettings,
  files: SessionFiles = {},
): Promise<Maintained> {
  const problems: string[] = [];
  const attempt = async (work: () => Promise<number>): Promise<number> => {
    try {
      return await work();
    } catch (cause) {
      problems.push(describeCause(cause));
      return 0;
    }
  };
  const ghosts = await attempt(async () => store.file?.pruneEmptyGhostSessions() ?? 0);
  const orphans = await attempt(async () => store.file?.finalizeOrphanedCompressionSessions() ?? 0);
  const { turnDays } = settings;
  if (turnDays !== undefined) await attempt(() => store.pruneTurns(turnDays));
  const pruning = settings.autoPrune ? await prune(store, settings, files) : null;
  if (pruning?.error !== undefined) problems.push(pruning.error);
  const orphanFiles = await attempt(() => removeOldOrphans(store, settings, files));
  return { ghosts, orphans, pruning, orphanFiles, problems };
}

async function prune(
  store: HomeStore,
  { retentionDays, minIntervalHours, vacuumAfterPrune: vacuum }: MaintenanceSettings,
  files: SessionFiles,
): Promise<AutoMaintenance | null> {
  const options = { retentionDays, minIntervalHours, vacuum, ...files };
  return (await store.file?.maybeAutoPruneAndVacuum(options)) ?? null;
}

async function removeOldOrphans(
  store: HomeStore,
  { orphanFileDays = 0, minIntervalHours }: MaintenanceSettings,
  files: SessionFiles,
): Promise<number> {
  const nowMs = Date.now(); // compared with modification times of files
  if (orphanFileDays === 0 || !(await isDue(store, nowMs, minIntervalHours))) return 0;
  const found = await findOrphans(store, files, { nowMs, olderThanMs: orphanFileDays * DAY_MS });
  // A database that was started after a file was written, because it replaced another one, does not know whose the file is.
  const oldest = (await store.stats()).oldestStartedAt;
  const isKnown = ({ modifiedMs }: OrphanFile) => oldest !== null && modifiedMs >= oldest * 1000;
  const removed = await removeOrphans([...found.results, ...found.snapshots].filter(isKnown));
  await store.setMeta(FILES_TIDIED, String(nowMs));
  return removed;
}

async function isDue(store: HomeStore, nowMs: number, hours: number): Promise<boolean> {
  const last = Number.parseFloat((await store.getMeta(FILES_TIDIED)) ?? "");
  return Number.isNaN(last) || last > nowMs || nowMs - last >= hours * HOUR_MS;
}
