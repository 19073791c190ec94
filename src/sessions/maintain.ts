// What a long-running program does with the session database when it starts.
import { describeCause } from "../lib/index.ts";
import type { AutoMaintenance, SessionStore } from "./store.ts";

export type MaintenanceSettings = {
  readonly autoPrune: boolean;
  readonly retentionDays: number;
  readonly vacuumAfterPrune: boolean;
  readonly minIntervalHours: number;
};

export type Maintained = {
  readonly ghosts: number;
  readonly orphans: number;
  /** Null when it is switched off. */
  readonly pruning: AutoMaintenance | null;
  readonly problems: readonly string[];
};

/** Never rejects: a conversation must not fail because tidying up did. */
export async function maintainSessions(
  store: SessionStore,
  settings: MaintenanceSettings,
  options: { readonly sessionsDir?: string } = {},
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
  const ghosts = await attempt(() => store.pruneEmptyGhostSessions());
  const orphans = await attempt(() => store.finalizeOrphanedCompressionSessions());
  if (!settings.autoPrune) return { ghosts, orphans, pruning: null, problems };
  const { retentionDays, minIntervalHours, vacuumAfterPrune: vacuum } = settings;
  const pruning = await store.maybeAutoPruneAndVacuum({
    retentionDays,
    minIntervalHours,
    vacuum,
    ...options,
  });
  if (pruning.error !== undefined) problems.push(pruning.error);
  return { ghosts, orphans, pruning, problems };
}
