// Maintenance of the database: merging the index, VACUUM, pruning, health check, statistics.
import { statSync } from "node:fs";
import { describeCause } from "../../lib/index.ts";
import type { DatabaseFile, Health, HomeUpkeep, LongWork, OptimizeOutcome, StoreStats } from "../store.ts";
import { type Connection, featuresOf, seconds, titleOf } from "./connection.ts";
import type { StoreContext } from "./context.ts";
import { diagnose, problemTexts } from "./damage.ts";
import { isOpenElsewhere, runOneInThread } from "./database-file.ts";
import { HIDE_ORPHANS } from "./ensure-schema.ts";
import { isCorrupt, sqliteCause } from "./failures.ts";
import { FTS, isUsable, stateOf } from "./index/tables.ts";
import { indexRemedy } from "./write-access.ts";

const DAY_SECONDS = 86_400;
const LAST_AUTO_PRUNE = "last_auto_prune";
const GHOSTS_PRUNED = "ghost_session_prune_v1";
const ORPHANS_FINALIZED = "orphaned_compression_finalize_v1";
/** Index pages per merge step; other work runs between steps. */
const PAGES_PER_MERGE = 250;

const GET_META = "SELECT value FROM state_meta WHERE key = :key";
const PUT_META =
  "INSERT INTO state_meta (key, value) VALUES (:key, :value) ON CONFLICT(key) DO UPDATE SET value = excluded.value";
const GHOSTS = `
  DELETE FROM sessions WHERE source = 'tui' AND ${titleOf("sessions")} IS NULL AND ended_at IS NOT NULL
    AND started_at < :before
    AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)
    AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = sessions.id)
`;
const FINALIZE_ORPHANS = `
  UPDATE sessions SET ended_at = :now, end_reason = 'orphaned_compression'
  WHERE api_call_count = 0 AND ended_at IS NULL AND started_at < :before
    AND EXISTS (SELECT 1 FROM sessions p WHERE p.id = sessions.parent_session_id AND p.end_reason = 'compression')
    AND EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)
`;
const TOTALS = `
  SELECT (SELECT COUNT(*) FROM sessions WHERE archived = 0) AS sessions,
    (SELECT COUNT(*) FROM sessions WHERE archived <> 0) AS archived, (SELECT COUNT(*) FROM messages) AS messages,
    (SELECT MIN(started_at) FROM sessions WHERE typeof(started_at) IN ('real', 'integer')) AS oldest
`;
type Totals = {
  readonly sessions: number;
  readonly archived: number;
  readonly messages: number;
  readonly oldest: number | null;
};
const SOURCES = `
  SELECT source, COUNT(*) AS sessions FROM sessions WHERE archived = 0 GROUP BY source ORDER BY sessions DESC, source
`;

export function maintenanceOperations(
  { connection, clock, index }: StoreContext,
  { pruneSessions }: Pick<HomeUpkeep, "pruneSessions">,
) {
  /** Runs once in the lifetime of a file. */
  const once = (key: string, sql: string, values: Record<string, number>) =>
    connection.write(() => {
      if (readMeta(connection, key) !== null) return 0;
      const { changes } = connection.run(sql, values);
      writeMeta(connection, key, "1");
      return changes;
    });
  return {
    async pruneEmptyGhostSessions() {
      return once(GHOSTS_PRUNED, GHOSTS, { before: seconds(clock) - DAY_SECONDS });
    },
    async finalizeOrphanedCompressionSessions() {
      const now = seconds(clock);
      return once(ORPHANS_FINALIZED, FINALIZE_ORPHANS, { now, before: now - 7 * DAY_SECONDS });
    },
    async maybeAutoPruneAndVacuum(options = {}) {
      const { retentionDays = 90, minIntervalHours = 24, vacuum: _vacuum, ...files } = options;
      try {
        const now = seconds(clock);
        const last = await connection.read(() =>
          Number.parseFloat(readMeta(connection, LAST_AUTO_PRUNE) ?? ""),
        );
        // A time in the future was written before the clock was set back.
        const isDue = Number.isNaN(last) || last > now || now - last >= minIntervalHours * 3600;
        if (!isDue) return { skipped: true, pruned: 0, vacuumed: false };
        const pruned = await pruneSessions({ olderThanDays: retentionDays, ...files });
        const isWanted = pruned > 0 && options.vacuum !== false;
        if (isWanted) await mergeIndex(connection);
        const vacuumed = isWanted && (await vacuumIfUnused(connection)) === "done";
        await connection.write(() => writeMeta(connection, LAST_AUTO_PRUNE, String(now)));
        return { skipped: false, pruned, vacuumed };
      } catch (cause) {
        return { skipped: false, pruned: 0, vacuumed: false, error: describeCause(cause) };
      }
    },
    async optimize(work: LongWork & { readonly vacuum?: boolean } = {}): Promise<OptimizeOutcome> {
      connection.refuseIfReadOnly();
      const { signal, onProgress } = work;
      const bytesBefore = await databaseBytes(connection);
      const outcome = async (
        vacuum: OptimizeOutcome["vacuum"],
        finished: boolean,
      ): Promise<OptimizeOutcome> => ({
        bytesBefore,
        bytesAfter: await databaseBytes(connection),
        vacuum,
        finished,
      });
      const isBuilt = await index.finish({
        signal,
        onProgress: (done, total) => onProgress?.({ step: "building the search index", done, total }),
      });
      if (!isBuilt) return outcome("not-asked", false);
      onProgress?.({ step: "merging the search index", done: 0, total: 1 });
      await mergeIndex(connection, signal);
      if (signal?.aborted) return outcome("not-asked", false);
      if (work.vacuum === false) return outcome("not-asked", true);
      onProgress?.({ step: "giving space back", done: 0, total: 1 });
      return outcome(await vacuumIfUnused(connection), true);
    },
    checkHealth: () => checkHealth(connection),
    // With schema 17, Hermes Agent's index depends on that mark, so sessions with messages must not get it.
    hideOrphanedDelegates: () =>
      connection.write(() => (featuresOf(connection).isSchema17 ? 0 : connection.run(HIDE_ORPHANS).changes)),
  } satisfies DatabaseFile;
}

export function metaOperations({ connection }: StoreContext) {
  return {
    stats: async () => {
      const counted = await connection.read(() => {
        const totals = connection.get<Totals>(TOTALS);
        const sources = connection
          .all<{ source: string; sessions: number }>(SOURCES)
          .map((row) => ({ ...row }));
        return {
          sessions: totals?.sessions ?? 0,
          archived: totals?.archived ?? 0,
          messages: totals?.messages ?? 0,
          oldestStartedAt: totals?.oldest ?? null,
          sources,
        };
      });
      const bytes = connection.isInMemory ? await databaseBytes(connection) : fileBytes(connection.path);
      return { ...counted, bytes, index: await stateOfIndex(connection) };
    },
    getMeta: (key) => connection.read(() => readMeta(connection, key)),
    setMeta: (key, value) => connection.write(() => writeMeta(connection, key, value)),
  } satisfies Partial<HomeUpkeep>;
}

function writeMeta(connection: Connection, key: string, value: string): void {
  connection.run(PUT_META, { key, value });
}

function readMeta(connection: Connection, key: string): string | null {
  return connection.get<{ value: string | null }>(GET_META, { key })?.value ?? null;
}

/** Size of the database including its log. */
function fileBytes(path: string): number {
  return sizeOf(path) + sizeOf(`${path}-wal`);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Size of the database without its log. */
export async function databaseBytes(connection: Connection): Promise<number> {
  return connection.read(() => {
    const pages = connection.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
    const size = connection.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 0;
    return pages * size;
  });
}

async function stateOfIndex(connection: Connection): Promise<StoreStats["index"]> {
  try {
    return await connection.read(() => {
      if (!isUsable(connection.db)) return "missing";
      return (stateOf(connection.db)?.todo ?? 0) > 0 ? "building" : "ready";
    });
  } catch (cause) {
    if (isCorrupt(sqliteCause(cause))) return "missing"; // unusable, and this handle may not rebuild it
    throw cause;
  }
}

/** Merges an FTS index, by default ours, into one segment, a few pages at a time. */
export async function mergeIndex(connection: Connection, signal?: AbortSignal, table = FTS): Promise<void> {
  connection.refuseIfReadOnly();
  if (!(await connection.read(() => featuresOf(connection).tables.has(table)))) return;
  const merge = `INSERT INTO ${table}(${table}, rank) VALUES('merge', :pages)`;
  let pages = -PAGES_PER_MERGE; // negative in the first step: merge everything, not only what is due
  for (let isDone = false; !isDone && !signal?.aborted; pages = PAGES_PER_MERGE) {
    isDone = await connection.write(
      () => {
        const before = totalChanges(connection);
        connection.run(merge, { pages });
        return totalChanges(connection) - before < 2; // FTS5 documents this as the sign that nothing is left to merge
      },
      { remedyFor: (cause) => indexRemedy(connection, cause) },
    );
  }
}

/**
 * VACUUM rewrites the whole file and locks out all other programs. `in-use`: another process has the file open (known only on
 * Linux), and nothing was done.
 */
export async function vacuumIfUnused(connection: Connection): Promise<"done" | "in-use"> {
  connection.refuseIfReadOnly();
  const { address, path, waitLimitMs } = connection;
  const db = connection.isInMemory ? connection.db : undefined;
  if (isOpenElsewhere(path)) return "in-use";
  await connection.outside(() => connection.get("PRAGMA wal_checkpoint(TRUNCATE)"));
  await runOneInThread({ address, readOnly: false, waitLimitMs, db }, "VACUUM");
  await connection.outside(() => connection.get("PRAGMA wal_checkpoint(TRUNCATE)"));
  return "done";
}

async function checkHealth(connection: Connection): Promise<Health> {
  const { path, address, waitLimitMs } = connection;
  await connection.outside(() => undefined); // the diagnosis uses its own connection; this rejects if the store is closed
  const db = connection.isInMemory ? connection.db : undefined;
  const diagnosis = await diagnose(path, { address, waitLimitMs, db });
  const problems = diagnosis.kind === "sound" ? [] : problemTexts(diagnosis.problems);
  return { ok: diagnosis.kind === "sound", problems, indexChecked: diagnosis.indexChecked };
}

function totalChanges(connection: Connection): number {
  return connection.get<{ number: number }>("SELECT total_changes() AS number")?.number ?? 0;
}
